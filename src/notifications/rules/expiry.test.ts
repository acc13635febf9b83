import { afterEach, beforeEach, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import type { Expiry } from '../../conditions/expiration.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import { configureNotification } from '../notification.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let store: TestStorage;
let clock: TestClock;
let engine: Engine;
let events: HeadgateEvent[];
let expiries: readonly Expiry[];

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  events = [];
  expiries = [];
  engine = createEngine({
    workspace: 'default',
    storage: store.storage,
    components: testComponents(clock),
    expiries: () => expiries,
    clock,
    observedClock: observedClockOf(clock),
    ids: monotonicIds(clock),
    logger: silentLogger,
    outbox: {
      enqueue: (_rows, event) => events.push(event),
      readFrom: () => {},
    },
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
  });
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

const hook: Target = {
  settings: { id: 'hook', type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
};

const certificate = (key: string, leftMs: number): Expiry => ({
  kind: 'certificate',
  key,
  expiresAt: clock.now() + leftMs,
});

async function start(conf: object = {}, change: object = {}): Promise<void> {
  const notification = configureNotification({
    id: 'ends',
    condition: 'certificate-expiration',
    targets: ['hook'],
    conf,
    ...change,
  });
  engine.configure([notification], [hook]);
  await engine.start();
  await pass();
}

async function pass(ms = 1000): Promise<void> {
  clock.step(ms - 1000);
  await clock.advance(1000);
  // The writer answers in order: a read transaction behind the commits returns after them.
  await store.storage.transaction(async () => {});
  await clock.advance(0);
}

const texts = (): string[] => events.map(({ _raw }) => _raw);

it('notifies once of each certificate that ends soon, and once when it was renewed', async () => {
  expiries = [
    certificate('server', 20 * DAY),
    certificate('target/ops', 13 * DAY),
    certificate('old', -2 * DAY),
  ];
  await start();
  await pass();
  expect(events).toMatchObject([
    { status: 'ALARM', condition: 'certificate-expiration', certificate: 'target/ops' },
    { certificate: 'old', _raw: 'Certificate old expired 2d ago', expirationDate: '2025-12-30T00:00:00Z' },
  ]);
  expiries = [
    certificate('server', 20 * DAY),
    certificate('target/ops', 90 * DAY + 1000),
    certificate('old', -2 * DAY),
  ];
  await pass();
  expect(texts().slice(2)).toEqual(['Certificate target/ops was renewed and expires in 90d']);
  await pass(7 * DAY);
  expect(texts().slice(3)).toEqual(['Certificate server expires in 12d 23h']);
});

it('matches the keys that fit its name, and no other kind', async () => {
  expiries = [
    certificate('server', DAY),
    certificate('target/ops', DAY),
    { kind: 'credential', key: 'target/ops', expiresAt: clock.now() },
  ];
  await start({ name: 'target/*' });
  expect(events.map(event => event.certificate ?? event.credential)).toEqual(['target/ops']);
});

it('closes with a reason when it is in use no more', async () => {
  expiries = [certificate('server', DAY)];
  await start();
  expiries = [];
  await pass();
  const { rows } = await store.storage.in('default').incidents.list({}, { offset: 0, limit: 10 });
  expect(rows).toMatchObject([
    { subject: 'server', state: 'closed', close_reason: 'the certificate server is in use no more' },
  ]);
});

it('keeps an incident open while the current expiry is unknown', async () => {
  expiries = [certificate('target/ops', DAY)];
  await start();
  expiries = [{ kind: 'certificate', key: 'target/ops', expiresAt: undefined }];
  await pass();
  expect(events.map(({ status }) => status)).toEqual(['ALARM']);
});

it('reminds each day when resolution is not notified', async () => {
  expiries = [certificate('server', DAY)];
  await start({ notifyOnResolution: false });
  // To evaluate twice a second for two days would take half a minute.
  for (let hour = 0; hour < 49; hour++) {
    await clock.freeze(HOUR - 1000);
    await pass();
  }
  expect(texts()).toEqual([
    'Certificate server expires in 1d',
    expect.stringMatching(/^Certificate server expired \d+m?s ago$/),
    expect.stringMatching(/^Certificate server expired 1d/),
  ]);
});
