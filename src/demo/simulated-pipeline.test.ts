import { expect, it, onTestFinished } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { startBench, vectorAt } from '../../test/helpers/monitor.ts';
import { COMPONENTS } from './script.ts';
import { startSimulatedPipeline } from './simulated-pipeline.ts';

/** The pipeline on a clock of its own, and a monitor that reads what the pipeline serves. */
async function setup() {
  const clock = testClock();
  const pipeline = await startSimulatedPipeline(clock);
  onTestFinished(pipeline.close);
  const bench = await startBench(vectorAt('edge'));
  onTestFinished(() => bench.monitor.stop());
  return {
    pipeline,
    bench,
    async readAfter(ms: number) {
      await clock.advance(ms);
      const answer = await fetch(`${pipeline.url}/metrics`);
      await bench.scrape(await answer.text());
    },
  };
}

it('is read as a Vector: every input and output with its events, bytes, errors and queue', async () => {
  const { pipeline, bench, readAfter } = await setup();
  await readAfter(0);
  pipeline.begin();
  await readAfter(76_000);
  await readAfter(10_000);
  expect(bench.monitor.components.all()).toHaveLength(COMPONENTS.length);
  for (const { id, kind, type } of COMPONENTS) {
    const { metrics, health } = bench.status(id);
    const way = kind === 'input' ? 'in' : 'out';
    expect(bench.find(id)).toMatchObject({ kind, type });
    expect(metrics[`${way}_events`]).toBeGreaterThan(0);
    expect(metrics[`${way}_bytes`]).toBeGreaterThan(0);
    expect(health).toBe(id === 'search' ? 'Red' : 'Green');
  }
  expect(bench.status('search').metrics).toMatchObject({ errors: 22, queue_capacity: 10_000 });
  expect(bench.status('search').metrics.queue_size).toBeGreaterThan(0);
  await readAfter(20_000);
  await readAfter(1000);
  expect(bench.status('search').health).toBe('Green');
});

it('lets nothing flow before it begins', async () => {
  const { bench, readAfter } = await setup();
  await readAfter(0);
  await readAfter(10_000);
  expect(bench.status('app').metrics.in_events).toBe(0);
  expect(bench.status('app').lastDataAt).toBeNull();
});

it('says where its metrics are to whoever asks elsewhere', async () => {
  const { pipeline } = await setup();
  const answer = await fetch(`${pipeline.url}/`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('/metrics');
});
