import { expect, it } from 'vitest';
import { startConditionBench } from '../../test/helpers/condition-bench.ts';
import { startBench, vectorAt } from '../../test/helpers/monitor.ts';
import { HttpFailure } from '../lib/http/failure.ts';
import type { OpenFor } from './condition.ts';
import { unhealthyDest, unhealthySource } from './unhealthy.ts';

it('is an alarm when errors come and nothing is delivered, and over when it has been well for the window', async () => {
  const { push, evaluate: ask, bench } = await startConditionBench(unhealthyDest);
  await push({ out_events: 1, errors: 0 });
  expect(ask()).toMatchObject({ state: 'ok' });
  await push({ out_events: 0, errors: 3 });
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Destination syslog:app is unhealthy: errors, and nothing was delivered',
    fields: { _metric: 'health.outputs', health: 2, timeWindow: '60s' },
  });
  await push({ out_events: 5, errors: 0 });
  expect(ask({ ms: 10_000 })).toMatchObject({ state: 'alarm' });
  await bench.clock.advance(50_000);
  await push({ out_events: 5 });
  expect(ask({ ms: 70_000 })).toMatchObject({
    state: 'ok',
    text: 'Destination syslog:app is healthy again after 1m 10s',
    fields: { health: 0 },
  });
});

it('reports inputs alike', async () => {
  const { push, evaluate: ask } = await startConditionBench(unhealthySource);
  await push({ in_events: 1 });
  ask();
  await push({ in_events: 0, errors: 1 });
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Source syslog:app is unhealthy: errors, and no event came in',
    fields: { _metric: 'health.inputs' },
  });
});

it('does not treat a sender that fell silent as one that is well again', async () => {
  const { push, evaluate: ask, bench } = await startConditionBench(unhealthyDest);
  await push({ out_events: 1 });
  ask();
  await push({ out_events: 0, errors: 3 });
  await bench.clock.advance(16 * 60_000);
  expect(ask({ ms: 1000 })).toMatchObject({ state: 'unknown' });
});

it('is unhealthy when more than half of the replicas are, not when one of many is', async () => {
  const { push, evaluate: ask, bench } = await startConditionBench(unhealthyDest, { timeWindow: '2m' });
  const replicas = ['b', 'c', 'd'];
  for (const one of replicas) await push({ out_events: 1 }, one);
  ask();
  for (let round = 0; round < 6; round++) {
    await push({ out_events: 0, errors: 1 }, 'b');
    await push({ out_events: 1 }, 'c');
    await push({ out_events: 1 }, 'd');
  }
  expect(ask()).toMatchObject({ state: 'ok' });
  for (let round = 0; round < 6; round++)
    for (const one of replicas) await push({ out_events: 0, errors: 1 }, one);
  expect(ask()).toMatchObject({ state: 'alarm' });
  expect(bench.status('app').healthCounts.Red).toBe(3);
});

it('is unknown for a name that was never seen', async () => {
  expect((await startConditionBench(unhealthyDest)).evaluateUnseen(3_600_000)).toMatchObject({
    state: 'unknown',
  });
});

it('is unhealthy when its page could not be read for the whole window, until it can be again', async () => {
  const sink = (sent: number) =>
    `vector_component_sent_events_total{component_id="app",component_kind="sink",component_type="syslog"} ${sent}\n`;
  const bench = await startBench(vectorAt('edge'));
  const rule = unhealthyDest.configure({ name: 'app', timeWindow: '60s' });
  await bench.scrape(sink(1));
  const ask = (open?: OpenFor) =>
    rule.evaluate({
      subject: {
        key: 'a',
        name: 'syslog:app',
        group: 'default',
        component: bench.find('app'),
        declaredMs: 0,
      },
      components: bench.monitor.components,
      open,
    });
  ask();
  await bench.scrape(sink(2));
  expect(ask().state).toBe('ok');
  const down = new HttpFailure('refused', 'connection refused');
  for (let reading = 0; reading < 5; reading++) {
    await bench.scrape(down);
    expect(ask().state).toBe('ok');
  }
  await bench.scrape(down);
  const verdict = ask();
  expect(verdict.state === 'alarm' && verdict.describe().text).toBe(
    'Destination syslog:app is unhealthy: pipeline unreachable: http://edge.test: connection refused',
  );
  await bench.scrape(sink(3));
  expect(ask({ ms: 0, observedMs: 0 }).state).toBe('ok');
});

it('is well when one of two replicas is Red all the time, and when one of two has come back', async () => {
  const { push, evaluate: ask, bench } = await startConditionBench(unhealthyDest);
  const both = async (errors: number) => {
    await push({ out_events: errors === 0 ? 1 : 0, errors });
    await push({ out_events: 0, errors: 1 }, 'b');
  };
  await both(0);
  ask();
  for (let round = 0; round < 8; round++) await both(0);
  expect(bench.status('app').health).not.toBe('Red');
  expect(ask()).toMatchObject({ state: 'ok' });
  for (let round = 0; round < 8; round++) await both(1);
  expect(bench.status('app').health).toBe('Red');
  expect(ask()).toMatchObject({ state: 'alarm' });
  await both(0);
  expect(ask({ ms: 1000 })).toMatchObject({ state: 'ok' });
});
