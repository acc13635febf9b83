import { describe, expect, it } from 'vitest';
import { sample } from '../../../test/helpers/pages.ts';
import { atOnce } from '../../lib/slices.ts';
import { readImpstats, type StatsObject } from '../parsers/impstats.ts';
import { createRsyslogReader } from './rsyslog.ts';

const NONE: ReadonlyMap<string, number> = new Map();

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
        .read([action(5), queue(5)], capacities)
        .stats.filter(({ mappings }) => mappings.some(({ meaning }) => meaning.metric === 'queue_capacity'))
        .map(({ value }) => value);
    expect(capacitiesRead(new Map([['out', 100]]))).toEqual([100]);
    expect(capacitiesRead(new Map([['other', 100]]))).toEqual([]);
  });
});
