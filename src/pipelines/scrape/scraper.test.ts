import { describe, expect, it } from 'vitest';
import { type Bench, NO_FILES, startBenchWith } from '../../../test/helpers/monitor.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import type { DataFile, OperatorFiles } from '../settings.ts';

const page = (value: number): string =>
  `vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} ${value}\n`;
const urlOf = (host: string): string => `http://${host}/metrics`;
const list = (...targets: string[]): DataFile => ({ value: [{ targets }] });

interface Listed {
  readonly bench: Bench;
  /** The content of the file from now on. */
  change(file: DataFile): void;
  serve(host: string, answer: string | HttpFailure): void;
  pass(): Promise<void>;
  readonly watching: () => number;
}

/** A pipeline whose instances one file lists. */
async function listing(first: DataFile, more: object = {}): Promise<Listed> {
  let file = first;
  const takers = new Set<(files: ReadonlyMap<string, DataFile>) => void>();
  const files: OperatorFiles = {
    ...NO_FILES,
    watch(paths, take) {
      expect(paths).toEqual(['hosts.yml']);
      takers.add(take);
      take(new Map([['hosts.yml', file]]));
      return () => takers.delete(take);
    },
  };
  const bench = await startBenchWith(
    { files },
    { id: 'edge', engine: 'vector', files: ['hosts.yml'], ...more },
  );
  return {
    bench,
    change(next) {
      file = next;
      for (const take of takers) take(new Map([['hosts.yml', next]]));
    },
    serve: (host, answer) => bench.pages.serve(urlOf(host), answer),
    pass: () => bench.clock.advance(10_000),
    watching: () => takers.size,
  };
}

const state = ({ bench }: Listed) => bench.monitor.components.pipeline('edge');

describe('a pipeline whose instances a file lists', () => {
  it('has a replica for each of them, and adds up what they count', async () => {
    const listed = await listing(list('a:1', 'b:1'));
    listed.serve('a:1', page(100));
    listed.serve('b:1', page(900));
    await listed.pass();
    listed.serve('a:1', page(103));
    listed.serve('b:1', page(904));
    await listed.pass();
    expect(listed.bench.status('app')).toMatchObject({ replicas: 2, metrics: { in_events: 7 } });
    expect(state(listed)).toMatchObject({ state: 'reachable', error: null, instances: 2, url: null });
  });

  it('reads those that are added, and no longer those that are removed', async () => {
    const listed = await listing(list('a:1'));
    for (const host of ['a:1', 'b:1']) listed.serve(host, page(5));
    await listed.pass();
    listed.change(list('b:1'));
    const before = listed.bench.pages.requests.length;
    await listed.pass();
    await listed.pass();
    expect(listed.bench.pages.requests.slice(before).map(({ url }) => url)).toEqual([
      urlOf('b:1'),
      urlOf('b:1'),
    ]);
    expect(listed.bench.status('app')).toMatchObject({ replicas: 1, metrics: { in_events: 0 } });
  });

  it('goes on with one that stays when others come and go', async () => {
    const listed = await listing(list('a:1', 'b:1'));
    listed.serve('a:1', page(5));
    await listed.pass();
    listed.change(list('c:1', 'a:1'));
    listed.serve('a:1', page(8));
    await listed.pass();
    expect(listed.bench.status('app').metrics.in_events).toBe(3);
  });

  it('reads on as before while the file is broken, and says so until it is mended', async () => {
    const listed = await listing(list('a:1'));
    listed.serve('a:1', page(5));
    await listed.pass();
    listed.change({ error: 'line 1: YAML: bad indentation' });
    listed.serve('a:1', page(9));
    await listed.pass();
    expect(listed.bench.status('app').metrics.in_events).toBe(4);
    expect(state(listed)).toMatchObject({
      state: 'reachable',
      error: 'hosts.yml: line 1: YAML: bad indentation',
    });
    listed.change(list('a:1'));
    expect(state(listed)?.error).toBeNull();
  });

  it('is unreachable while its file cannot be read and none was read before', async () => {
    const listed = await listing({ error: 'there is no such file' });
    expect(state(listed)).toMatchObject({
      state: 'unreachable',
      unreachableSince: listed.bench.clock.now(),
      error: 'hosts.yml: there is no such file',
    });
    listed.change(list('a:1'));
    listed.serve('a:1', page(1));
    await listed.pass();
    expect(state(listed)).toMatchObject({ state: 'reachable', unreachableSince: null, error: null });
  });

  it('is reachable while one of its instances is, and reports how many are not', async () => {
    const down = new HttpFailure('refused', 'connection refused');
    const listed = await listing(list('a:1', 'b:1'));
    listed.serve('a:1', page(1));
    listed.serve('b:1', down);
    await listed.pass();
    expect(state(listed)).toMatchObject({
      state: 'reachable',
      error: '1 of 2 instances cannot be read, the first: http://b:1: connection refused',
    });
    listed.serve('a:1', down);
    await listed.pass();
    const since = listed.bench.clock.now() - 5000;
    await listed.pass();
    expect(state(listed)).toMatchObject({ state: 'unreachable', unreachableSince: since });
    await listed.pass();
    expect(listed.bench.status('app').health).toBe('Red');
  });

  it('keeps its counters over a restart', async () => {
    const listed = await listing(list('a:1', 'b:1'));
    for (const host of ['a:1', 'b:1']) listed.serve(host, page(5));
    await listed.pass();
    await listed.bench.restart();
    for (const host of ['a:1', 'b:1']) listed.serve(host, page(7));
    await listed.pass();
    expect(listed.bench.status('app')).toMatchObject({ replicas: 2, metrics: { in_events: 4 } });
  });

  it('is watched no more when it is gone', async () => {
    const listed = await listing(list('a:1'));
    expect(listed.watching()).toBe(1);
    listed.bench.configure();
    expect(listed.watching()).toBe(0);
  });

  it('spreads the first readings of its instances over the interval', async () => {
    const listed = await listing(list('a:1', 'b:1'));
    await listed.bench.clock.advance(4999);
    expect(listed.bench.pages.requests).toHaveLength(0);
    await listed.bench.clock.advance(1);
    expect(listed.bench.pages.requests).toHaveLength(2);
  });
});

it.each([
  ['timeout', new HttpFailure('timeout', 'late'), 'timeout'],
  ['another status', { status: 500 }, 'status'],
  ['a page over the limit', { body: Buffer.alloc(1025) }, 'too-large'],
  ['garbage', '<html>', 'format'],
] as const)('counts readings that brought nothing: %s', async (_, answer, reason) => {
  const bench = await startBenchWith(
    {},
    { id: 'edge', engine: 'vector', url: 'http://edge.test/metrics', maxBytes: 1024 },
  );
  await bench.scrape(answer);
  expect(bench.metered).toEqual([`unread edge ${reason}`]);
});

it('says what is wrong with the files of tls, asks for nothing without them, and uses old ones beside a fault', async () => {
  let found: ReturnType<OperatorFiles['tls']> = {
    tls: undefined,
    fault: 'tls.certPath: there is no file /x',
  };
  const bench = await startBenchWith(
    { files: { ...NO_FILES, tls: () => found } },
    {
      id: 'edge',
      engine: 'vector',
      url: 'https://edge.test/metrics',
      tls: { certPath: 'x', privKeyPath: 'y' },
    },
  );
  await bench.scrape(page(1));
  expect(bench.pages.requests).toHaveLength(0);
  expect(bench.metered).toEqual(['unread edge files']);
  expect(bench.monitor.components.pipeline('edge')).toMatchObject({
    state: 'unreachable',
    error: 'https://edge.test: tls.certPath: there is no file /x',
  });
  found = { tls: { fingerprint: 'old' }, fault: 'tls.privKeyPath: the key is not that of the certificate' };
  bench.pages.serve('https://edge.test/metrics', page(1));
  await bench.clock.advance(10_000);
  expect(bench.pages.requests[0]).toMatchObject({ tls: { fingerprint: 'old' }, skipsVerification: false });
  expect(bench.monitor.components.pipeline('edge')).toMatchObject({ state: 'reachable', error: found.fault });
});
