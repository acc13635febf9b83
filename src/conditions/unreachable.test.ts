import { expect, it } from 'vitest';
import { type Bench, startBench, vectorAt } from '../../test/helpers/monitor.ts';
import { HttpFailure } from '../lib/http/failure.ts';
import type { OpenFor } from './condition.ts';
import { pipelineUnreachable } from './unreachable.ts';

const REFUSED = new HttpFailure('refused', 'http://edge.test: connect ECONNREFUSED');
const PAGE =
  'vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} 1\n';
const PUSHING = { id: 'edge', engine: 'custom', push: true, token: 'token of the edge' };
const SAMPLES = {
  temporality: 'delta',
  samples: [{ kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 1 }],
};

function evaluate(bench: Bench, open?: OpenFor) {
  const subject = bench.monitor.components.pipeline('edge');
  if (subject === undefined) throw new Error('there is no pipeline edge');
  const verdict = pipelineUnreachable
    .configure({ name: 'edge', timeWindow: '30s' })
    .evaluate({ subject, now: bench.clock.now(), open });
  return verdict.state === 'unknown' ? verdict : { state: verdict.state, ...verdict.describe() };
}

const openFor = (ms: number): OpenFor => ({ ms, observedMs: ms });

it('is an alarm when no reading of the window brought a page, with the time of the first that failed', async () => {
  const bench = await startBench(vectorAt('edge'));
  await bench.scrape(PAGE);
  await bench.scrape(PAGE);
  expect(evaluate(bench)).toMatchObject({ state: 'ok' });
  await bench.scrape(REFUSED);
  const since = new Date(bench.clock.now() - 5000).toISOString().replace('.000', '');
  await bench.scrape(REFUSED);
  expect(evaluate(bench)).toMatchObject({ state: 'ok' });
  await bench.scrape(REFUSED);
  const reason = 'http://edge.test: connect ECONNREFUSED';
  expect(evaluate(bench)).toEqual({
    state: 'alarm',
    text: `Pipeline edge has been unreachable since ${since}: ${reason}`,
    fields: { timeWindow: '30s', unreachableSince: since, reason },
  });
});

it('resolves with the first page that can be read, and not a moment before', async () => {
  const bench = await startBench(vectorAt('edge'));
  for (const page of [PAGE, PAGE, REFUSED, REFUSED]) await bench.scrape(page);
  expect(evaluate(bench, openFor(5000))).toMatchObject({ state: 'alarm' });
  await bench.scrape(PAGE);
  expect(evaluate(bench, openFor(65_000))).toMatchObject({
    state: 'ok',
    text: 'Pipeline edge is reachable again after 1m 5s',
  });
});

it('is unknown at the first reading after a start, whether it succeeds or fails', async () => {
  const bench = await startBench(vectorAt('edge'));
  for (let reading = 0; reading < 6; reading++) await bench.scrape(REFUSED);
  await bench.restart();
  expect(evaluate(bench)).toMatchObject({ state: 'unknown' });
  await bench.scrape(REFUSED);
  expect(evaluate(bench)).toMatchObject({ state: 'unknown' });
  await bench.scrape(REFUSED);
  expect(evaluate(bench)).toMatchObject({ state: 'alarm' });
  await bench.restart();
  await bench.scrape(PAGE);
  expect(evaluate(bench, openFor(60_000))).toMatchObject({ state: 'unknown' });
  await bench.scrape(PAGE);
  expect(evaluate(bench, openFor(70_000))).toMatchObject({ state: 'ok' });
});

it('does not count the time in which no process was observing', async () => {
  const bench = await startBench(vectorAt('edge'));
  for (const page of [PAGE, PAGE, REFUSED]) await bench.scrape(page);
  await bench.restart(3_600_000);
  await bench.scrape(REFUSED);
  expect(bench.monitor.components.pipeline('edge')).toMatchObject({ unreachedMs: 25_000 });
  await bench.scrape(REFUSED);
  expect(evaluate(bench)).toMatchObject({ state: 'alarm' });
});

it('is an alarm when a sender that pushes has sent nothing for the window, also when it never did', async () => {
  const bench = await startBench(PUSHING);
  await bench.clock.advance(29_000);
  expect(evaluate(bench)).toMatchObject({ state: 'ok' });
  await bench.clock.advance(1000);
  expect(evaluate(bench)).toMatchObject({ state: 'alarm' });
  void bench.monitor.ingestSamples('edge', SAMPLES);
  const since = new Date(bench.clock.now()).toISOString().replace('.000', '');
  expect(evaluate(bench, openFor(1000))).toMatchObject({ state: 'ok' });
  await bench.clock.advance(30_000);
  expect(evaluate(bench)).toMatchObject({
    state: 'alarm',
    text: `Pipeline edge has been unreachable since ${since}: nothing was pushed for 30s`,
  });
});

it('stays an alarm for a sender that is silent after a restart without a snapshot', async () => {
  const bench = await startBench(PUSHING);
  await bench.clock.advance(40_000);
  await bench.restart(0, false);
  await bench.clock.advance(1000);
  expect(evaluate(bench, openFor(1000))).toMatchObject({ state: 'alarm' });
  void bench.monitor.ingestSamples('edge', SAMPLES);
  await bench.clock.advance(1000);
  expect(evaluate(bench, openFor(3000))).toMatchObject({ state: 'ok' });
});
