import { describe, expect, it } from 'vitest';
import { type Bench, startBench } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';
import { atOnce } from '../../lib/slices.ts';
import { readImpstats, type StatsObject } from '../parsers/impstats.ts';
import { createRsyslogReader, type RsyslogReading } from './rsyslog.ts';

const NONE: RsyslogReading = { capacities: new Map(), resetCounters: false };

const action = (processed: number): StatsObject => ({
  name: 'out',
  origin: 'core.action',
  values: { processed },
});
const queue = (size: number): StatsObject => ({ name: 'out queue', origin: 'core.queue', values: { size } });
const series = (objects: readonly StatsObject[], reader = createRsyslogReader()): string[] =>
  reader.read(objects, NONE).stats.map(stat => stat.series.replaceAll('\n', ' '));

describe('createRsyslogReader', () => {
  it('knows inputs, actions with their queues, and forwarders; the rest is ignored', () => {
    const [round = []] = atOnce(readImpstats(sample('rsyslog-8.2302-impstats-json.txt'))).rounds;
    const { stats, known } = createRsyslogReader().read(round, NONE);
    const named = stats.flatMap(stat => stat.mappings.map(one => `${one.kind} ${one.type}:${one.engineId}`));
    expect([...new Set(named)].sort()).toEqual([
      'input imtcp:tcp_in(10514)',
      'input imudp:udp_in(127.0.0.1/10515/IPv4)',
      'output core.action:out_file',
      'output core.action:out_fwd',
      'output omfwd:TCP-127.0.0.1-19999',
    ]);
    expect(known).toBe(7);
  });

  it('finds the type of an action without a name', () => {
    const object = { name: 'action-3-builtin:omfwd', origin: 'core.action', values: { processed: 1 } };
    expect(createRsyslogReader().read([object], NONE).stats[0]?.mappings[0]?.type).toBe('omfwd');
  });

  it('holds an action back until its queues have come, however the lines are cut', () => {
    const reader = createRsyslogReader();
    series([action(0), queue(0)], reader);
    expect(series([action(5)], reader)).toEqual([]);
    expect(series([queue(5)], reader)).toEqual(['core.action out processed', 'core.queue out queue size']);
  });

  it('takes a queue that stands before its action', () => {
    expect(series([queue(0), action(0)])).toHaveLength(2);
  });

  it('does not wait for ever for a queue that is gone', () => {
    const reader = createRsyslogReader();
    series([action(0), queue(0)], reader);
    series([action(5)], reader);
    expect(series([action(6)], reader)).toEqual(['core.action out processed', 'core.action out processed']);
    expect(series([action(7)], reader)).toEqual(['core.action out processed']);
  });

  it('knows the capacity of a queue only where it is configured', () => {
    const capacitiesRead = (capacities: ReadonlyMap<string, number>): number[] =>
      createRsyslogReader()
        .read([action(5), queue(5)], { capacities, resetCounters: false })
        .stats.filter(({ mappings }) => mappings.some(({ meaning }) => meaning.metric === 'queue_capacity'))
        .map(({ value }) => value);
    expect(capacitiesRead(new Map([['out', 100]]))).toEqual([100]);
    expect(capacitiesRead(new Map([['other', 100]]))).toEqual([]);
  });
});

describe('a pipeline of rsyslog', () => {
  const roundsOf = (format: string): string[] =>
    sample(`rsyslog-${format === 'prometheus' ? '8.2508' : '8.2302'}-impstats-${format}.txt`).split(
      /(?<=: END\n)/,
    );

  async function push(format: string, settings: object = {}): Promise<Bench> {
    const bench = await startBench({
      id: 'syslog',
      engine: 'rsyslog',
      push: true,
      token: 'syslog token',
      ...settings,
    });
    for (const round of roundsOf(format)) {
      await bench.monitor.ingestImpstats('syslog', 'web1', round);
      await bench.clock.advance(3000);
    }
    return bench;
  }

  it.each([
    ['legacy', {}],
    ['json-elasticsearch', {}],
    ['cee', {}],
    ['prometheus', {}],
    ['json-reset', { resetCounters: true }],
  ])('counts the same of the same load in the format %s', async (format, settings) => {
    const bench = await push(format, settings);
    expect(bench.status('tcp_in(10614)')).toMatchObject({ health: 'Green', metrics: { in_events: 400 } });
    expect(bench.status('udp_in(127.0.0.1/10615/IPv4)').metrics).toEqual({ in_events: 30 });
    expect(bench.status('out_file').metrics).toMatchObject({ out_events: 430, errors: 0 });
    expect(bench.status('out_fwd')).toMatchObject({
      health: 'Red',
      metrics: { out_events: 0, queue_size: 430, blocked: 0 },
    });
    expect(bench.monitor.components.pipeline('syslog')?.error).toBeNull();
  });

  it('says that the counters are reset where its settings do not, as inputs repeat themselves while a queue grows', async () => {
    const bench = await push('json-reset');
    expect(bench.status('tcp_in(10614)').metrics).toEqual({ in_events: 100 });
    expect(bench.monitor.components.pipeline('syslog')?.error).toMatch(/set resetCounters: true here/);
    bench.configure({
      id: 'syslog',
      engine: 'rsyslog',
      push: true,
      token: 'syslog token',
      resetCounters: true,
    });
    expect(bench.monitor.components.pipeline('syslog')?.error).toBeNull();
  });

  const line = (name: string, submitted: number): string =>
    JSON.stringify({ name, origin: 'imtcp', submitted });

  it('says so too where some counters fall while others rise, and not of a restart', async () => {
    const bench = await startBench({ id: 'syslog', engine: 'rsyslog', push: true, token: 'syslog token' });
    const round = (a: number, b: number) =>
      bench.monitor.ingestImpstats('syslog', 'web1', `${line('a', a)}\n${line('b', b)}`);
    const error = () => bench.monitor.components.pipeline('syslog')?.error;
    for (const [a, b] of [
      [5, 9],
      [7, 2],
      [3, 3],
      [4, 5],
    ] as const)
      await round(a, b);
    expect(error()).toBeNull();
    await round(2, 8);
    expect(error()).toMatch(/resetCounters/);
  });

  it('says so too where the main queue grows while inputs repeat themselves, and not where it stands', async () => {
    const bench = await startBench({ id: 'syslog', engine: 'rsyslog', push: true, token: 'syslog token' });
    const error = () => bench.monitor.components.pipeline('syslog')?.error;
    const round = (size: number) => {
      const queue = JSON.stringify({ name: 'main Q', origin: 'core.queue', size, enqueued: 50 });
      return bench.monitor.ingestImpstats('syslog', 'web1', `${line('a', 50)}\n${queue}`);
    };
    for (let at = 0; at < 8; at++) await round(7);
    expect(error()).toBeNull();
    for (const size of [9, 12, 40]) await round(size);
    expect(error()).toMatch(/set resetCounters: true here/);
  });

  it('counts flags of an interval as a share of it', async () => {
    const bench = await startBench({
      id: 'syslog',
      engine: 'rsyslog',
      push: true,
      token: 'syslog token',
      resetCounters: true,
    });
    const action = JSON.stringify({
      name: 'out',
      origin: 'core.action',
      processed: 9,
      failed: 4,
      suspended: 3,
    });
    await bench.monitor.ingestImpstats('syslog', 'web1', action);
    expect(bench.status('out').metrics).toEqual({ out_events: 5, errors: 4, blocked: 1 });
  });
});
