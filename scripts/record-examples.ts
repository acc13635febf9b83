import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordedExample } from '../src/api/openapi/document.ts';
import type { Operation } from '../src/api/operation.ts';
import { API_PREFIX, operations } from '../src/api/v1/index.ts';
import { startApp } from '../src/app/app.ts';
import { isMap } from '../src/config/plain.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { writeConfiguration } from '../test/acceptance/files.ts';
import { type TestClock, testClock } from '../test/helpers/clock.ts';
import { countingIds } from '../test/helpers/counting-ids.ts';
import { until } from '../test/helpers/until.ts';

export const RELEASE: string = JSON.parse(
  readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'),
).version;
const PASSWORD = 'correct horse battery staple';
const TOKENS: ReadonlyMap<string, string> = new Map([
  ['ingest.samples', 'a-token-for-edge'],
  ['ingest.impstats', 'a-token-for-syslog'],
  ['ingest.remoteWrite', 'a-token-for-collector'],
  ['ingest.otlp', 'a-token-for-collector'],
  ['ingest.events', 'a-token-for-edge'],
]);
const ENVIRONMENT = {
  HEADGATE_ADMIN_PASSWORD: PASSWORD,
  EDGE_TOKEN: TOKENS.get('ingest.samples'),
  SYSLOG_TOKEN: TOKENS.get('ingest.impstats'),
  COLLECTOR_TOKEN: TOKENS.get('ingest.otlp'),
};
/** The window of the notification: the input that sent once has fallen silent when it is over. */
const WINDOW_MS = 60_000;

const FILES = {
  settings: {
    instance: { externalUrl: 'https://headgate.example' },
    // The clock stands still, so that nobody's turn to ask would ever come again.
    api: { rateLimit: { perSecond: 0 } },
    pipelines: [
      { id: 'edge', engine: 'custom', push: true, token: '${env:EDGE_TOKEN}' },
      { id: 'syslog', engine: 'rsyslog', push: true, token: '${env:SYSLOG_TOKEN}' },
      { id: 'collector', engine: 'otelcol', push: true, token: '${env:COLLECTOR_TOKEN}' },
    ],
  },
  notifications: {
    // Nobody listens there: a delivery that waits.
    targets: [
      { id: 'log', type: 'notifications_log' },
      { id: 'ops_hook', type: 'webhook', url: 'http://127.0.0.1:9/hook' },
    ],
    notifications: [
      {
        id: 'app_silent',
        condition: 'no-data',
        targets: ['log', 'ops_hook'],
        conf: { name: 'syslog:app', timeWindow: '60s' },
        description: 'The application of the shop.',
        runbookUrl: 'https://wiki.example/app-silent',
      },
    ],
  },
};

/**
 * Asks the product for the example of every operation, in the order of the table, and answers what it said. The clock
 * stands still and the ids count, so that every run answers the same; what a machine says of itself is put in.
 */
export async function recordExamples(): Promise<ReadonlyMap<string, RecordedExample>> {
  const root = await mkdtemp(join(tmpdir(), 'headgate-examples-'));
  const clock = testClock();
  writeConfiguration(join(root, 'config'), FILES);
  const app = await startApp({
    configFolder: join(root, 'config'),
    dataFolder: join(root, 'data'),
    flags: { 'api.port': '0' },
    environment: ENVIRONMENT,
    clock,
    ids: countingIds(),
    random: () => 0.5,
    logger: silentLogger,
  });
  try {
    return await recordAll(app.url, root, clock);
  } finally {
    await app.stop();
    await rm(root, { recursive: true, force: true });
  }
}

async function recordAll(url: string, root: string, clock: TestClock): Promise<Map<string, RecordedExample>> {
  const recorded = new Map<string, RecordedExample>();
  const ask = asker(url, root);
  const ofGroups = operations.filter(({ params }) => 'group' in params);
  const others = operations.filter(one => !ofGroups.includes(one) && one.answer.kind !== 'stream');
  for (const operation of others.filter(({ access }) => access === 'pipeline'))
    recorded.set(operation.id, await ask(operation));
  await fallSilent(ask, clock);
  // Whatever one of them makes another removes, so that those of groups find what the first ones found.
  for (const operation of [...others, ...ofGroups])
    if (!recorded.has(operation.id)) recorded.set(operation.id, await ask(operation));
  return recorded;
}

type Ask = (operation: Operation) => Promise<RecordedExample>;

function asker(url: string, root: string): Ask {
  let token: unknown;

  async function send(operation: Operation, request: Omit<RecordedExample, 'answer'>): Promise<unknown> {
    const { id, method, access } = operation;
    const own = TOKENS.has(id) ? `Bearer ${TOKENS.get(id)}` : token;
    const { body } = request;
    const answer = await fetch(urlOf(url, operation, request), {
      method,
      headers: {
        // One that is given takes no id: how often is asked must not change those that are answered.
        'x-request-id': 'example',
        ...(access !== 'public' && { authorization: String(own) }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`the example of ${id} is answered ${answer.status}: ${text}`);
    return JSON.parse(text.replaceAll(root, '/etc/headgate'));
  }

  async function newest(id: string, query: RecordedExample['query'] = {}): Promise<string> {
    const operation = operations.find(one => one.id === id);
    if (operation === undefined) throw new Error(`there is no operation ${id}`);
    const { items } = { items: [], ...asMap(await send(operation, { params: {}, query })) };
    const [first] = items;
    return String(asMap(first).id ?? asMap(first).hash);
  }

  /** How often the delivery that waits was tried. */
  async function attempts(): Promise<number> {
    const operation = operations.find(({ id }) => id === 'deliveries.list');
    if (operation === undefined) throw new Error('there is no list of deliveries');
    const answer = await send(operation, { params: {}, query: { target: 'ops_hook' } });
    const { items } = { items: [], ...asMap(answer) };
    return Number(asMap(items[0]).attempts);
  }

  /** Changes where a target that was notified keeps its alarms open, and back. */
  async function keepSettings(): Promise<string> {
    const operation = operations.find(({ id }) => id === 'targets.update');
    if (operation === undefined) throw new Error('no target can be changed');
    // Each change has the waiting delivery tried once more, unless the next one comes before that.
    const change = async (body: object): Promise<void> => {
      const before = await attempts();
      await send(operation, { params: { id: 'ops_hook' }, query: {}, body });
      await until(async () => (await attempts()) > before, 'the attempt after the change');
    };
    await change({ resolveUrl: 'http://127.0.0.1:9/close' });
    await change({ resolveUrl: 'http://127.0.0.1:9/end' });
    await change({ resolveUrl: null });
    return newest('keptSettings.list');
  }

  const PLACEHOLDERS = new Map([
    ['{kept}', keepSettings],
    ['{incident}', () => newest('incidents.list')],
    ['{delivery}', () => newest('deliveries.list', { target: 'log' })],
    ['{waiting}', () => newest('deliveries.list', { target: 'ops_hook' })],
    ['{version}', () => newest('versions.list')],
  ]);

  async function filled(value: unknown): Promise<unknown> {
    if (typeof value === 'string') return (await PLACEHOLDERS.get(value)?.()) ?? value;
    if (!isMap(value)) return value;
    const entries = Object.entries(value).map(async ([key, one]) => [key, await filled(one)]);
    return Object.fromEntries(await Promise.all(entries));
  }

  return async operation => {
    token ??= await login();
    const { params = {}, query = {}, body } = operation.example;
    const request = {
      params: texts(await filled(params)),
      query,
      ...(body !== undefined && { body: await filled(body) }),
    };
    const answer = settled(operation.id, await send(operation, request));
    // It ended the token.
    if (operation.id === 'auth.logout') token = undefined;
    return { ...request, answer };
  };

  async function login(): Promise<unknown> {
    const operation = operations.find(({ id }) => id === 'auth.login');
    if (operation === undefined) throw new Error('there is no login');
    const body = { username: 'admin', password: PASSWORD };
    return asMap(await send(operation, { params: {}, query: {}, body })).token;
  }
}

function urlOf(
  url: string,
  { path, access }: Operation,
  { params, query }: Omit<RecordedExample, 'answer'>,
): string {
  const place = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams(query).toString();
  return `${url}${access === 'pipeline' ? '' : API_PREFIX}${place}${search === '' ? '' : `?${search}`}`;
}

/** The clock stops at the moment the alarm is due, so that what follows from it bears that time in every run. */
async function fallSilent(ask: Ask, clock: TestClock): Promise<void> {
  const deliveries = operations.find(({ id }) => id === 'deliveries.list');
  if (deliveries === undefined) throw new Error('there is no list of deliveries');
  await clock.advance(WINDOW_MS);
  const newestOf = async (target: string) => {
    const { items } = {
      items: [],
      ...asMap((await ask({ ...deliveries, example: { query: { target } } })).answer),
    };
    return asMap(items[0]);
  };
  await until(async () => (await newestOf('log')).state === 'sent', 'the delivery of the alarm');
  await until(async () => (await newestOf('ops_hook')).attempts === 1, 'the delivery that waits');
}

const asMap = (value: unknown): Readonly<Record<string, unknown>> => (isMap(value) ? value : {});

const texts = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(asMap(value)).map(([name, one]) => [name, String(one)]));

const SHIPPED_LIMIT = { perSecond: 50, burst: 200 };

/** A change is answered before its version is written, so that the newest may be this one or the one before. */
const NEWEST_VERSION = '019b76da-a800-7000-8000-00000000002a';

const WORKER = {
  ...{
    version: RELEASE,
    hostname: 'edge-1.example',
    platform: 'linux',
    release: '6.1.0',
    architecture: 'x64',
  },
  ...{ node: 'v20.20.0', cpus: 8, totalmem: 8_589_934_592, freemem: 3_221_225_472 },
  ...{ firstMsgTime: 1_767_139_200_000, startTime: 1_767_139_200_000, lastMsgTime: 1_767_225_600_000 },
};

/** What differs from machine to machine and from run to run, by operation and key. */
const SETTLED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ...Object.fromEntries(
    operations
      .filter(({ id }) => id.startsWith('groups.'))
      .map(({ id }) => [
        id,
        id.startsWith('groups.version') ? { items: [NEWEST_VERSION] } : { configVersion: NEWEST_VERSION },
      ]),
  ),
  'auth.login': { token: 'Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6…' },
  'ingestTokens.create': { secret: 'hgi_5vNq8Xw2…_0aB3dE' },
  'ingestTokens.rotate': { secret: 'hgi_Zk71RmTy…_1F9xQ2' },
  'keys.list': { id: 'tHvN9Yr1b0LrXxk2Jq7sT5mZc8wA3uVdE4oKpRgQi6M', totalCount: 2 },
  'keys.rotate': {
    id: 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2bC3dE4f',
    createdAt: '2025-12-31T23:59:00.000Z',
  },
  'settings.get': { port: 9000, rateLimit: SHIPPED_LIMIT },
  'settings.update': { port: 9000, rateLimit: SHIPPED_LIMIT },
  'workers.list': WORKER,
  'workers.listOfProduct': WORKER,
  'system.info': {
    hostname: 'edge-1.example',
    version: RELEASE,
    VERSION: RELEASE,
    apiPort: 9000,
    uptime: 86_400,
    loadavg: [0.12, 0.18, 0.15],
    memory: { free: 3_221_225_472, total: 8_589_934_592 },
    cpus: [{ model: 'AMD EPYC', speed: 2450 }],
    os: { platform: 'linux', arch: 'x64', release: '6.1.0' },
  },
};

function settled(id: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(one => settled(id, one));
  if (!isMap(value)) return value;
  const fixed = SETTLED[id] ?? {};
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key in fixed ? fixed[key] : settled(id, one)]),
  );
}
