import { describe, expect, it } from 'vitest';
import { type Bench, startBench, URL_OF } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';

const MOST = 4096;
const OPEN_METRICS = { 'content-type': 'application/openmetrics-text; version=1.0.0' };

interface Format {
  readonly name: string;
  readonly engine: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A page on which its input counted so much: a number, or what stands in the place of one. */
  readonly at: (count: number | string, time?: string) => string;
  /** Id of that input. */
  readonly input: string;
  /** True when a page that was cut is recognised. */
  readonly knowsCut: boolean;
}

const vectorLine = (count: number | string, time: string): string =>
  `vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} ${count}${time}\n`;
const filler = Array.from({ length: 30 }, (_, at) => `vector_buffer_events{buffer_id="b${at}"} 1\n`).join('');

const logstash = JSON.parse(sample('logstash-8-node-stats.json'));
const beat = JSON.parse(sample('filebeat-9.1-stats.json'));
const fluentd = JSON.parse(sample('fluentd-1.19-monitor_agent-plugins.json'));

/** JSON with a text in the place of one number. */
const withNumber = (value: unknown, count: number | string): string =>
  JSON.stringify(value).replace('"HERE"', String(count));

const FORMATS: readonly Format[] = [
  {
    name: 'Prometheus text',
    engine: 'vector',
    headers: {},
    at: (count, time = '') => vectorLine(count, time) + filler,
    input: 'app',
    knowsCut: false,
  },
  {
    name: 'OpenMetrics text',
    engine: 'vector',
    headers: OPEN_METRICS,
    at: (count, time = '') => `${vectorLine(count, time)}${filler}# EOF\n`,
    input: 'app',
    knowsCut: true,
  },
  {
    name: 'the JSON of Logstash',
    engine: 'logstash',
    headers: {},
    at(count) {
      const { web } = logstash.pipelines;
      const [input] = web.plugins.inputs;
      const plugins = { ...web.plugins, inputs: [{ ...input, events: { out: 'HERE' } }] };
      return withNumber({ ...logstash, pipelines: { web: { ...web, plugins } } }, count);
    },
    input: 'web/http_in',
    knowsCut: true,
  },
  {
    name: 'the JSON of Fluentd',
    engine: 'fluentd',
    headers: {},
    at: count =>
      withNumber(
        {
          plugins: [fluentd.plugins[1], fluentd.plugins[3]].map((one, at) =>
            at === 0 ? { ...one, emit_records: 'HERE' } : one,
          ),
        },
        count,
      ),
    input: 'in_tcp_app',
    knowsCut: true,
  },
  {
    name: 'the JSON of a Beat',
    engine: 'filebeat',
    headers: {},
    at(count) {
      const { libbeat } = beat;
      const pipeline = { ...libbeat.pipeline, events: { total: 'HERE' } };
      return withNumber({ beat: beat.beat, libbeat: { ...libbeat, pipeline } }, count);
    },
    input: 'filebeat',
    knowsCut: true,
  },
];

describe.each(FORMATS.map(format => [format.name, format] as const))('a page of %s', (_, format) => {
  const answer = (text: string | Buffer) => ({ headers: format.headers, body: Buffer.from(text) });
  const start = async (): Promise<Bench> => {
    const bench = await startBench({
      id: 'edge',
      engine: format.engine,
      url: URL_OF('edge'),
      maxBytes: MOST,
    });
    await bench.scrape(answer(format.at(1000)));
    return bench;
  };
  const stateOf = (bench: Bench) => bench.monitor.components.pipeline('edge');
  const count = (bench: Bench) => bench.status(format.input).metrics.in_events;

  it.each([
    ['nothing but zeros', Buffer.alloc(500)],
    ['bytes that are no text', Buffer.from(Array.from({ length: 500 }, (__, at) => (at * 151 + 7) % 256))],
    ['another page', '<!doctype html>\n<title>Welcome</title>'],
    ['one brace', '{'],
    ['one very long line', 'x'.repeat(MOST - 1)],
  ])('that is %s says what it should be, is counted, and the next one counts', async (__, body) => {
    const bench = await start();
    await bench.scrape(answer(body));
    expect(stateOf(bench)).toMatchObject({
      state: 'unreachable',
      error: expect.stringMatching(
        /not (Prometheus text|Logstash's|the page of Fluentd's|a Beat's)|cut short/,
      ),
    });
    expect(bench.metered).toEqual(['unread edge format']);
    await bench.scrape(answer(format.at(1007)));
    expect([stateOf(bench)?.state, count(bench)]).toEqual(['reachable', 7]);
  });

  it('that is cut at any sixteenth harms nothing, and the next one counts', async () => {
    const bench = await start();
    const whole = format.at(1001);
    for (let part = 1; part < 16; part++) {
      await bench.scrape(answer(whole.slice(0, Math.floor((whole.length * part) / 16))));
      if (format.knowsCut) expect(stateOf(bench)?.state).toBe('unreachable');
      expect(count(bench)).toBeLessThanOrEqual(1001);
    }
    const before = count(bench) ?? Number.NaN;
    await bench.scrape(answer(format.at(1001)));
    const whole1 = count(bench) ?? Number.NaN;
    expect(whole1).toBeGreaterThanOrEqual(before);
    await bench.scrape(answer(format.at(1008)));
    expect(count(bench)).toBe(whole1 + 7);
  });

  it('of a byte more than may be is refused, one of just as many is not', async () => {
    const bench = await start();
    const padded = (bytes: number): Buffer => Buffer.from(format.at(1003).padStart(bytes, '\n'));
    expect(padded(MOST + 1)).toHaveLength(MOST + 1);
    await bench.scrape(answer(padded(MOST + 1)));
    expect(stateOf(bench)?.error).toMatch(/larger than 4096 bytes; raise maxBytes/);
    expect(bench.metered).toEqual(['unread edge too-large']);
    await bench.scrape(answer(padded(MOST)));
    expect([stateOf(bench)?.state, count(bench)]).toEqual(['reachable', 3]);
  });

  it.each(['NaN', 'Infinity', '-Infinity', '+Inf', '-Inf', '1e999', '-1e999', '-5', 'null', '"5"', ''])(
    'with %s in the place of a count counts nothing, and the next one counts',
    async odd => {
      const bench = await start();
      await bench.scrape(answer(format.at(1004)));
      await bench.scrape(answer(format.at(odd)));
      expect(count(bench)).toBe(4);
      await bench.scrape(answer(format.at(1011)));
      expect(count(bench)).toBe(11);
      expect(bench.status(format.input).health).toBe('Green');
    },
  );

  if (format.engine === 'vector')
    it('with a series twice counts it once, and with a time of creation no event', async () => {
      const bench = await start();
      const more = `${vectorLine(5000, '')}${vectorLine('1.7e9', '').replace('_total', '_created')}`;
      const at = (count: number): string => format.at(count).replace(filler, more + filler);
      await bench.scrape(answer(at(1004)));
      await bench.scrape(answer(at(1011)));
      expect([count(bench), stateOf(bench)?.state]).toEqual([11, 'reachable']);
    });

  if (format.engine === 'vector')
    it('with times far in the past and in the future goes on when they are right again', async () => {
      const bench = await start();
      for (const [at, time] of ['0', '1', '99999999999999', '-5', '1e300'].entries())
        await bench.scrape(answer(format.at(1001 + at, ` ${time}`)));
      const before = count(bench) ?? Number.NaN;
      expect(before).toBeLessThanOrEqual(5);
      await bench.scrape(answer(format.at(1020, ' 1800000000000')));
      await bench.scrape(answer(format.at(1027, ' 1800000010000')));
      expect(count(bench)).toBe(27);
    });
});
