import { expect, it } from 'vitest';
import { startConditionBench } from '../../test/helpers/condition-bench.ts';
import { droppedEvents, sourceErrors } from './counts.ts';

it.each([
  [
    sourceErrors,
    'errors',
    'Source syslog:app reported 3 errors in 60s',
    'Source syslog:app reports no more errors after 1m 10s',
  ],
  [
    droppedEvents,
    'dropped',
    'syslog:app dropped 3 events in 60s',
    'syslog:app drops no more events after 1m 10s',
  ],
] as const)(
  '%o is an alarm from more than threshold in the window',
  async (condition, counter, alarm, ok) => {
    const { push, evaluate: ask, bench } = await startConditionBench(condition, { threshold: 2 });
    await push({ [counter]: 0 });
    ask();
    await push({ [counter]: 2 });
    expect(ask()).toMatchObject({ state: 'ok' });
    await push({ [counter]: 1 });
    expect(ask()).toMatchObject({ state: 'alarm', text: alarm, fields: { count: 3, threshold: 2 } });
    await bench.clock.advance(70_000);
    expect(ask({ ms: 70_000 })).toMatchObject({ state: 'ok', text: ok });
  },
);

it('is an alarm for dropped events of an input as of an output', async () => {
  const {
    push,
    evaluate: ask,
    bench,
  } = await startConditionBench(droppedEvents, { kind: 'input', threshold: 2 });
  await push({ dropped: 0, in_events: 1 });
  ask();
  await push({ dropped: 3 });
  expect(bench.find('app').kind).toBe('input');
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'syslog:app dropped 3 events in 60s',
    fields: { _metric: 'total.dropped', count: 3, threshold: 2 },
  });
});

it('is unknown where nothing is counted', async () => {
  const { push, evaluate: ask } = await startConditionBench(sourceErrors);
  await push({ in_events: 1 });
  expect(ask()).toEqual({ state: 'unknown', reason: 'nothing counts its errors' });
});
