import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sample } from '../../../test/helpers/pages.ts';
import { readFluentd } from './fluentd.ts';
import { readLogstash } from './logstash.ts';

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
