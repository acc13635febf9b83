import { describe, expect, it } from 'vitest';
import { sample } from '../../../test/helpers/pages.ts';
import { atOnce } from '../../lib/slices.ts';
import { readImpstats } from './impstats.ts';

describe('readImpstats', () => {
  it('reads the recorded statistics as two rounds of the same objects', () => {
    const { rounds, ignored } = atOnce(readImpstats(sample('rsyslog-8.2302-impstats-json.txt')));
    expect(rounds.map(round => round.length)).toEqual([13, 13]);
    expect(ignored).toBe(0);
    const udp = rounds[1]?.find(object => object.origin === 'imudp');
    expect(udp).toEqual({
      name: 'udp_in(127.0.0.1/10515/IPv4)',
      origin: 'imudp',
      values: { submitted: 50, disallowed: 0 },
    });
  });

  it('cuts rounds where an object comes again, without BEGIN and END', () => {
    const line = '@cee: {"name":"a","origin":"imtcp","submitted":1}';
    expect(atOnce(readImpstats(`${line}\n${line}`)).rounds).toHaveLength(2);
  });

  it('counts lines that hold no object, and reads on', () => {
    const text = 'hello\n{"name":"a"}\n{broken\n[1]\n\n{"name":"a","origin":"imtcp","submitted":1}';
    expect(atOnce(readImpstats(text))).toMatchObject({ ignored: 4, rounds: [[{ name: 'a' }]] });
  });

  it('takes nothing but numbers for counters', () => {
    const text = '{"name":"a","origin":"imtcp","submitted":"5","x":null,"y":{"z":1},"n":2}';
    expect(atOnce(readImpstats(text)).rounds[0]?.[0]?.values).toEqual({ n: 2 });
  });
});
