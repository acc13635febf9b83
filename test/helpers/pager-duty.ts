import * as z from 'zod';
import { type ContractAnswer, contractServer, type Received } from './contract-server.ts';

/** The Events API v2 as PagerDuty documents it: what it takes, and how it refuses. */

const MOST_BYTES = 512_000;
const text = z.string().refine(value => !/\p{Surrogate}/u.test(value), { error: 'is no Unicode' });
const link = z.strictObject({ href: z.url({ protocol: /^https?$/ }), text: text.optional() });

const keys = {
  routing_key: z
    .string()
    .length(32, { error: "Length of 'routing_key' is incorrect (should be 32 characters)" }),
};

const trigger = z.strictObject({
  ...keys,
  event_action: z.literal('trigger'),
  dedup_key: text.min(1).max(255),
  payload: z.strictObject({
    summary: text.min(1).max(1024),
    source: text.regex(/\S/),
    severity: z.enum(['critical', 'error', 'warning', 'info']),
    timestamp: z.iso.datetime().optional(),
    component: text.optional(),
    group: text.optional(),
    class: text.optional(),
    custom_details: z.record(text, z.unknown()).optional(),
  }),
  images: z.array(z.strictObject({ src: z.url({ protocol: /^https$/ }) })).optional(),
  links: z.array(link).optional(),
  client: text.optional(),
  client_url: z.url().optional(),
});

const resolve = z.strictObject({
  ...keys,
  event_action: z.enum(['resolve', 'acknowledge']),
  dedup_key: text.min(1).max(255),
});

const request = z.discriminatedUnion('event_action', [trigger, resolve]);

/** Why the service refuses the body of a request; undefined when it takes it. */
export function pagerDutyFaults(body: string): readonly string[] | undefined {
  if (Buffer.byteLength(body) > MOST_BYTES) return ['the event is too large'];
  const read = request.safeParse(parsed(body));
  return read.success
    ? undefined
    : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Alerts as the service keeps them: open under a key until they are resolved. */
export async function pagerDutyServer(
  answer: (received: Received) => ContractAnswer | undefined = () => undefined,
) {
  const open = new Map<string, unknown>();
  const server = await contractServer(received => {
    const isJson = received.headers['content-type'] === 'application/json';
    if (received.method !== 'POST' || !isJson || received.path !== '/v2/enqueue')
      return { status: 404, body: '' };
    const errors = pagerDutyFaults(received.body);
    if (errors !== undefined)
      return json(400, { status: 'invalid event', message: 'Event object is invalid', errors });
    const own = answer(received);
    if (own !== undefined) return own;
    const event = request.parse(JSON.parse(received.body));
    if (event.event_action === 'trigger') open.set(event.dedup_key, event.payload);
    else open.delete(event.dedup_key);
    return json(202, { status: 'success', message: 'Event processed', dedup_key: event.dedup_key });
  });
  return { ...server, url: `${server.url}/v2/enqueue`, open };
}

const json = (status: number, body: object): ContractAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
