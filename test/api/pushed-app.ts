import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { startApp } from '../../src/app/app.ts';
import type { MonotonicIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { login } from '../acceptance/client.ts';
import { writeConfiguration, writeFileText } from '../acceptance/files.ts';
import { type TestClock, testClock } from '../helpers/clock.ts';
import { countingIds } from '../helpers/counting-ids.ts';
import { until } from '../helpers/until.ts';

const TOKEN = 'token-of-the-engine';

export const BEGIN = Date.UTC(2026, 0, 1);
export const MINUTE_MS = 60_000;

const answer = z.looseObject({
  items: z.array(z.record(z.string(), z.unknown())).default([]),
  message: z.string().optional(),
});

interface PushedAppOptions {
  readonly notifications?: object;
  /** Texts of further files of the configuration, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Reports find rows by the times in their ids; by default they only count. */
  readonly makeIds?: (clock: TestClock) => MonotonicIds;
}

/** The product on a clock of the test, which begins at `BEGIN`, with a pipeline `own` of the group `shop` that pushes. */
export interface PushedApp {
  readonly clock: TestClock;
  readonly url: string;
  readonly dataFolder: string;
  /** Increases of counters and values of gauges. Throws unless they are taken. */
  push(samples: readonly object[]): Promise<void>;
  /** Calls the API as the administrator: a GET, or with a body a POST. */
  ask(path: string, body?: object): Promise<{ status: number; body: z.output<typeof answer> }>;
  /** Resolves when that minute of the input `syslog:app` is in the store: the disk is real. */
  recorded(minute: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startPushedApp(options: PushedAppOptions = {}): Promise<PushedApp> {
  const { notifications, files = {}, makeIds = countingIds } = options;
  const root = mkdtempSync(join(tmpdir(), 'headgate-pushed-'));
  const configFolder = join(root, 'config');
  const dataFolder = join(root, 'data');
  const clock = testClock(BEGIN);
  writeConfiguration(configFolder, {
    settings: {
      api: { rateLimit: { perSecond: 0 }, authTokenTTL: 86_400 },
      pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN, group: 'shop' }],
    },
    ...(notifications !== undefined && { notifications }),
  });
  for (const [name, text] of Object.entries(files)) writeFileText(configFolder, name, text);
  const app = await startApp({
    ...{ configFolder, dataFolder, clock, ids: makeIds(clock) },
    flags: { 'api.port': '0' },
    environment: { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD },
    random: () => 0.5,
    logger: silentLogger,
  });
  const { url } = app;
  const { token } = await login(url);

  async function ask(path: string, body?: object) {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: token, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: answer.parse(await response.json()) };
  }

  return {
    ...{ clock, url, dataFolder, ask },
    async push(samples) {
      const { status } = await fetch(`${url}/ingest/samples`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ temporality: 'delta', samples }),
      });
      if (status !== 200) throw new Error(`samples were answered ${status}`);
    },
    async recorded(minute) {
      const points = z.tuple([z.object({ points: z.array(z.tuple([z.number(), z.number().nullable()])) })]);
      await until(async () => {
        const { body } = await ask('/system/metrics/query', {
          ...{ components: ['syslog:app'], metrics: ['in_events'] },
          from: new Date(BEGIN).toISOString(),
        });
        return (points.safeParse(body.items).data?.[0].points[minute]?.[1] ?? null) !== null;
      }, `minute ${minute}`);
    },
    async stop() {
      await app.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
