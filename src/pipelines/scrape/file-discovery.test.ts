import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DataFile } from '../settings.ts';
import { createFileDiscovery, MAX_INSTANCES } from './file-discovery.ts';

const listed = (value: unknown, engine: Parameters<typeof createFileDiscovery>[0] = 'vector') =>
  createFileDiscovery(engine)(new Map([['hosts.yml', { value }]]));

it('makes an address of each target, by the labels that Prometheus has for it', () => {
  const { instances, faults } = listed([
    { targets: ['a:9598', '[::1]:9598'], labels: { env: 'prod' } },
    {
      targets: ['b:443'],
      labels: {
        __scheme__: 'https',
        __metrics_path__: '/federate',
        '__param_match[]': '{job="x"}',
        instance: 'b',
      },
    },
  ]);
  expect(faults).toEqual([]);
  expect(instances).toEqual([
    { url: 'http://a:9598/metrics', name: 'a:9598' },
    { url: 'http://[::1]:9598/metrics', name: '[::1]:9598' },
    { url: 'https://b/federate?match%5B%5D=%7Bjob%3D%22x%22%7D', name: 'b' },
  ]);
});

it.each([
  ['logstash', 'http://a:1/_node/stats'],
  ['fluentd', 'http://a:1/api/plugins.json'],
  ['fluent-bit', 'http://a:1/api/v2/metrics/prometheus'],
  ['otelcol', 'http://a:1/metrics'],
] as const)('asks %s where it shows its metrics unless a label says otherwise', (engine, url) => {
  expect(listed([{ targets: ['a:1'] }], engine).instances).toEqual([{ url, name: 'a:1' }]);
});

it('reads each address once, and distinguishes instances of one name by their addresses', () => {
  const { instances } = listed([
    { targets: ['a:1', 'a:1'] },
    { targets: ['a:1'], labels: { __metrics_path__: '/second' } },
  ]);
  expect(instances).toEqual([
    { url: 'http://a:1/metrics', name: 'a:1' },
    { url: 'http://a:1/second', name: 'a:1/second' },
  ]);
});

it.each([
  ['nothing', undefined, /holds nothing; write \[\]/],
  ['a map', { targets: ['a:1'] }, /no list of targets with labels/],
  ['an unknown key', [{ targets: ['a:1'], label: {} }], /no list of targets with labels: 0/],
  ['a number as target', [{ targets: [5] }], /0\.targets\.0/],
  ['a label that is no text', [{ targets: ['a:1'], labels: { x: 1 } }], /0\.labels\.x/],
  ['a whole url', [{ targets: ['http://a:1/'] }], /'http:\/\/a:1\/' with its labels makes no address/],
  ['a name and a password', [{ targets: ['ann:secret@a:1'] }], /makes no address/],
  ['a port that is none', [{ targets: ['a:99999'] }], /makes no address/],
  ['another scheme', [{ targets: ['a:1'], labels: { __scheme__: 'file' } }], /http or https as __scheme__/],
  ['a path without /', [{ targets: ['a:1'], labels: { __metrics_path__: 'x' } }], /makes no address/],
])('refuses a list with %s, and says where', (_, value, fault) => {
  expect(listed(value)).toEqual({ instances: [], faults: [expect.stringMatching(fault)] });
  expect(listed(value).faults[0]).toMatch(/^hosts\.yml: /);
});

it('keeps what a file listed before while it is broken, and takes other files as they are', () => {
  const lists = createFileDiscovery('vector');
  const read = (one: DataFile, two: DataFile) => {
    const { instances, faults } = lists(new Map(Object.entries({ one, two })));
    return [instances.map(({ name }) => name), faults];
  };
  const good = (host: string) => ({ value: [{ targets: [host] }] });
  expect(read(good('a'), good('b'))).toEqual([['a', 'b'], []]);
  expect(read({ error: 'cannot be read' }, good('c'))).toEqual([['a', 'c'], ['one: cannot be read']]);
  expect(read({ value: [] }, good('c'))).toEqual([['c'], []]);
});

it('reads no more instances than there may be, and says so', () => {
  const targets = Array.from({ length: MAX_INSTANCES + 3 }, (_, at) => `h${at}:1`);
  const read = listed([{ targets }]);
  expect(read.instances).toHaveLength(MAX_INSTANCES);
  expect(read.faults).toEqual([expect.stringContaining(`${MAX_INSTANCES + 3} instances are listed`)]);
});

it('takes or refuses any value, and makes addresses of http alone', () => {
  const group = fc.record({
    targets: fc.array(fc.string()),
    labels: fc.dictionary(
      fc.constantFrom('__scheme__', '__metrics_path__', '__param_a', 'instance'),
      fc.string(),
    ),
  });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.array(group)), value => {
      const { instances, faults } = listed(value);
      expect(instances.length === 0 || faults.length === 0).toBe(true);
      for (const { url } of instances)
        expect(new URL(url)).toMatchObject({ protocol: 'http:', username: '', password: '' });
    }),
  );
});
