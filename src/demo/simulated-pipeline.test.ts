import { afterEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { rulesFor, statementsOf } from '../pipelines/engines/profile.ts';
import { vector } from '../pipelines/engines/vector.ts';
import { parseSeries, readPrometheus } from '../pipelines/formats/prometheus.ts';
import { PARTS } from './script.ts';
import { type SimulatedPipeline, startSimulatedPipeline } from './simulated-pipeline.ts';

let pipeline: SimulatedPipeline | undefined;
afterEach(() => pipeline?.close());

/** What Headgate's own profile understands of the page: metric values by component. */
async function understood(url: string): Promise<Map<string, Map<string, number>>> {
  const answer = await fetch(`${url}/metrics`);
  const components = new Map<string, Map<string, number>>();
  const result = readPrometheus(await answer.text(), false, {
    wants: () => true,
    sample(text, value) {
      const series = parseSeries(text);
      if (series === undefined) return 'malformed';
      for (const statement of statementsOf(vector, rulesFor(vector, series.name), series.labels)) {
        const metrics = components.get(statement.engineId) ?? new Map<string, number>();
        components.set(statement.engineId, metrics.set(statement.means.metric, value));
      }
      return 'taken';
    },
  });
  expect(result).toMatchObject({ bad: 0, error: undefined });
  return components;
}

it('is read as a Vector: every input and output with its events, bytes, errors and queue', async () => {
  const clock = testClock();
  pipeline = await startSimulatedPipeline(clock);
  pipeline.begin();
  await clock.advance(80_000);
  const components = await understood(pipeline.url);
  expect([...components.keys()].sort()).toEqual(PARTS.map(part => part.id).sort());
  for (const { id, kind } of PARTS) {
    const metrics = components.get(id);
    const way = kind === 'input' ? 'in' : 'out';
    expect(metrics?.get(`${way}_events`)).toBeGreaterThan(0);
    expect(metrics?.get(`${way}_bytes`)).toBeGreaterThan(0);
  }
  expect(components.get('search')?.get('errors')).toBe(10);
  expect(components.get('search')?.get('queue_size')).toBeGreaterThan(0);
});

it('lets nothing flow before it begins', async () => {
  const clock = testClock();
  pipeline = await startSimulatedPipeline(clock);
  await clock.advance(10_000);
  expect((await understood(pipeline.url)).get('app')?.get('in_events')).toBe(0);
});

it('says where its metrics are to whoever asks elsewhere', async () => {
  pipeline = await startSimulatedPipeline(testClock());
  const answer = await fetch(`${pipeline.url}/`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('/metrics');
});
