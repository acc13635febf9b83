import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sample } from '../../../test/helpers/pages.ts';
import { parseJsonInSlices } from '../../lib/json.ts';
import { atOnce } from '../../lib/slices.ts';
import { readFluentd as readFluentdInSlices } from './fluentd.ts';
import { JSON_ENGINES, profileOf } from './index.ts';
import { readLogstash as readLogstashInSlices } from './logstash.ts';

const readFluentd = (text: string) => atOnce(readFluentdInSlices(text));
const readLogstash = (text: string) => atOnce(readLogstashInSlices(text));

const FORMATS = [
  ['Logstash', readLogstash, sample('logstash-8-node-stats.json'), /^not Logstash's node stats: /],
  ['Fluentd', readFluentd, sample('fluentd-1.19-monitor_agent-plugins.json'), /^not the page of Fluentd's/],
] as const;

describe.each(FORMATS)('the page of %s', (_, read, page, refusal) => {
  it.each([
    ['nothing', ''],
    ['no JSON', '<html><h1>It works</h1>'],
    ['another kind of value', '[1]'],
    ['another object', '{"status":"ok"}'],
    ['null', 'null'],
    ['a key twice', '{"pipelines":{},"pipelines":{},"plugins":[],"plugins":[]}'],
    ['no end of nesting', '['.repeat(10_000) + ']'.repeat(10_000)],
  ])('is refused with a reason when it is %s', (__, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
    expect(() => read(text)).toThrow(refusal);
  });

  it('is refused or read whatever was done to its text', () => {
    const change = fc.record({
      at: fc.nat({ max: page.length - 1 }),
      by: fc.string({ maxLength: 5 }),
      cut: fc.nat({ max: 40 }),
      end: fc.nat({ max: page.length }),
    });
    fc.assert(
      fc.property(change, ({ at, by, cut, end }) => {
        const text = (page.slice(0, at) + by + page.slice(at + cut)).slice(0, Math.max(end, at));
        expectReadOrRefused(read, text);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused or read with any JSON in the place of its values', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const plugins = fc.array(
      fc.oneof(
        value,
        fc.record({
          plugin_id: value,
          plugin_category: value,
          type: value,
          emit_records: value,
          retry: value,
        }),
      ),
    );
    const pipelines = fc.dictionary(
      fc.string(),
      fc.oneof(
        value,
        fc.record({
          plugins: fc.record({
            inputs: value,
            outputs: fc.array(fc.record({ id: value, name: value, events: value })),
          }),
          queue: value,
        }),
      ),
    );
    fc.assert(
      fc.property(fc.record({ plugins, pipelines, status: value, ephemeral_id: value }), body =>
        expectReadOrRefused(read, JSON.stringify(body)),
      ),
      { numRuns: 500 },
    );
  });
});

function expectReadOrRefused(read: (text: string) => object, text: string): void {
  try {
    expect(read(text)).toMatchObject({ bad: expect.any(Number) });
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid-request' });
  }
}

it('skips a plugin that cannot be read, counts it, and takes the others', () => {
  const { plugins } = JSON.parse(sample('fluentd-1.19-monitor_agent-plugins.json'));
  const fluentd = readFluentd(
    JSON.stringify({ plugins: [...plugins, { ...plugins[1], emit_records: 'many' }] }),
  );
  expect([fluentd.plugins.length, fluentd.bad]).toEqual([4, 1]);
  const page = JSON.parse(sample('logstash-8-node-stats.json'));
  page.pipelines.web.plugins.inputs.push({ id: 5 });
  page.pipelines.strange = 'yes';
  const logstash = readLogstash(JSON.stringify(page));
  expect(logstash.bad).toBe(2);
  expect(logstash.stats).toEqual(readLogstash(sample('logstash-8-node-stats.json')).stats);
});

it('refuses a page of which no plugin can be read', () => {
  expect(() => readFluentd('{"plugins":[{}]}')).toThrow(/none of its plugins/);
  expect(() => readLogstash('{"pipelines":{"a":5}}')).toThrow(/none of its plugins/);
});

/** An engine, how many entries its page lists, and the page: of 20,000 numbers. */
const LARGE: readonly (readonly [string, number, string])[] = [
  [
    'logstash',
    20_000,
    JSON.stringify({ pipelines: Object.fromEntries(list(20_000, at => [`p${at}`, pipelineOf(at)])) }),
  ],
  [
    'logstash',
    1,
    JSON.stringify({ pipelines: { one: { plugins: { inputs: list(20_000, inputOf), outputs: [] } } } }),
  ],
  ['fluentd', 20_000, JSON.stringify({ plugins: list(20_000, pluginOf) })],
  [
    'filebeat',
    20_000,
    JSON.stringify(list(20_000, at => ({ id: `i${at}`, input: 'log', events_processed_total: at }))),
  ],
];

function list<Item>(count: number, make: (at: number) => Item): Item[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

function inputOf(at: number): object {
  return { id: `i${at}`, name: 'beats', events: { out: at } };
}

function pipelineOf(at: number): object {
  return { plugins: { inputs: [inputOf(at)], outputs: [] } };
}

function pluginOf(at: number): object {
  return { plugin_id: `p${at}`, plugin_category: 'input', type: 'tail', emit_records: at };
}

it.each(LARGE)(
  'reads a large page of %s in slices of at most some thousand entries',
  (engine, listed, text) => {
    const work = profileOf({ engine }).createReader?.()(text);
    let slices = 1;
    let next = work?.next();
    for (; next?.done !== true; next = work?.next()) slices++;
    expect(next.value).toMatchObject({
      bad: 0,
      listed,
    });
    expect(next.value?.stats).toHaveLength(20_000);
    // Those of reading JSON, and then one for each thousand entries.
    const parsing = parseJsonInSlices(text);
    let ofJson = 1;
    while (parsing.next().done !== true) ofJson++;
    expect(slices - ofJson).toBeGreaterThanOrEqual(19);
  },
);

it('has a large page of every engine whose page is JSON', () => {
  expect(new Set(LARGE.map(([engine]) => engine))).toEqual(new Set(JSON_ENGINES));
});
