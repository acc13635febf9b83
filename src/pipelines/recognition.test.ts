import { beforeEach, describe, expect, it } from 'vitest';
import { type Bench, startBenchWith, URL_OF } from '../../test/helpers/monitor.ts';
import { sample } from '../../test/helpers/pages.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { JSON_ENGINES, TEXT_ENGINES } from './engines/index.ts';

/** A page that is fine in itself, of something that is no pipeline. */
const UNRELATED =
  '# HELP node_load1 1m load average.\nnode_load1 0.5\nnode_cpu_seconds_total{cpu="0",mode="idle"} 12.5\n';
const CHECK = "check the pipeline's engine, the namespace of the names, and the engine's version and format";

let logged: string[];
const logger: Logger = {
  ...silentLogger,
  warn: (fields, message) => void logged.push(`${message}: ${JSON.stringify(fields)}`),
  info: (_, message) => void logged.push(message),
  child: () => logger,
};

beforeEach(() => {
  logged = [];
});

const start = (engine: string, settings: object = { url: URL_OF('edge') }): Promise<Bench> =>
  startBenchWith({ logger }, { id: 'edge', engine, ...settings });

const stateOf = (bench: Bench) => bench.monitor.components.pipeline('edge');

const CUSTOM = {
  url: URL_OF('edge'),
  rules: [{ match: '^jobs_total$', id: 'queue', kind: 'input', metric: 'in_events' }],
};

describe('a page of something else', () => {
  it.each([...TEXT_ENGINES.map(engine => [engine, {}] as const), ['custom', CUSTOM] as const])(
    'is none of engine %s, which its state and one line of the log report',
    async (engine, settings) => {
      const bench = await start(engine, { url: URL_OF('edge'), ...settings });
      await bench.scrape(UNRELATED);
      for (let more = 1; more < 5; more++) await bench.scrape(UNRELATED + 'go_goroutines 1\n'.repeat(more));
      expect(stateOf(bench)).toMatchObject({
        state: 'unreachable',
        error: expect.stringContaining(`6 series, none that engine ${engine} is known by; ${CHECK}`),
        components: 0,
      });
      expect(logged).toHaveLength(1);
      expect(logged[0]).toContain(`2 series, none that engine ${engine} is known by; ${CHECK}`);
      expect(bench.metered).toEqual(new Array(5).fill('unread edge unrecognised'));
    },
  );

  it.each(JSON_ENGINES)('in JSON is none of engine %s', async engine => {
    const bench = await start(engine);
    await bench.scrape('{"status":"ok","uptime":12}');
    expect(stateOf(bench)).toMatchObject({
      state: 'unreachable',
      error: expect.stringMatching(/^http:\/\/edge\.test: not .*; set url to …\//),
    });
  });

  it.each([
    ['fluentd', { plugins: [{ plugin_id: 'a', plugin_category: 'input', type: 'forward' }] }],
    ['logstash', { pipelines: { main: { plugins: { inputs: [], outputs: [] } } } }],
  ])('of engine %s that counts nothing shows nothing that it is known by', async (engine, page) => {
    const bench = await start(engine);
    await bench.scrape(JSON.stringify(page));
    expect(stateOf(bench)?.error).toContain(`1 entries, none that engine ${engine} is known by; ${CHECK}`);
  });

  it('is no fault of an engine that has nothing to count yet', async () => {
    const bench = await start('otelcol');
    await bench.scrape('otelcol_process_uptime_seconds_total 3\n');
    expect(stateOf(bench)).toMatchObject({ state: 'reachable', error: null, components: 0 });
    await bench.scrape('otelcol_receiver_accepted_spans_total{receiver="otlp"} 7\n');
    expect(bench.status('otlp').metrics.in_events).toBe(7);
  });

  it('is no fault of an exporter whose labelled counters begin anew', async () => {
    const bench = await start('custom', CUSTOM);
    const page = (jobs: string): string => `process_cpu_seconds_total 1\n${jobs}`;
    await bench.scrape(page(''));
    await bench.scrape(page('jobs_total{queue="mail"} 3\n'));
    expect(bench.status('mail').metrics.in_events).toBe(3);
    await bench.scrape(page(''));
    expect(stateOf(bench)).toMatchObject({ state: 'reachable', error: null });
    expect(bench.status('mail').presence).toBe('gone');
    await bench.scrape(page('jobs_total{queue="mail"} 2\n'));
    expect(bench.status('mail').metrics.in_events).toBe(5);
  });

  it('is reported as over when the page is right again', async () => {
    const bench = await start('vector');
    await bench.scrape(UNRELATED);
    await bench.scrape('vector_uptime_seconds 1\n');
    expect(stateOf(bench)).toMatchObject({ state: 'reachable', error: null });
    expect(logged.at(-1)).toBe('The pipeline can be read again');
  });
});

describe('another address of Fluent Bit', () => {
  it.each([
    [
      '/api/v1/metrics',
      '{"input":{"cpu.0":{"records":8,"bytes":2536}},"output":{"stdout.0":{"proc_records":5}}}',
    ],
    [
      '/api/v2/metrics',
      '2026-01-01T00:00:00.142936416Z fluentbit_input_records_total{name="cpu.0"} = 8\n2026-01-01T00:00:00.142936416Z fluentbit_uptime{hostname="h"} = 12\n',
    ],
    ['/', UNRELATED],
  ])('(%s) names the right one', async (path, page) => {
    const url = `http://edge.test${path}`;
    const bench = await start('fluent-bit', { url });
    bench.pages.serve(url, page);
    await bench.clock.advance(10_000);
    expect(stateOf(bench)?.error).toMatch(
      /; fluent-bit shows its metrics at \/api\/v2\/metrics\/prometheus$/,
    );
  });
});

describe('pushes of something else', () => {
  const PUSHING = { push: true, token: 'token of the edge' };
  const LOG = 'Nov 29 10:00:00 web1 sshd[12]: session opened\nNov 29 10:00:01 web1 cron: 3 jobs\n';
  const known = sample('rsyslog-8.2302-impstats-json.txt');

  async function pushFor(bench: Bench, minutes: number, text: string): Promise<void> {
    for (let minute = 0; minute < minutes; minute++) {
      await bench.monitor.ingestImpstats('edge', 'web1', text);
      await bench.clock.advance(60_000);
    }
  }

  it('are reported after a minute where nothing was ever known', async () => {
    const bench = await start('rsyslog', PUSHING);
    await pushFor(bench, 1, LOG);
    expect(stateOf(bench)?.error).toBeNull();
    await pushFor(bench, 5, LOG);
    const reason = `2 lines, none that engine rsyslog is known by; ${CHECK}`;
    expect(stateOf(bench)).toMatchObject({ error: reason, unrecognised: reason });
    expect(stateOf(bench)?.unreachedMs).toBeGreaterThanOrEqual(5 * 60_000);
    expect(logged).toEqual([`Nothing that the pipeline pushes is known: ${JSON.stringify({ reason })}`]);
    await pushFor(bench, 1, known);
    expect(stateOf(bench)).toMatchObject({ error: null, unrecognised: null, unreachedMs: 60_000 });
  });

  it('are no fault as long as others bring what is known', async () => {
    const bench = await start('vector', PUSHING);
    const push = (name: string) =>
      bench.monitor.ingestPoints('edge', 'one', function* (take) {
        yield;
        take({
          name,
          labels: new Map([
            ['component_id', 'app'],
            ['component_kind', 'source'],
            ['component_type', 'syslog'],
          ]),
          instance: undefined,
          temporality: 'cumulative',
          value: 1,
          time: Number.NaN,
          start: Number.NaN,
        });
      });
    for (let minute = 0; minute < 20; minute++) {
      await push('vector_component_received_events_total');
      for (let other = 0; other < 3; other++) await push('node_load1');
      await bench.clock.advance(60_000);
    }
    expect(stateOf(bench)?.error).toBeNull();
    for (let minute = 0; minute < 20; minute++) {
      await push('node_load1');
      await bench.clock.advance(60_000);
    }
    expect(stateOf(bench)?.error).toContain('1 points, none that engine vector is known by');
  });
});
