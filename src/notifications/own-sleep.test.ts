import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bench, startBench, URL_OF } from '../../test/helpers/monitor.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { testEngine } from '../../test/helpers/test-engine.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { HttpFailure } from '../lib/http/failure.ts';
import type { Engine } from './engine.ts';
import { configureNotification } from './notification.ts';

let store: TestStorage;
let bench: Bench;
let engine: Engine;
let events: HeadgateEvent[];
/** Events that the input of `edge` has counted: the pipeline runs on, whatever Headgate does. */
let counted: number;

const pull = (id: string): object => ({
  id,
  engine: 'vector',
  url: URL_OF(id),
  interval: '2s',
  timeout: '1s',
});
const push = (id: string): object => ({ id, engine: 'custom', push: true, token: `token of ${id}` });

/** Every kind of rule whose window a sleep could fill. */
const RULES = [
  { id: 'silent', condition: 'no-data', conf: { name: '*', timeWindow: '6s' } },
  { id: 'never', condition: 'no-data', conf: { name: 'syslog:absent', timeWindow: '30s' } },
  { id: 'red', condition: 'unhealthy-source', conf: { name: '*', timeWindow: '6s' } },
  { id: 'lost', condition: 'pipeline-unreachable', conf: { name: '*', timeWindow: '6s' } },
  { id: 'beat', condition: 'heartbeat', conf: { name: 'backup', timeWindow: '6s' } },
];

beforeEach(async () => {
  store = await openTestStorage();
  bench = await startBench(pull('edge'), push('sender'));
  events = [];
  counted = 0;
  engine = testEngine({
    storage: store.storage,
    components: bench.monitor.components,
    clock: bench.clock,
    observedClock: bench.observedClock,
    outbox: { enqueue: (_rows, event) => void events.push(event), readFrom: () => {} },
  });
});

afterEach(async () => {
  await engine.stop();
  await bench.monitor.stop();
  await store.close();
});

async function start(...rules: object[]): Promise<void> {
  engine.configure(rules.map(configureNotification), []);
  await engine.start();
}

const serve = (): void =>
  bench.pages.serve(
    URL_OF('edge'),
    `vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} ${counted}\n`,
  );

/** Everything goes well for so long. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    counted += 10;
    serve();
    void bench.monitor.ingestSamples('sender', {
      temporality: 'delta',
      samples: [{ kind: 'input', type: 'http', id: 'web', metric: 'in_events', value: 1 }],
    });
    await engine.receive('sender', [{ condition: 'heartbeat', key: 'backup', state: 'OK' }]);
    await bench.clock.advance(1000);
    await idle();
  }
}

/** Nothing comes from anywhere for so long. */
async function wait(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await bench.clock.advance(1000);
    await idle();
  }
}

/** The writer answers in order: a read transaction behind the commits returns after them. */
async function idle(): Promise<void> {
  await store.storage.transaction(async () => {});
  await bench.clock.advance(0);
}

const sleeps = [
  { name: 'frozen while the monotonic clock goes on', sleep: (ms: number) => bench.clock.freeze(ms) },
  { name: 'suspended with the monotonic clock', sleep: async (ms: number) => bench.clock.suspend(ms) },
];

const told = (): string[] => events.map(({ cribl_notification: id, status }) => `${id} ${status}`);

describe.each(sleeps)('a process that is $name', ({ sleep }) => {
  it.each([15_000, 3_600_000])("takes %d ms of it for nobody's silence", async ms => {
    await start(...RULES);
    await pass(12);
    counted += ms / 100;
    serve();
    await sleep(ms);
    await idle();
    await pass(8);
    expect(told()).toEqual([]);
  });

  it('goes on with a silence, and with a pending alarm, where they were', async () => {
    await start({ ...RULES[0], for: '4s' });
    await pass(10);
    // The last data was seen within the last reading.
    await wait(7);
    await sleep(15_000);
    await idle();
    await wait(1);
    expect(told()).toEqual([]);
    await wait(5);
    expect(events.map(({ input, status }) => `${input} ${status}`).sort()).toEqual([
      'http:web ALARM',
      'syslog:app ALARM',
    ]);
  });
});

it('does not take its own timeout, which is over when it goes on, for a fault of the pipeline', async () => {
  await start(...RULES);
  await pass(11);
  const hanging = new Promise<never>((_, reject) => {
    bench.clock.after(3000, () => reject(new HttpFailure('timeout', 'no answer within 1s')));
  });
  bench.pages.serve(URL_OF('edge'), hanging);
  const before = bench.pages.requests.length;
  await bench.clock.advance(2000);
  expect(bench.pages.requests.length).toBe(before + 1);
  serve();
  await bench.clock.freeze(15_000);
  await idle();
  // It reads again at once.
  expect(bench.pages.requests.length).toBe(before + 2);
  await pass(8);
  expect(told()).toEqual([]);
});

it('still alerts of a pipeline that cannot be read after the sleep either', async () => {
  await start({ id: 'lost', condition: 'pipeline-unreachable', conf: { name: 'edge', timeWindow: '6s' } });
  await pass(11);
  bench.pages.serve(URL_OF('edge'), new HttpFailure('refused', 'the connection was refused'));
  await bench.clock.freeze(15_000);
  await bench.clock.advance(12_000);
  await idle();
  expect(told()).toEqual(['lost ALARM']);
});

it('expects heartbeats for a whole window again after a minute in which none could come', async () => {
  await start({ id: 'beat', condition: 'heartbeat', conf: { name: 'backup', timeWindow: '1h' } });
  await pass(1);
  await bench.clock.advance(3_500_000);
  await bench.clock.freeze(61_000);
  await bench.clock.advance(3_590_000);
  await idle();
  expect(told()).toEqual([]);
  await bench.clock.advance(20_000);
  await idle();
  expect(told()).toEqual(['beat ALARM']);
});

it('reminds by the time that has passed, as after a restart', async () => {
  await start({ ...RULES[1], repeatInterval: '1m' });
  await bench.clock.advance(31_000);
  await idle();
  expect(told()).toEqual(['never ALARM']);
  await bench.clock.freeze(61_000);
  await bench.clock.advance(500);
  await idle();
  expect(told()).toEqual(['never ALARM', 'never ALARM']);
});
