import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Bench, startBench } from '../../../test/helpers/monitor.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { type LogFields, silentLogger } from '../../lib/logger.ts';
import { createEngine, type Engine } from '../engine.ts';
import { configureNotification, type Notification } from '../notification.ts';

let store: TestStorage;
let bench: Bench;
let engine: Engine;
let warned: LogFields[];

beforeEach(async () => {
  warned = [];
  store = await openTestStorage();
  bench = await startBench({ id: 'edge', engine: 'custom', push: true, token: 'token of the edge' });
  engine = createEngine({
    workspace: 'default',
    storage: store.storage,
    components: bench.monitor.components,
    clock: bench.clock,
    observedClock: bench.observedClock,
    ids: monotonicIds(bench.clock),
    logger: { ...silentLogger, warn: fields => warned.push(fields) },
    outbox: {
      enqueue: () => {},
      readFrom: () => {},
    },
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
  });
});

afterEach(async () => {
  await engine.stop();
  await bench.monitor.stop();
  await store.close();
});

const failing = (id: string): Notification =>
  configureNotification({
    id,
    condition: 'expression',
    targets: [],
    conf: { name: '*', expression: 'replicas + 1', kind: 'input' },
  });

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 10) {
    const sample = { kind: 'input', type: 'syslog', metric: 'in_events', value: 1 };
    void bench.monitor.ingestSamples('edge', {
      temporality: 'delta',
      samples: ['app', 'web'].map(id => ({ ...sample, id })),
    });
    await bench.clock.advance(10_000);
  }
}

it('warns of an expression that fails once for each notification, whatever it fails on, and again after ten minutes', async () => {
  engine.configure([failing('one'), failing('two')], []);
  await engine.start();
  await pass(580);
  expect(warned).toEqual(
    ['one', 'two'].map(notification => ({
      notification,
      subject: 'syslog:app',
      reason: 'it gives a number, and must give true or false',
    })),
  );
  await pass(60);
  expect(warned.map(({ notification }) => notification)).toEqual(['one', 'two', 'one', 'two']);
  expect(await store.storage.in('default').incidents.open()).toEqual([]);
});

it('warns anew of a notification that went and came back', async () => {
  engine.configure([failing('one')], []);
  await engine.start();
  await pass(20);
  engine.configure([], []);
  engine.configure([failing('one')], []);
  await pass(20);
  expect(warned).toHaveLength(2);
});
