import { describe, expect, it } from 'vitest';
import { type Bench, startBench } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';
import { AppError } from '../../lib/errors.ts';

const rsyslog = { id: 'syslog', engine: 'rsyslog', push: true, token: 'syslog token' };
const custom = { id: 'own', engine: 'custom', push: true, token: 'custom token' };

const post = (bench: Bench, value: number, more: object = {}): unknown =>
  bench.monitor.ingestSamples('own', {
    samples: [{ kind: 'input', id: 'a', metric: 'in_events', value, ...more }],
  });

describe('pipelineOfToken', () => {
  it('finds the pipeline of a token and nothing for any other text', async () => {
    const { monitor } = await startBench(rsyslog, custom);
    expect(monitor.pipelineOfToken('syslog token')?.id).toBe('syslog');
    expect(monitor.pipelineOfToken('custom token')?.id).toBe('own');
    expect(monitor.pipelineOfToken('custom toke')).toBeUndefined();
    expect(monitor.pipelineOfToken('')).toBeUndefined();
  });

  it('forgets a token that was changed, and keeps the counters', async () => {
    const bench = await startBench(custom);
    post(bench, 5);
    bench.configure({ ...custom, token: 'another token' });
    expect(bench.monitor.pipelineOfToken('custom token')).toBeUndefined();
    post(bench, 8);
    expect(bench.status('a').metrics.in_events).toBe(3);
  });
});

describe('ingestSamples', () => {
  it('begins to count with the first push and has data with the second', async () => {
    const bench = await startBench(custom);
    expect(post(bench, 100)).toEqual({ accepted: 1 });
    expect(bench.status('a')).toMatchObject({ metrics: { in_events: 0 }, lastDataAt: null });
    await bench.clock.advance(1000);
    post(bench, 105);
    expect(bench.status('a')).toMatchObject({
      metrics: { in_events: 5 },
      lastDataAt: bench.clock.now(),
      silentMs: 0,
      health: 'Green',
    });
    expect(bench.find('a').type).toBe('custom');
    expect(bench.monitor.components.pipeline('own')).toMatchObject({
      mode: 'push',
      url: null,
      state: 'reachable',
    });
  });

  it('takes nothing of a body with one bad sample', async () => {
    const bench = await startBench(custom);
    const good = { kind: 'input', id: 'a', metric: 'in_events', value: 1 };
    expect(() => bench.monitor.ingestSamples('own', { samples: [good, { ...good, metric: 'x' }] })).toThrow(
      AppError,
    );
    expect(bench.monitor.components.all()).toEqual([]);
  });

  it('counts a repeated push once, and ignores a late one', async () => {
    const bench = await startBench(custom);
    post(bench, 100, { time: 1000 });
    post(bench, 110, { time: 2000 });
    post(bench, 110, { time: 2000 });
    post(bench, 105, { time: 1500 });
    expect(bench.status('a').metrics.in_events).toBe(10);
    post(bench, 111, { time: 3000 });
    expect(bench.status('a').metrics.in_events).toBe(11);
  });

  it('takes a late or repeated push for a sign of life, not for data', async () => {
    const bench = await startBench(custom);
    post(bench, 100, { time: 1000 });
    await bench.clock.advance(5000);
    post(bench, 100, { time: 1000 });
    expect(bench.status('a')).toMatchObject({
      timestamp: bench.clock.now(),
      lastDataAt: null,
      silentMs: 5000,
    });
  });

  it('goes on when the clock of the sender steps back', async () => {
    const bench = await startBench(custom);
    post(bench, 100, { time: 90_000_000 });
    post(bench, 110, { time: 80_000_000 });
    expect(bench.status('a').metrics.in_events).toBe(10);
  });

  it('adds deltas as they are, each time once', async () => {
    const bench = await startBench(custom);
    const push = (value: number, time: number): void => {
      void bench.monitor.ingestSamples('own', {
        temporality: 'delta',
        time,
        samples: [{ kind: 'input', id: 'a', metric: 'in_events', value }],
      });
    };
    push(5, 1000);
    push(5, 1000);
    push(2, 2000);
    expect(bench.status('a')).toMatchObject({ metrics: { in_events: 7 }, lastDataAt: bench.clock.now() });
  });

  it('adds deltas whenever they come, rejects what overlaps them, and says so', async () => {
    const bench = await startBench(custom);
    const push = (start: number | undefined, time: number): unknown =>
      bench.monitor.ingestSamples('own', {
        temporality: 'delta',
        ...(start !== undefined && { start }),
        time,
        samples: [{ kind: 'input', id: 'a', metric: 'in_events', value: 10 }],
      });
    for (const [start, time] of [
      [0, 1000],
      [2000, 3000],
      [1000, 2000],
      [3000, 4000],
      [1000, 2000],
    ] as const)
      expect(push(start, time)).toEqual({ accepted: 1 });
    expect(bench.status('a').metrics.in_events).toBe(40);
    expect(push(3500, 4500)).toEqual({ accepted: 0, rejected: 1 });
    for (const time of [6000, 5000, 7000, 5000]) expect(push(undefined, time)).toEqual({ accepted: 1 });
    expect(bench.status('a').metrics.in_events).toBe(70);
    expect(bench.metered).toEqual(['rejected own overlapping']);
  });

  it('rejects deltas of before the 64 that it keeps, and of before what it counted until a restart', async () => {
    const bench = await startBench(custom);
    const push = (at: number): unknown =>
      bench.monitor.ingestSamples('own', {
        temporality: 'delta',
        start: at * 1000,
        time: at * 1000 + 1000,
        samples: [{ kind: 'input', id: 'a', metric: 'in_events', value: 10 }],
      });
    for (let at = 1; at <= 65; at++) push(at);
    expect(push(0)).toEqual({ accepted: 0, rejected: 1 });
    await bench.restart();
    expect([push(65), push(64), push(66)]).toEqual([
      { accepted: 1 },
      { accepted: 0, rejected: 1 },
      { accepted: 1 },
    ]);
    expect(bench.status('a').metrics.in_events).toBe(660);
    expect(bench.metered).toEqual(['rejected own outdated', 'rejected own outdated']);
  });

  it('keeps instances separate as replicas, each with its own beginning', async () => {
    const bench = await startBench(custom);
    const push = (instance: string, value: number): void => {
      void bench.monitor.ingestSamples('own', {
        instance,
        samples: [{ kind: 'input', id: 'a', type: 'app', metric: 'in_events', value }],
      });
    };
    push('h1', 10);
    push('h2', 900);
    push('h1', 11);
    push('h2', 902);
    expect(bench.status('a')).toMatchObject({ replicas: 2, metrics: { in_events: 3 } });
    expect(bench.monitor.components.pipeline('own')?.instances).toBe(2);
  });

  it('calls nothing healthy that was not heard for a quarter of an hour', async () => {
    const bench = await startBench(custom);
    post(bench, 1);
    await bench.clock.advance(14 * 60_000);
    expect(bench.status('a').health).toBe('Green');
    await bench.clock.advance(60_000);
    expect(bench.status('a').health).toBe('Unknown');
  });

  it('refuses a pipeline that does not exist and a name of an instance that is too long', async () => {
    const bench = await startBench(rsyslog);
    expect(() => bench.monitor.ingestSamples('none', { samples: [] })).toThrow(/pipeline 'none' not found/);
    expect(() => bench.monitor.ingestImpstats('syslog', 'x'.repeat(257), '')).toThrow(/names of 1 to 256/);
  });
});

describe('ingestImpstats', () => {
  const recorded = sample('rsyslog-8.2302-impstats-json.txt');
  const [, first = '', second = ''] = recorded.split(/^.*BEGIN$/m);

  function expectRecorded(bench: Bench): void {
    expect(bench.status('tcp_in(10514)')).toMatchObject({ health: 'Green', metrics: { in_events: 1000 } });
    expect(bench.status('udp_in(127.0.0.1/10515/IPv4)').metrics).toEqual({ in_events: 50 });
    expect(bench.status('out_file')).toMatchObject({ health: 'Green', metrics: { out_events: 1050 } });
    expect(bench.status('out_fwd')).toMatchObject({
      health: 'Red',
      error: 'its queue grows, and nothing was delivered',
      metrics: { out_events: 0, errors: 0, queue_size: 1050 },
      lastDataAt: null,
    });
    expect(bench.status('TCP-127.0.0.1-19999')).toMatchObject({
      metrics: { out_bytes: 0 },
      lastDataAt: null,
    });
  }

  it('sees through the recorded run: processed says 1050, and nothing was delivered', async () => {
    const bench = await startBench(rsyslog);
    expect(bench.monitor.ingestImpstats('syslog', undefined, recorded)).toEqual({
      accepted: 14,
      ignored: 12,
    });
    expectRecorded(bench);
  });

  it('sees the same when each line comes by itself', async () => {
    const bench = await startBench(rsyslog);
    for (const line of recorded.split('\n')) void bench.monitor.ingestImpstats('syslog', 'h1', line);
    expectRecorded(bench);
  });

  it('counts as delivered what leaves the queue later', async () => {
    const bench = await startBench(rsyslog);
    void bench.monitor.ingestImpstats('syslog', undefined, recorded);
    const drained = second.replace('"size": 640', '"size": 0').replace('"size": 410', '"size": 10');
    void bench.monitor.ingestImpstats('syslog', undefined, drained);
    expect(bench.status('out_fwd')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 1040, queue_size: 10 },
      lastDataAt: bench.clock.now(),
    });
  });

  it('keeps an output Red while its queue stands still', async () => {
    const bench = await startBench(rsyslog);
    void bench.monitor.ingestImpstats('syslog', undefined, recorded);
    await bench.clock.advance(600_000);
    void bench.monitor.ingestImpstats('syslog', undefined, second);
    expect(bench.status('out_fwd')).toMatchObject({
      health: 'Red',
      error: 'its queue is not empty, and nothing was delivered',
    });
  });

  it('takes what a queue threw away for lost, not for delivered', async () => {
    const bench = await startBench(rsyslog);
    void bench.monitor.ingestImpstats('syslog', undefined, recorded);
    const action = (text: string, processed: number): string =>
      text.replace(/("out_fwd".*"processed": )\d+/, `$1${processed}`);
    const full = action(second, 1100).replace(/("out_fwd queue",.*"discarded.full": )0/, '$150');
    void bench.monitor.ingestImpstats('syslog', undefined, full);
    expect(bench.status('out_fwd').metrics).toMatchObject({ out_events: 0, dropped: 50 });
  });

  it('does not take the queue that a restarted rsyslog lost for delivered', async () => {
    const bench = await startBench(rsyslog);
    void bench.monitor.ingestImpstats('syslog', undefined, recorded);
    void bench.monitor.ingestImpstats('syslog', undefined, first);
    expect(bench.status('out_fwd')).toMatchObject({ metrics: { out_events: 0 }, lastDataAt: null });
    expect(bench.status('tcp_in(10514)').metrics.in_events).toBe(1000);
  });

  it('begins anew after a restart without data of before, line by line too', async () => {
    const bench = await startBench(rsyslog);
    for (const line of second.split('\n')) void bench.monitor.ingestImpstats('syslog', 'h1', line);
    expect(bench.status('tcp_in(10514)')).toMatchObject({ metrics: { in_events: 0 }, lastDataAt: null });
    await bench.restart();
    for (const line of second.replace('"submitted": 1000', '"submitted": 1200').split('\n'))
      void bench.monitor.ingestImpstats('syslog', 'h1', line);
    expect(bench.status('tcp_in(10514)')).toMatchObject({ metrics: { in_events: 200 }, lastDataAt: null });
  });
});
