import { beforeEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { testComponents } from '../../test/helpers/components.ts';
import { startConditionBench } from '../../test/helpers/condition-bench.ts';
import type { Component } from '../pipelines/components/component.ts';
import type { OpenFor, Subject } from './condition.ts';
import { noData, noDataDest } from './no-data.ts';

let clock = testClock();
let components = testComponents(clock);
let component: Component;

beforeEach(() => {
  clock = testClock();
  components = testComponents(clock);
  component = components.add('app', { group: 'west' });
});

function judge(change: { open?: OpenFor; declaredMs?: number } = {}) {
  const subject: Subject = {
    key: 'edge/syslog:app',
    name: 'syslog:app',
    group: 'west',
    component: change.declaredMs === undefined ? component : undefined,
    declaredMs: change.declaredMs ?? 0,
  };
  const verdict = noData
    .configure({ name: 'syslog:app', timeWindow: '5m' })
    .evaluate({ subject, components, open: change.open });
  return verdict.state === 'unknown' ? verdict : { state: verdict.state, ...verdict.describe() };
}

it('is an alarm from the moment the whole window was silent', async () => {
  components.data(component);
  await clock.advance(299_999);
  expect(judge().state).toBe('ok');
  await clock.advance(1);
  expect(judge()).toMatchObject({
    state: 'alarm',
    text: 'Source syslog:app in group west had no data for 5m',
    fields: { _metric: 'total.in_bytes', bytes: 0, timeWindow: '5m' },
  });
});

it('gives an input that has just appeared a whole window', async () => {
  await clock.advance(299_000);
  expect(judge().state).toBe('ok');
});

it('reports how long it took until the data came back', async () => {
  await clock.advance(400_000);
  components.data(component);
  expect(judge({ open: { ms: 3_900_000, observedMs: 1000 } }).state).toBe('ok');
  expect(judge({ open: { ms: 3_900_000, observedMs: 1000 } })).toMatchObject({
    text: 'Source syslog:app in group west is receiving data again after 1h 10m',
  });
});

it('does not treat a silence from before the incident as data', async () => {
  components.data(component);
  await clock.advance(10_000);
  expect(judge({ open: { ms: 60_000, observedMs: 5000 } }).state).toBe('alarm');
});

it('treats a name that was never seen as silent since it was declared', () => {
  expect(judge({ declaredMs: 299_999 }).state).toBe('ok');
  expect(judge({ declaredMs: 300_000 })).toMatchObject({
    state: 'alarm',
    text: 'Source syslog:app in group west had no data for 5m: it was never seen',
  });
});

it.each([
  [{}, 'name'],
  [{ name: 'a', timeWindow: '500ms' }, 'timeWindow'],
  [{ name: 'a', timeWindow: 60 }, 'timeWindow'],
  [{ name: 'a', dataVolume: '1GB' }, ''],
])('refuses the conf %j at %s', (conf, path) => {
  const result = noData.schema.safeParse(conf);
  expect(result.error?.issues[0]?.path.join('.')).toBe(path);
});

it('is an alarm for an output that sent nothing for the window', async () => {
  const { push, evaluate: ask, bench } = await startConditionBench(noDataDest);
  await push({ out_events: 1 });
  await bench.clock.advance(59_999);
  expect(ask()).toMatchObject({ state: 'ok' });
  await bench.clock.advance(1);
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Destination syslog:app had no data for 60s',
    fields: { _metric: 'total.out_bytes', bytes: 0 },
  });
  await push({ out_events: 1 });
  expect(ask({ ms: 15_000, observedMs: 15_000 })).toMatchObject({
    state: 'ok',
    text: 'Destination syslog:app is sending data again after 1m 15s',
  });
});
