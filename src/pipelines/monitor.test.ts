import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, startBench, URL_OF, vectorAt } from '../../test/helpers/monitor.ts';
import { HttpFailure } from '../lib/http/failure.ts';

const HOUR = 3_600_000;

const line = (id: string, value: number, extra = ''): string =>
  `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog"${extra}} ${value}\n`;
/** Keeps a page from being empty. */
const other = 'vector_uptime_seconds 1\n';

describe('a pipeline that is read', () => {
  it('finds inputs by themselves, and begins to count with the first reading', async () => {
    const bench = await startBench(vectorAt('edge'));
    expect(bench.monitor.components.pipeline('edge')?.state).toBe('waiting');
    await bench.scrape(line('app', 1000));
    expect(bench.find('app')).toEqual({
      group: 'default',
      pipeline: 'edge',
      engine: 'vector',
      kind: 'input',
      type: 'syslog',
      engineId: 'app',
      id: 'app',
    });
    expect(bench.status('app')).toMatchObject({
      health: 'Green',
      metrics: { in_events: 0 },
      lastDataAt: null,
    });
    await bench.scrape(line('app', 1030));
    expect(bench.status('app')).toMatchObject({
      metrics: { in_events: 30 },
      lastDataAt: bench.clock.now() - 5000,
    });
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({
      state: 'reachable',
      error: null,
      instances: 1,
      components: 1,
    });
  });

  it('counts silence from the last reading that brought data', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1000));
    expect(bench.status('app').silentMs).toBe(5000);
    await bench.scrape(line('app', 1000));
    expect(bench.status('app').silentMs).toBe(15_000);
    await bench.scrape(line('app', 1001));
    expect(bench.status('app').silentMs).toBe(5000);
  });

  it('counts a series that begins later in full', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(other);
    await bench.scrape(other + line('late', 7));
    expect(bench.status('late')).toMatchObject({ metrics: { in_events: 7 }, silentMs: 5000 });
    expect(bench.status('late').lastDataAt).not.toBeNull();
  });

  it('counts what a restarted engine counted since', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1000));
    await bench.scrape(line('app', 1010));
    await bench.scrape(line('app', 4));
    expect(bench.status('app').metrics.in_events).toBe(14);
  });

  describe('whose page shows when its process began', () => {
    const page = (started: number, ...counts: number[]): string =>
      counts
        .map((count, at) => `fluentbit_input_records_total{name="tcp.${at}"} ${count}\n`)
        .join('')
        .concat(`fluentbit_process_start_time_seconds{hostname="h"} ${started / 1000}\n`);
    const startFluentBit = (): Promise<Bench> =>
      startBench({ id: 'edge', engine: 'fluent-bit', url: URL_OF('edge') });

    it('is seen to have restarted behind values that grew', async () => {
      const bench = await startFluentBit();
      const begun = bench.clock.now();
      await bench.scrape(page(begun - HOUR, 5));
      await bench.scrape(page(begun + 8000, 9));
      expect(bench.status('tcp.0').metrics.in_events).toBe(9);
    });

    it('is seen to have restarted behind a value that grew where another one fell', async () => {
      const bench = await startFluentBit();
      const begun = bench.clock.now();
      await bench.scrape(page(begun - HOUR, 100, 900));
      await bench.scrape(page(begun + 8000, 105, 800));
      expect(['tcp.0', 'tcp.1'].map(id => bench.status(id).metrics.in_events)).toEqual([105, 800]);
    });

    it('has not restarted when its start moves and its counters go on', async () => {
      const bench = await startFluentBit();
      const started = bench.clock.now() - HOUR;
      for (const [at, count] of [5_000_250, 5_000_300, 5_000_310, 5_000_400, 5_000_700].entries())
        await bench.scrape(page(started + (at % 2) * 100_000, count));
      expect(bench.status('tcp.0').metrics.in_events).toBe(450);
      await bench.scrape(page(bench.clock.now() + 3000, 5_000_710));
      expect(bench.status('tcp.0').metrics.in_events).toBe(460);
    });

    it('is seen to have restarted while Headgate was down', async () => {
      const bench = await startFluentBit();
      await bench.scrape(page(bench.clock.now() - HOUR, 5));
      await bench.restart(2 * HOUR);
      await bench.scrape(page(bench.clock.now() - HOUR, 9));
      expect(bench.status('tcp.0').metrics.in_events).toBe(9);
    });
  });

  it('is seen to have restarted where its page shows how long it has run', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(`vector_uptime_seconds 500\n${line('app', 100)}`);
    await bench.scrape(`vector_uptime_seconds 510\n${line('app', 130)}`);
    await bench.scrape(`vector_uptime_seconds 4\n${line('app', 150)}`);
    expect(bench.status('app').metrics.in_events).toBe(180);
  });

  it('takes a series that vanished for one that counts 0, and for a new one when it comes back', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100) + line('web', 5));
    await bench.scrape(line('app', 101));
    expect(bench.status('web')).toMatchObject({
      health: 'Unknown',
      presence: 'gone',
      error: 'its page no longer names it',
      metrics: { in_events: 0 },
    });
    await bench.scrape(line('app', 102) + line('web', 5));
    expect(bench.status('web').metrics.in_events).toBe(5);
    expect(bench.status('web').silentMs).toBe(5000);
  });

  it('does not take a page without any sample for one on which everything vanished', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.scrape('');
    await bench.scrape(line('app', 103));
    expect(bench.status('app').metrics.in_events).toBe(3);
  });

  it('adds series that differ in a label of no meaning after their increases are known', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100, ',peer="a"') + line('app', 50, ',peer="b"'));
    await bench.scrape(line('app', 101, ',peer="a"'));
    expect(bench.status('app').metrics.in_events).toBe(1);
  });

  it('ignores the second of two equal series on a page', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.scrape(line('app', 101) + line('app', 500));
    expect(bench.status('app').metrics.in_events).toBe(1);
  });

  it('counts what a page says now, whatever times its lines have: a host may have booted without a clock', async () => {
    const bench = await startBench(vectorAt('edge'));
    const stamped = (value: number, time: number): string =>
      line('app', value).trimEnd().concat(` ${time}\n`);
    const now = bench.clock.now();
    await bench.scrape(stamped(50_110, now));
    await bench.scrape(stamped(50_120, now));
    await bench.scrape(stamped(20, now - HOUR));
    await bench.scrape(stamped(40, now - HOUR + 1000));
    expect(bench.status('app')).toMatchObject({ metrics: { in_events: 50 }, silentMs: 5000 });
  });

  it('goes on where a page in between showed nothing of its inputs and outputs', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(other + line('app', 5_000_000));
    await bench.scrape(other);
    await bench.scrape(other + line('app', 5_000_030));
    expect(bench.status('app').metrics.in_events).toBe(30);
    await bench.restart();
    await bench.scrape(other);
    await bench.scrape(other + line('app', 5_000_040));
    expect(bench.status('app').metrics.in_events).toBe(40);
  });

  it('treats each instance a federating Prometheus names as a replica that begins by itself', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100, ',instance="a"'));
    await bench.scrape(line('app', 103, ',instance="a"') + line('app', 9000, ',instance="b"'));
    expect(bench.status('app')).toMatchObject({ replicas: 2, metrics: { in_events: 3 } });
    await bench.scrape(line('app', 9005, ',instance="b"'));
    expect(bench.status('app')).toMatchObject({
      metrics: { in_events: 8 },
      healthCounts: { Green: 1, Unknown: 1, Red: 0, Yellow: 0 },
    });
    await bench.scrape(line('app', 104, ',instance="a"') + line('app', 9005, ',instance="b"'));
    expect(bench.status('app').metrics.in_events).toBe(9);
  });

  it('says that several processes answer at its address, and counts nothing until one of them does', async () => {
    const bench = await startBench(vectorAt('edge'));
    const counts = [9_000_000, 4_000_000];
    const scrape = async (process: 0 | 1): Promise<void> => {
      const count = (counts[process] ?? 0) + 10;
      counts[process] = count;
      await bench.scrape(
        line('app', count) + line('web', 5_000_000 - Math.trunc(count / 1000) * 500 + count),
      );
    };
    const error = (): string | null | undefined => bench.monitor.components.pipeline('edge')?.error;
    for (let turn = 0; turn < 30; turn++) await scrape(turn % 2 === 0 ? 0 : 1);
    // What the counter stood at before it first fell is too much, and no more.
    expect(bench.status('app').metrics.in_events).toBeLessThan(9_000_300);
    expect(error()).toMatch(
      /^the counters of instance edge\.test go back to where they were, .* give each process an address/,
    );
    for (let turn = 0; turn < 12; turn++) await scrape(1);
    expect(error()).toBeNull();
    const before = bench.status('app').metrics.in_events ?? 0;
    await scrape(1);
    expect(bench.status('app').metrics.in_events).toBe(before + 10);
  });

  it('is not moved by steps of the wall clock', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.scrape(line('app', 101));
    bench.clock.step(-48 * HOUR);
    expect(bench.status('app').silentMs).toBe(5000);
    bench.clock.step(96 * HOUR);
    await bench.scrape(line('app', 101));
    expect(bench.status('app')).toMatchObject({ silentMs: 15_000, metrics: { in_events: 1 } });
  });

  it('forgets a component a day after its last sign of life, unless it is retained', async () => {
    const bench = await startBench(vectorAt('edge'));
    bench.monitor.retain(component => component.engineId === 'kept');
    await bench.scrape(line('app', 1) + line('kept', 1) + line('here', 1));
    await bench.scrape(line('here', 1));
    await bench.clock.advance(23 * HOUR);
    expect(bench.monitor.components.all()).toHaveLength(3);
    const { revision } = bench.monitor.components;
    await bench.clock.advance(2 * HOUR);
    expect(bench.monitor.components.all().map(component => component.engineId)).toEqual(['kept', 'here']);
    expect(bench.monitor.components.revision).toBeGreaterThan(revision);
    expect(bench.status('kept')).toMatchObject({ health: 'Unknown', replicas: 0 });
  });
});

describe('a pipeline that cannot be read', () => {
  const big = { body: Buffer.alloc(50_000_000, 'a 1\n') };
  it.each([
    [
      'hangs',
      new HttpFailure('timeout', 'http://edge.test: timed out after 5 s connecting'),
      /timed out after 5 s connecting/,
    ],
    [
      'refuses',
      new HttpFailure('refused', 'connection refused'),
      /^http:\/\/edge\.test: connection refused$/,
    ],
    ['answers 500', { status: 500 }, /^http:\/\/edge\.test: answered 500$/],
    ['answers 401', { status: 401 }, /check the pipeline's token/],
    ['redirects', { status: 302 }, /a redirect; set url/],
    ['answers 50 MB', big, /larger than 16777216 bytes/],
    ['answers garbage', '<html>\n<h1>It works</h1>', /not Prometheus text: line 1/],
    [
      'cuts OpenMetrics',
      { body: Buffer.from('a_total 1'), headers: { 'content-type': 'application/openmetrics-text' } },
      /cut short/,
    ],
  ])('that %s says why, since when, and disturbs nothing else', async (_, answer, error) => {
    const bench = await startBench(vectorAt('edge'), vectorAt('fine'));
    bench.pages.serve(URL_OF('fine'), line('web', 1));
    await bench.scrape(line('app', 100));
    await bench.scrape(line('app', 101));
    bench.pages.serve(URL_OF('fine'), line('web', 3));
    await bench.scrape(answer);
    const since = bench.clock.now() - 5000;
    await bench.scrape(answer);
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({
      state: 'unreachable',
      unreachableSince: since,
      error: expect.stringMatching(error),
    });
    const reason = bench.monitor.components.pipeline('edge')?.error;
    expect(reason).not.toContain('/metrics');
    const unread = {
      presence: 'unknown',
      error: `pipeline unreachable: ${reason}`,
      metrics: { in_events: 1 },
    };
    expect(bench.status('app')).toMatchObject({ ...unread, health: 'Unknown', silentMs: 25_000 });
    bench.pages.serve(URL_OF('fine'), line('web', 4));
    await bench.scrape(answer);
    expect(bench.status('app')).toMatchObject({ ...unread, health: 'Red', silentMs: 35_000 });
    expect(bench.status('web')).toMatchObject({ health: 'Green', metrics: { in_events: 3 } });
    await bench.scrape(line('app', 150));
    expect(bench.status('app')).toMatchObject({
      health: 'Green',
      error: null,
      metrics: { in_events: 50 },
      silentMs: 5000,
    });
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({
      state: 'reachable',
      unreachableSince: null,
    });
  });

  it('takes the good lines of a page with bad ones', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(`${line('app', 1)}rubbish\n`);
    await bench.scrape(`rubbish\n${line('app', 2)}`);
    expect(bench.status('app').metrics.in_events).toBe(1);
  });

  it('is read by one request at a time, with its token and limits', async () => {
    const bench = await startBench({
      ...vectorAt('edge'),
      token: 'scrape token',
      timeout: '1m',
      maxBytes: 5000,
    });
    await bench.scrape(new Promise(() => {}));
    await bench.clock.advance(60_000);
    expect(bench.pages.requests).toHaveLength(1);
    expect(bench.pages.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer scrape token', 'accept-encoding': 'gzip' },
      timeoutMs: 60_000,
      maxAnswerBytes: 5000,
    });
  });
});

describe('what piled up in a gap', () => {
  const app = (bench: Bench, ms: number): number | undefined =>
    bench.monitor.components.measure(bench.find('app'), 'in_events', ms)?.sum;
  const everySecond = { ...vectorAt('edge'), interval: '1s' };

  async function read(bench: Bench, seconds: number, from: number): Promise<number> {
    let count = from;
    for (let second = 0; second < seconds; second++) {
      count += 100;
      bench.pages.serve(URL_OF('edge'), line('app', count));
      await bench.clock.advance(1000);
      app(bench, 10_000);
    }
    return count;
  }

  it('is spread over the time the page could not be read, and only its part is in a window', async () => {
    const bench = await startBench(everySecond);
    const before = await read(bench, 15, 0);
    expect(app(bench, 10_000)).toBeCloseTo(1000);
    bench.pages.serve(URL_OF('edge'), { status: 500 });
    await bench.clock.advance(20_000);
    const { lastDataAt } = bench.status('app');
    expect(bench.status('app').silentMs).toBeGreaterThan(20_000);
    expect(app(bench, 10_000)).toBe(0);
    await read(bench, 1, before + 2000);
    expect(app(bench, 10_000)).toBeCloseTo(1000);
    expect(bench.status('app')).toMatchObject({ metrics: { in_events: 3500 }, silentMs: 500 });
    expect(bench.status('app').lastDataAt).toBeGreaterThan(lastDataAt ?? Number.NaN);
  });

  it('is spread as well over the time in which its page was there and showed nothing of its engine', async () => {
    const bench = await startBench(everySecond);
    const before = await read(bench, 15, 0);
    expect(app(bench, 10_000)).toBeCloseTo(1000);
    bench.pages.serve(URL_OF('edge'), 'vector_uptime_seconds 900\n');
    await bench.clock.advance(20_000);
    await read(bench, 1, before + 2000);
    expect(app(bench, 10_000)).toBeCloseTo(1000);
    expect(bench.status('app').metrics.in_events).toBe(3500);
  });

  it('while this process did not run is volume, in no window and no data', async () => {
    const bench = await startBench(everySecond);
    const before = await read(bench, 15, 0);
    const { silentMs, lastDataAt } = bench.status('app');
    bench.pages.serve(URL_OF('edge'), line('app', before + 2000));
    await bench.clock.freeze(20_000);
    await bench.clock.advance(1000);
    expect(bench.status('app')).toMatchObject({ metrics: { in_events: 3400 }, lastDataAt });
    expect(bench.status('app').silentMs).toBeGreaterThan(silentMs);
    expect(app(bench, 10_000)).toBeLessThanOrEqual(1000);
    await read(bench, 1, before + 2000);
    expect(bench.status('app').silentMs).toBeLessThan(1000);
  });

  it('is spread for a sender that was cut off, by how often it pushes', async () => {
    const bench = await startBench({ id: 'own', engine: 'custom', push: true, token: 'custom token' });
    const push = (value: number): void => {
      const samples = [{ kind: 'input', id: 'app', metric: 'in_events', value }];
      void bench.monitor.ingestSamples('own', { samples });
    };
    for (let at = 0; at < 7; at++) {
      push(at * 1000);
      app(bench, 60_000);
      await bench.clock.advance(10_000);
    }
    await bench.clock.advance(290_000);
    push(36_000);
    await bench.clock.advance(1000);
    expect(app(bench, 60_000)).toBeCloseTo(6000);
    expect(bench.status('app').metrics.in_events).toBe(36_000);
  });
});

describe('a restart', () => {
  it('goes on with totals and silence, and does not count the time it was down', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('a.b', 100) + line('a/b', 0));
    await bench.scrape(line('a.b', 110) + line('a/b', 0));
    const before = [bench.status('a.b'), bench.find('a.b').id, bench.find('a/b').id];
    await bench.restart(2 * HOUR);
    expect([bench.status('a.b'), bench.find('a.b').id, bench.find('a/b').id]).toEqual([
      {
        ...(before[0] as object),
        health: 'Unknown',
        presence: 'unknown',
        error: 'its pipeline has not been read yet',
        healthCounts: { Green: 0, Yellow: 0, Red: 0, Unknown: 0 },
        replicas: 0,
      },
      before[1],
      before[2],
    ]);
  });

  it('counts the first reading as volume, never as data', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.scrape(line('app', 110));
    const { lastDataAt } = bench.status('app');
    await bench.restart();
    await bench.scrape(line('app', 150) + line('new', 3));
    expect(bench.status('app')).toMatchObject({ metrics: { in_events: 50 }, lastDataAt, silentMs: 15_000 });
    expect(bench.status('new')).toMatchObject({ metrics: { in_events: 3 }, lastDataAt: null });
    await bench.scrape(line('app', 151));
    expect(bench.status('app')).toMatchObject({ metrics: { in_events: 51 }, silentMs: 5000 });
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['of another program', 'hello'],
  ])('begins anew when the snapshot is %s', async (_, content) => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.scrape(line('app', 110));
    bench.configure();
    await bench.monitor.stop();
    if (content !== undefined) writeFileSync(join(bench.folder, 'snapshot'), content);
    const again = await startBench(vectorAt('edge'));
    await again.scrape(line('app', 200));
    expect(again.status('app')).toMatchObject({ metrics: { in_events: 0 }, lastDataAt: null });
  });

  it('ignores a snapshot with a flipped bit, and one that was cut', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.monitor.stop();
    const path = join(bench.folder, 'snapshot');
    const whole = readFileSync(path);
    const flipped = Buffer.from(whole);
    flipped[100] = (flipped[100] ?? 0) ^ 1;
    for (const damaged of [flipped, whole.subarray(0, whole.length - 20), whole.subarray(0, 25)]) {
      const other = await startBench();
      await other.monitor.stop();
      writeFileSync(join(other.folder, 'snapshot'), damaged);
      other.configure(vectorAt('edge'));
      await other.restart();
      expect(other.monitor.components.all()).toEqual([]);
    }
  });

  it('writes the snapshot every 30 seconds too, for a process that is killed', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    await bench.clock.advance(30_000);
    await expect.poll(() => readFileSync(join(bench.folder, 'snapshot')).includes('app')).toBe(true);
  });
});

describe('configure', () => {
  it('removes the components of a removed pipeline, and only those', async () => {
    const bench = await startBench(vectorAt('edge'), vectorAt('fine'));
    bench.pages.serve(URL_OF('fine'), line('web', 1));
    await bench.scrape(line('app', 1));
    bench.configure(vectorAt('fine'));
    expect(bench.monitor.components.all().map(component => component.engineId)).toEqual(['web']);
    expect(bench.monitor.components.pipelines().map(pipeline => pipeline.id)).toEqual(['fine']);
    const requested = bench.pages.requests.length;
    await bench.clock.advance(10_000);
    expect(bench.pages.requests.length).toBe(requested + 1);
  });

  it('keeps counting over a change of interval, and begins anew at another url', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    bench.configure({ ...vectorAt('edge'), interval: '2s' });
    await bench.scrape(line('app', 105));
    expect(bench.status('app').metrics.in_events).toBe(5);
    bench.configure({ ...vectorAt('edge'), url: URL_OF('moved') });
    await bench.scrape(line('app', 9000), 'moved');
    expect(bench.status('app')).toMatchObject({ metrics: { in_events: 5 }, replicas: 1 });
  });

  it('leaves an unchanged pipeline alone', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    bench.configure(vectorAt('edge'));
    expect(bench.monitor.components.pipeline('edge')?.state).toBe('reachable');
  });

  it('makes other components when the group changes', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 100));
    bench.configure({ ...vectorAt('edge'), group: 'west' });
    expect(bench.monitor.components.all()).toEqual([]);
    await bench.scrape(line('app', 100));
    expect(bench.find('app').group).toBe('west');
  });
});

describe('ids', () => {
  it('makes a slug of the id of the engine, with a hash when another one has it', async () => {
    const bench = await startBench(vectorAt('edge'), vectorAt('fine'));
    bench.pages.serve(URL_OF('fine'), line('a_b', 1));
    await bench.scrape(line('a.b', 1) + line('a/b', 1));
    const ids = bench.monitor.components.all().map(component => component.id);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every(id => /^a_b(_[0-9a-f]{6})?$/.test(id))).toBe(true);
    expect(ids).toContain('a_b');
  });
});
