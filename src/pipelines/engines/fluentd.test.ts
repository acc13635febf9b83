import { describe, expect, it } from 'vitest';
import { type Bench, startBench, URL_OF } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';

const page = sample('fluentd-1.19-monitor_agent-plugins.json');

/** The page with other values for some keys of one plugin; undefined takes a key away. */
function changed(id: string, values: object, text = page): string {
  const { plugins } = JSON.parse(text);
  return JSON.stringify({
    plugins: plugins.map((one: { plugin_id: string }) =>
      one.plugin_id === id ? { ...one, ...values } : one,
    ),
  });
}

async function read(...pages: string[]): Promise<Bench> {
  const bench = await startBench({ id: 'edge', engine: 'fluentd', url: URL_OF('edge') });
  for (const one of pages) await bench.scrape(one);
  return bench;
}

it('lists the plugins that count, without the one that serves the page and copies of events', async () => {
  const bench = await read(page);
  expect(bench.monitor.components.all().map(({ kind, type, engineId }) => [kind, type, engineId])).toEqual([
    ['input', 'tcp', 'in_tcp_app'],
    ['output', 'file', 'out_file'],
    ['output', 'forward', 'out_fwd'],
  ]);
});

it('lists none that hands events on within Fluentd or shows its metrics', async () => {
  const internal = [
    ['output', 'relabel'],
    ['output', 'null'],
    ['input', 'prometheus_output_monitor'],
  ].map(([plugin_category, type]) => ({ plugin_id: type, plugin_category, type, emit_records: 5 }));
  const { plugins } = JSON.parse(page);
  const bench = await read(JSON.stringify({ plugins: [...plugins, ...internal] }));
  expect(bench.monitor.components.all()).toHaveLength(3);
});

it('counts records and bytes of inputs from the first page on', async () => {
  const bench = await read(page, changed('in_tcp_app', { emit_records: 310, emit_size: 9000 }));
  expect(bench.status('in_tcp_app')).toMatchObject({
    health: 'Green',
    metrics: { in_events: 10, in_bytes: 110 },
  });
});

it('reports no bytes where Fluentd does not measure them', async () => {
  const bench = await read(
    changed('in_tcp_app', { emit_size: 0 }),
    changed('in_tcp_app', { emit_records: 310, emit_size: 0 }),
  );
  expect(bench.status('in_tcp_app').metrics).toEqual({ in_events: 10 });
});

it('reports how full a buffer is, and calls one blocked that is nearly full', async () => {
  const bench = await read(page);
  expect(bench.status('out_fwd').metrics).toMatchObject({ queue_capacity: 100 });
  expect(bench.status('out_fwd').metrics.queue_size).toBeCloseTo(0.2);
  await bench.scrape(
    changed('out_file', { buffer_available_buffer_space_ratios: 4.0, emit_records: 400, emit_size: 9000 }),
  );
  expect(bench.status('out_file')).toMatchObject({ health: 'Yellow', error: 'it is blocked' });
});

describe('an output', () => {
  it('that retries is Red, and delivers nothing of what it takes in', async () => {
    const bench = await read(
      page,
      changed('out_fwd', { emit_records: 500, write_count: 5, rollback_count: 5, retry_count: 5 }),
    );
    expect(bench.status('out_fwd')).toMatchObject({
      health: 'Red',
      error: 'it reports that it is down',
      metrics: { out_events: 0, errors: 2 },
      lastDataAt: null,
    });
  });

  it('that recovers has delivered what it held', async () => {
    const bench = await read(
      page,
      changed('out_fwd', { emit_records: 500, emit_size: 10_000, write_count: 5, rollback_count: 5 }),
      changed('out_fwd', {
        emit_records: 520,
        emit_size: 11_000,
        write_count: 6,
        rollback_count: 5,
        retry: {},
      }),
    );
    expect(bench.status('out_fwd')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 220, out_bytes: 2110 },
    });
  });

  it('delivers what gets through between retries', async () => {
    const bench = await read(
      page,
      changed('out_fwd', { emit_records: 500, write_count: 6, rollback_count: 4 }),
    );
    expect(bench.status('out_fwd').metrics.out_events).toBe(200);
  });

  it('is known to fail by its rollbacks where the page does not show retries', async () => {
    const silent = changed('out_fwd', { retry: undefined });
    const bench = await read(
      silent,
      changed('out_fwd', { emit_records: 500, write_count: 4, rollback_count: 4 }, silent),
    );
    expect(bench.status('out_fwd').metrics.out_events).toBe(0);
  });

  it('that gathers before it writes is not in trouble', async () => {
    const bench = await read(page);
    for (let times = 1; times < 4; times++)
      await bench.scrape(
        changed('out_file', {
          emit_records: 300 + times,
          emit_size: 8890 + times,
          buffer_available_buffer_space_ratios: 100 - times,
        }),
      );
    expect(bench.status('out_file')).toMatchObject({ health: 'Green', metrics: { out_events: 3 } });
  });
});

describe('a restart of the process', () => {
  it('is seen where one counter fell, and every counter began anew', async () => {
    const bench = await read(
      page,
      changed('in_tcp_app', { emit_records: 20 }, changed('out_file', { emit_records: 350 })),
    );
    expect(bench.status('in_tcp_app').metrics.in_events).toBe(20);
    expect(bench.status('out_file').metrics.out_events).toBe(350);
    await bench.scrape(
      changed('in_tcp_app', { emit_records: 25 }, changed('out_file', { emit_records: 350 })),
    );
    expect(bench.status('in_tcp_app').metrics.in_events).toBe(25);
  });

  it('leaves nothing delivered by an output that fails ever since', async () => {
    const bench = await read(
      page,
      changed('out_fwd', { emit_records: 90, write_count: 1, rollback_count: 1, retry_count: 1 }),
    );
    expect(bench.status('out_fwd').metrics).toMatchObject({ out_events: 0, errors: 1 });
  });
});
