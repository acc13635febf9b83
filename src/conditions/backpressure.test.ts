import { expect, it } from 'vitest';
import { startConditionBench } from '../../test/helpers/condition-bench.ts';
import { backpressureDest } from './backpressure.ts';

it('is an alarm when the output blocked in a twentieth of the window, and over when it no longer did', async () => {
  const { push, evaluate: ask, bench } = await startConditionBench(backpressureDest, { timeWindow: '200s' });
  await push({ out_events: 1, blocked: 0 });
  ask();
  await push({ out_events: 1, blocked: 0.9 });
  expect(ask()).toMatchObject({ state: 'ok' });
  await push({ out_events: 1, blocked: 0.2 });
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Backpressure (blocking) is engaged for destination syslog:app',
    fields: { _metric: 'backpressure.outputs', backpressure_type: 1, timeWindow: '200s' },
  });
  await push({ out_events: 1, blocked: 0 });
  await bench.clock.advance(200_000);
  expect(ask({ ms: 215_000 })).toMatchObject({
    state: 'ok',
    text: 'Backpressure is released for destination syslog:app after 3m 35s',
  });
});

it('reports dropping when events were dropped', async () => {
  const { push, evaluate: ask } = await startConditionBench(backpressureDest);
  await push({ out_events: 1, dropped: 0 });
  ask();
  await push({ out_events: 1, dropped: 4 });
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Backpressure (dropping) is engaged for destination syslog:app',
    fields: { backpressure_type: 2 },
  });
});

it('treats a full queue as blocking where the engine does not report blocking', async () => {
  const { push, evaluate: ask } = await startConditionBench(backpressureDest);
  await push({ out_events: 1, queue_size: 0, queue_capacity: 100 });
  ask();
  await push({ out_events: 1, queue_size: 96, queue_capacity: 100 });
  expect(ask()).toMatchObject({ state: 'alarm', fields: { backpressure_type: 1 } });
});
