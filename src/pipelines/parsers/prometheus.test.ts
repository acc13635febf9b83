import fc from 'fast-check';
import { Counter, Gauge, Registry, type RegistryContentType } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { sample } from '../../../test/helpers/pages.ts';
import { atOnce } from '../../lib/slices.ts';
import { type ParsedSeries, parseSeries, readPrometheus } from './prometheus.ts';

interface Line extends ParsedSeries {
  readonly value: number;
  readonly time: number;
}

function read(text: string, openMetrics = false) {
  const lines: Line[] = [];
  const result = atOnce(
    readPrometheus(Buffer.from(text), openMetrics, {
      wants: () => true,
      sample(text, value, time) {
        const series = parseSeries(text);
        if (series === undefined) return 'malformed';
        lines.push({ ...series, value, time });
        return 'taken';
      },
    }),
  );
  return { lines, ...result };
}

const one = (text: string, openMetrics = false): Line | undefined => read(text, openMetrics).lines[0];

describe('readPrometheus', () => {
  it.each([
    ['in_total 5', 'in_total', {}, 5],
    ['in_total{} 5', 'in_total', {}, 5],
    ['in_total{a="b"} 5', 'in_total', { a: 'b' }, 5],
    ['in_total{a="b",} 5', 'in_total', { a: 'b' }, 5],
    ['in_total { a = "b" , c = "d" } 5', 'in_total', { a: 'b', c: 'd' }, 5],
    ['  in_total\t5\r', 'in_total', {}, 5],
    ['in_total{a="x\\"y\\\\z\\nw"} 5', 'in_total', { a: 'x"y\\z\nw' }, 5],
    ['in_total{a="C:\\dir"} 5', 'in_total', { a: 'C:\\dir' }, 5],
    ['in_total{a="}{,= #"} 5', 'in_total', { a: '}{,= #' }, 5],
    ['{"my.in",a="b"} 5', 'my.in', { a: 'b' }, 5],
    ['{"my.in"} 5', 'my.in', {}, 5],
    ['in_total{"my.label"="b"} 5', 'in_total', { 'my.label': 'b' }, 5],
    ['in_total{a="b"}5', 'in_total', { a: 'b' }, 5],
    ['in_total 1.5e3', 'in_total', {}, 1500],
    ['g +Inf', 'g', {}, Number.POSITIVE_INFINITY],
    ['g -inf', 'g', {}, Number.NEGATIVE_INFINITY],
    ['g Nan', 'g', {}, Number.NaN],
    ['in_total{a="b"} 5 # {trace="x"} 1 1.5', 'in_total', { a: 'b' }, 5],
    ['in{__proto__="x"} 1', 'in', { ['__proto__']: 'x' }, 1],
  ])('reads %j', (text, name, labels, value) => {
    const line = one(text);
    expect(line?.name).toBe(name);
    expect([...(line?.labels ?? [])]).toEqual(Object.entries(labels));
    expect(line?.value).toBe(value);
    expect(line?.time).toBeNaN();
  });

  it('takes timestamps as milliseconds, and as seconds in OpenMetrics', () => {
    expect(one('a 1 1795824483123')?.time).toBe(1795824483123);
    expect(one('a 1 1795824483.5\n# EOF\n', true)?.time).toBe(1795824483500);
  });

  it.each([
    'a',
    'a b',
    'a 1 b',
    'a 1 2 3',
    'a{b="c" 1',
    'a{b="c} 1',
    'a{b=c} 1',
    'a{b="c"}',
    'a{b="c",b="d"} 1',
    '9a 1',
    '{a="b"} 1',
    '{"a","b"} 1',
    '<html>',
    'a{b="c"}d 1',
  ])('skips and counts the bad line %j and reads on', text => {
    const { lines, bad, error } = read(`${text}\ngood 1\n`);
    expect(lines.map(line => line.name)).toEqual(['good']);
    expect(bad).toBe(1);
    expect(error).toBeUndefined();
  });

  it('refuses a page without a single sample that is not empty', () => {
    expect(read('<html>\n<body>no</body>').error).toMatch(/not Prometheus text: line 1/);
    expect(read('# just a comment\n\nNot Found').error).toMatch(/not Prometheus text: line 3/);
    expect(read('').error).toBeUndefined();
    expect(read('# HELP a b\n# TYPE a counter\n').error).toBeUndefined();
  });

  it.each([
    ['a line feed', 'x\\ny', 'x\ny'],
    ['a quote', 'x\\"y', 'x"y'],
    ['a backslash', 'x\\\\y', 'x\\y'],
    ['a backslash before an n', 'x\\\\ny', 'x\\ny'],
    ['a backslash at its end', 'x\\\\', 'x\\'],
    ['an escape that there is none of', 'x\\ty', 'x\\ty'],
    ['a closing brace and a comma', 'x"},y="'.replaceAll('"', '\\"'), 'x"},y="'],
    ['text of another script', 'Größe 日本語 🚰', 'Größe 日本語 🚰'],
  ])('reads a label with %s', (_, written, text) => {
    expect(one(`a{b="${written}",c="d"} 1`)?.labels).toEqual(
      new Map([
        ['b', text],
        ['c', 'd'],
      ]),
    );
  });

  it('reads OpenMetrics with units, exemplars and times of creation, each line for itself', () => {
    const { lines, bad, error } = read(
      [
        '# TYPE in_bytes counter',
        '# UNIT in_bytes bytes',
        '# HELP in_bytes what came \\"in\\"',
        'in_bytes_total{a="b"} 17.0 1795824483.123 # {trace_id="x # y"} 0.67 1795824482.1',
        'in_bytes_created{a="b"} 1.7e9',
        '# TYPE seconds histogram',
        'seconds_bucket{le="0.1"} 8 # {} 0.054',
        'seconds_bucket{le="+Inf"} 17 # {trace_id="z"} 9.8 1795824482.1',
        'seconds_count 17',
        'seconds_sum 324789.3',
        'info{version="1"} 1',
        '# EOF',
        '',
      ].join('\n'),
      true,
    );
    expect([bad, error]).toEqual([0, undefined]);
    expect(lines.map(({ name, value }) => [name, value])).toEqual([
      ['in_bytes_total', 17],
      ['in_bytes_created', 1_700_000_000],
      ['seconds_bucket', 8],
      ['seconds_bucket', 17],
      ['seconds_count', 17],
      ['seconds_sum', 324_789.3],
      ['info', 1],
    ]);
    expect(lines[0]?.time).toBe(1_795_824_483_123);
  });

  it('skips native histograms, whose value is no number, and reads on', () => {
    const native =
      'seconds{a="b"} {count:17,sum:324789.3,schema:3,zero_threshold:1e-4,zero_count:0,positive_spans:[0:2],positive_buckets:[5,7]}';
    const { lines, bad, error } = read(`${native}\ngood 1\nseconds {count:1}\n`);
    expect(lines.map(({ name }) => name)).toEqual(['good']);
    expect([bad, error]).toEqual([2, undefined]);
  });

  it('refuses OpenMetrics text that was cut', () => {
    expect(read('a_total 1\nb_total 2', true)).toMatchObject({ samples: 0, error: /cut short/ });
    expect(read('a_total 1\n# EOF', true)).toMatchObject({ samples: 1, error: undefined });
  });

  it('skips lines and labels beyond its limits', () => {
    const many = Array.from({ length: 65 }, (_, n) => `l${n}="x"`).join(',');
    const { bad, lines } = read(
      `a{${many}} 1\na{b="${'x'.repeat(70_000)}"} 1\na{b="${'x'.repeat(5000)}"} 1\na 1`,
    );
    expect(bad).toBe(3);
    expect(lines).toHaveLength(1);
  });

  it.each([
    ['collectd-5.12-write_prometheus.txt', false, 8],
    ['fluent-bit-5.1-api-v2-metrics-prometheus.txt', false, 112],
    ['otel-js-prometheus-exporter.txt', false, 2],
    ['prom-client-openmetrics.txt', true, 7],
    ['prometheus-2.42-federate.txt', false, 4],
    ['prometheus-2.42-self-remote_write-one-down.txt', false, 22],
  ])('reads every line of %s', (file, openMetrics, samples) => {
    const page = sample(file);
    const expected = page.split('\n').filter(line => line.trim() !== '' && !line.startsWith('#')).length;
    expect(read(page, openMetrics)).toMatchObject({ samples: expected, bad: 0, error: undefined });
    expect(expected).toBe(samples);
  });

  const text = fc.string({ unit: 'binary', maxLength: 12 });
  const entry = fc.record({
    a: text,
    b: text,
    value: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
  });

  it("reads back whatever prom-client's own text says", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(entry, { selector: ({ a, b }) => JSON.stringify([a, b]), maxLength: 8 }),
        fc.boolean(),
        async (entries, openMetrics) => {
          const registry: Registry<RegistryContentType> = new Registry();
          if (openMetrics) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
          const shape = { help: 'x', labelNames: ['a', 'b'], registers: [registry] };
          const counter = new Counter({ name: 'events', ...shape });
          const gauge = new Gauge({ name: 'depth', ...shape });
          for (const { a, b, value } of entries) {
            counter.inc({ a, b }, value);
            gauge.set({ a, b }, value);
          }
          const { lines, bad } = read(await registry.metrics(), openMetrics);
          expect(bad).toBe(0);
          for (const prefix of ['events', 'depth'])
            expect(
              lines
                .filter(line => line.name.startsWith(prefix))
                .map(line => ({ a: line.labels.get('a'), b: line.labels.get('b'), value: line.value })),
            ).toEqual(entries);
        },
      ),
    );
  });

  it('reads a page in pieces as if it were one text', () => {
    const lengths = fc.array(fc.oneof(fc.nat(50), fc.nat(5000), fc.constant(33_000)), { maxLength: 40 });
    fc.assert(
      fc.property(lengths, fc.boolean(), (sizes, isEnded) => {
        const labels = sizes.map((size, at) => `${at}${'ü'.repeat(size / 2)}`);
        const text = labels.map(label => `# x\na{b="${label}"} 1`).join('\n') + (isEnded ? '\n' : '');
        const seen: string[] = [];
        atOnce(
          readPrometheus(Buffer.from(text), false, {
            wants: () => true,
            sample: series => {
              seen.push(series);
              return 'taken';
            },
          }),
        );
        expect(seen).toEqual(labels.map(label => `a{b="${label}"}`));
      }),
    );
    const { error } = read(`${'# comment\n'.repeat(9000)}no metrics here`);
    expect(error).toMatch(/: line 9001 is/);
  });

  it('says the same whatever order it was led to expect', () => {
    const names = ['a{x="1"}', 'a{x="2"}', 'b{x="1"}', 'b{x="1",y="}"}', 'b', 'b {x="1"}'];
    const list = fc.array(fc.constantFrom(...names), { maxLength: 12 });
    fc.assert(
      fc.property(list, list, (page, foreseen) => {
        const text = page.map((series, at) => `${series} ${at}\n`).join('');
        const seen: unknown[] = [];
        const reader = (lines: unknown[]) => ({
          wants: () => true,
          sample: (series: string, value: number, _: number, at: number) => {
            lines.push([at === -1 ? series : foreseen[at], value]);
            return 'taken' as const;
          },
        });
        const expected = {
          count: foreseen.length,
          lengthAt: (at: number, page: string, from: number) => {
            const series = foreseen[at] ?? '';
            return page.startsWith(series, from) ? series.length : -1;
          },
        };
        atOnce(readPrometheus(Buffer.from(text), false, { ...reader(seen), expected }));
        const plain: unknown[] = [];
        atOnce(readPrometheus(Buffer.from(text), false, reader(plain)));
        expect(seen).toEqual(plain);
        expect(seen).toHaveLength(page.length);
      }),
    );
  });

  it('never throws and accounts for every line of any text', () => {
    const piece = fc.constantFrom(
      'a',
      '{',
      '}',
      '"',
      '\\',
      '=',
      ',',
      ' ',
      '\n',
      '#',
      '1',
      'NaN',
      '# EOF',
      '\r',
      'é',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), pieces => {
        const page = pieces.join('');
        const { samples, bad } = read(page);
        const lines = page.split('\n').filter(line => !/^[\t\r ]*(#|$)/.test(line));
        expect(samples + bad).toBe(lines.length);
      }),
      { numRuns: 2000 },
    );
  });
});
