import { expect, it } from 'vitest';
import { type Bench, startBench, URL_OF } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';

const page = sample('logstash-8-node-stats.json');

/** The page with other values: the path of a key, with dots, and what stands there now. */
function changed(values: Readonly<Record<string, unknown>>, text = page): string {
  const whole = JSON.parse(text);
  for (const [path, value] of Object.entries(values)) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    const place = steps.reduce((at, step) => at[step], whole.pipelines);
    place[last] = value;
  }
  return JSON.stringify(whole);
}
const input = 'beats.plugins.inputs.0.events.out';
const pushed = 'beats.plugins.inputs.0.events.queue_push_duration_in_millis';
const output = 'beats.plugins.outputs.0.events.out';
const failures = 'beats.plugins.outputs.0.bulk_requests.failures';
const life = { 'beats.ephemeral_id': '99999999-9999-4999-8999-999999999999' };

async function read(...pages: string[]): Promise<Bench> {
  const bench = await startBench({ id: 'edge', engine: 'logstash', url: URL_OF('edge') });
  for (const one of pages) await bench.scrape(one);
  return bench;
}

it('lists the plugins of each pipeline, but those of its own monitoring', async () => {
  const bench = await read(page);
  expect(bench.monitor.components.all().map(({ kind, type, engineId }) => [kind, type, engineId])).toEqual([
    ['input', 'beats', 'beats/beats_in'],
    ['output', 'elasticsearch', 'beats/es_main'],
    ['input', 'http', 'web/http_in'],
    ['output', 'file', 'web/file_out'],
  ]);
  expect(bench.monitor.components.pipeline('edge')).toMatchObject({ state: 'reachable', components: 4 });
  expect(bench.pages.requests[0]?.headers?.accept).toBe('application/json');
});

it('counts events from the first page on, and errors and what was dropped with them', async () => {
  const bench = await read(
    page,
    changed({ [input]: 5300, [output]: 5000, [failures]: 9, 'beats.dead_letter_queue.dropped_events': 6 }),
  );
  expect(bench.status('beats/beats_in').metrics).toMatchObject({ in_events: 100 });
  expect(bench.status('beats/es_main').metrics).toMatchObject({ out_events: 50, errors: 2, dropped: 1 });
  expect(bench.status('web/http_in').metrics).toMatchObject({ in_events: 0, blocked: 0 });
});

it.each([
  ['are tried again', 'retryable_failures'],
  ['go to the dead letter queue', 'dlq_routed'],
])('counts documents that %s as errors, which is all there is of an index that refuses', async (_, name) => {
  const retried = `beats.plugins.outputs.0.documents.${name}`;
  const bench = await read(changed({ [retried]: 100 }), changed({ [retried]: 225 }));
  expect(bench.status('beats/es_main')).toMatchObject({
    health: 'Red',
    error: 'errors, and nothing was delivered',
    metrics: { out_events: 0, errors: 125 },
  });
});

it('counts the queue of a pipeline for both its ends, and no queue that is in memory', async () => {
  const bench = await read(page);
  for (const id of ['beats/beats_in', 'beats/es_main']) {
    expect(bench.status(id).metrics).toMatchObject({
      queue_size: 858_993_459,
      queue_capacity: 1_073_741_824,
    });
    expect(bench.monitor.components.queueUsage(bench.find(id))).toBeCloseTo(80);
  }
  expect(bench.monitor.components.queueUsage(bench.find('web/http_in'))).toBeUndefined();
});

it('takes the share of the time in which an input waited for the queue for how blocked it is', async () => {
  const bench = await read(page, changed({ [pushed]: 11_500 }));
  expect(bench.status('beats/beats_in')).toMatchObject({ health: 'Yellow', metrics: { blocked: 0.25 } });
  await bench.scrape(changed({ [pushed]: 91_500 }));
  expect(bench.status('beats/beats_in').metrics.blocked).toBe(1);
  await bench.scrape(changed({ [pushed]: 91_500 }));
  expect(bench.status('beats/beats_in').metrics.blocked).toBe(0);
});

it('takes that share of the time since the last good page, not since one that did not come', async () => {
  const bench = await read(page);
  await bench.scrape({ status: 500 });
  await bench.scrape(changed({ [pushed]: 14_000 }));
  expect(bench.status('beats/beats_in').metrics.blocked).toBe(0.25);
});

it('calls an output Red that holds a batch and lets nothing out', async () => {
  const at = (taken: number, out: number): string =>
    changed({
      'web.plugins.outputs.0.events.in': taken,
      'web.plugins.outputs.0.events.out': out,
    });
  const bench = await read(at(300, 300));
  expect(bench.status('web/file_out').health).toBe('Green');
  await bench.scrape(at(425, 300));
  expect(bench.status('web/file_out')).toMatchObject({
    health: 'Red',
    error: 'its queue grows, and nothing was delivered',
    metrics: { queue_size: 125 },
  });
  await bench.scrape(at(425, 425));
  expect(bench.status('web/file_out').health).toBe('Green');
});

it('counts anew when a pipeline was reloaded, though its counters are higher than before', async () => {
  const bench = await read(page, changed({ [input]: 5210, ...life }));
  expect(bench.status('beats/beats_in').metrics.in_events).toBe(5210);
  expect(bench.status('web/http_in').metrics.in_events).toBe(0);
  await bench.scrape(changed({ [input]: 5215, ...life }));
  expect(bench.status('beats/beats_in').metrics.in_events).toBe(5215);
});

it('counts what a restarted process counted since, where pages show no incarnation', async () => {
  const plain = (text: string): string => text.replace(/,?\s*"ephemeral_id":\s*"[^"]*"/g, '');
  const bench = await read(plain(page), plain(changed({ [input]: 40 })));
  expect(bench.status('beats/beats_in').metrics.in_events).toBe(40);
});

it('believes that a node is in trouble where there is one pipeline to blame', async () => {
  const red = page.replace('"status": "green"', '"status": "red"');
  const bench = await read(red);
  expect(bench.status('beats/es_main').health).not.toBe('Red');
  const whole = JSON.parse(red);
  await bench.scrape(JSON.stringify({ ...whole, pipelines: { beats: whole.pipelines.beats } }));
  expect(bench.status('beats/es_main')).toMatchObject({
    health: 'Red',
    error: 'it reports that it is down',
  });
});
