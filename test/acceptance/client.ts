import * as z from 'zod';
import { ADMIN_PASSWORD } from './bin.ts';

export const inputItem = z.object({
  id: z.string(),
  type: z.string(),
  status: z.object({
    health: z.string(),
    metrics: z.record(z.string(), z.number()),
    error: z.object({ message: z.string() }).optional(),
  }),
  headgate: z.object({
    pipeline: z.string(),
    engine: z.string(),
    engineId: z.string(),
    lastDataAt: z.string().nullable(),
  }),
});

export const engineItem = z.object({ id: z.string(), state: z.string(), error: z.string().optional() });
export const incidentItem = z.object({
  id: z.string(),
  notification: z.string(),
  subject: z.string(),
  state: z.string(),
  text: z.string(),
  heldBy: z.string().optional(),
});
export const deliveryItem = z.object({
  target: z.string(),
  state: z.string(),
  attempts: z.number(),
  lastStatus: z.number().optional(),
  lastError: z.string().optional(),
});
export const ledgerItem = deliveryItem.extend({
  id: z.string(),
  subject: z.string(),
  status: z.enum(['ALARM', 'OK']),
  createdAt: z.string(),
  nextAt: z.string().optional(),
  settledAt: z.string().optional(),
  retriedAt: z.string().optional(),
  heldBecause: z.string().optional(),
  insteadOf: z.string().optional(),
});
export const ledgerDetail = ledgerItem.extend({
  log: z.array(
    z.object({
      number: z.number(),
      startedAt: z.string(),
      durationMs: z.number(),
      outcome: z.enum(['sent', 'retry', 'unknown', 'refused']),
      status: z.number().optional(),
      reason: z.string().optional(),
      answer: z.string().optional(),
    }),
  ),
});
export const messageItem = z.object({ id: z.string(), severity: z.string(), text: z.string() });
export const notificationItem = z.object({ id: z.string(), disabled: z.boolean() });

const configProblem = z.object({
  file: z.string(),
  line: z.number(),
  column: z.number(),
  path: z.string(),
  message: z.string(),
});
export const configStatus = z.object({
  state: z.enum(['ok', 'error']),
  loadedAt: z.string(),
  errors: z.array(configProblem),
  warnings: z.array(configProblem),
});

const page = z.object({ items: z.array(z.unknown()), count: z.number(), totalCount: z.number().optional() });
const loginAnswer = z.object({ token: z.string(), forcePasswordChange: z.boolean() });

/** A logged-in client of the API. */
export interface Api {
  /** All items of a list, checked. */
  items<Item>(path: string, item: z.ZodType<Item>): Promise<Item[]>;
  /** How many there are in all, whatever the page holds. */
  total(path: string): Promise<number>;
  /** What a change answers, its status included. */
  change(path: string, body?: object): Promise<{ readonly status: number; readonly text: string }>;
}

export async function login(
  url: string,
  password = ADMIN_PASSWORD,
): Promise<{ readonly token: string; readonly forcePasswordChange: boolean }> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password }),
  });
  if (answer.status !== 200) throw new Error(`login answered ${answer.status}: ${await answer.text()}`);
  return loginAnswer.parse(await answer.json());
}

export async function logIn(url: string): Promise<Api> {
  const { token } = await login(url);
  async function read(path: string) {
    const answer = await fetch(`${url}/api/v1${path}`, { headers: { authorization: token } });
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return page.parse(await answer.json());
  }
  return {
    items: async (path, item) => z.array(item).parse((await read(path)).items),
    async total(path) {
      const { totalCount } = await read(`${path}${path.includes('?') ? '&' : '?'}limit=1`);
      if (totalCount === undefined) throw new Error(`${path} has no totalCount`);
      return totalCount;
    },
    async change(path, body) {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers: { authorization: token, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text() };
    },
  };
}
