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

  it('puts objects of the format prometheus together, whatever their names make of the series', () => {
    const counter = (series: string, object: string, name: string, value: string): string =>
      `${HEADER}# HELP ${series} rsyslog stats: origin="core.queue" object="${object}", counter="${name}"\n# TYPE ${series} counter\n${series} ${value}\n`;
    const HEADER = 'Nov 29 10:01:13 web1 rsyslogd-pstats: ';
    const text = [
      counter('main Q_size_total', 'main Q', 'size', '3'),
      counter('main_Q_discarded_full_total', 'main Q', 'discarded.full', '1'),
      counter('a__size_total', 'a, "b"', 'size', '7'),
      counter('main Q_size_total', 'main Q', 'size', '4'),
      'main Q_enqueued_total 9\n',
      counter('x', `x${'" object="'.repeat(1000)}`, 'size', '9'),
    ].join('');
    const { rounds, ignored } = atOnce(readImpstats(text));
    expect(rounds).toEqual([
      [
        { origin: 'core.queue', name: 'main Q', values: { size: 3, 'discarded.full': 1 } },
        { origin: 'core.queue', name: 'a, "b"', values: { size: 7 } },
      ],
      [{ origin: 'core.queue', name: 'main Q', values: { size: 4 } }],
    ]);
    expect(ignored).toBe(3);
  });

  it.each(['legacy', 'json-elasticsearch', 'cee'])(
    'reads what rsyslog recorded in the format %s as the same objects',
    format => {
      const read = (name: string) => atOnce(readImpstats(sample(`rsyslog-8.2302-impstats-${name}.txt`)));
      const countersOf = ({ rounds }: ReturnType<typeof read>) =>
        rounds[1]?.map(({ name, origin, values }) => `${origin} ${name}: ${Object.keys(values)}`);
      const found = read(format);
      expect(found.ignored).toBe(0);
      expect(found.rounds).toHaveLength(5);
      expect(countersOf(found)).toEqual(countersOf(read('json-reset')));
      expect(found.rounds[4]?.find(({ name }) => name === 'tcp_in(10614)')?.values).toEqual({
        submitted: 400,
      });
      expect(found.rounds[4]?.find(({ name }) => name === 'out_fwd queue[DA]')?.values).toMatchObject({
        size: 256,
        'discarded.full': 0,
      });
    },
  );

  it.each([
    ['rsyslogd-pstats: main Q: size=3 enqueued=9 full=0 maxqsize=5', 'core.queue', 'main Q'],
    ['action 1: processed=5 failed=0', 'core.action', 'action 1'],
    ['imudp(*:514): submitted=7', 'imudp', 'imudp(*:514)'],
    ['{"name":"imtcp(514)","submitted":7}', 'imtcp', 'imtcp(514)'],
  ])('knows what the object of an old version is: %s', (line, origin, name) => {
    expect(atOnce(readImpstats(line)).rounds).toMatchObject([[{ origin, name }]]);
  });

  it('takes no other text for an object, however long', () => {
    const lines = ['a=1', 'hello: world', 'x: a=b', ': a=1', `x: ${'a=1 '.repeat(300)}`, 'name: origin='];
    expect(atOnce(readImpstats(lines.join('\n')))).toEqual({ rounds: [], ignored: lines.length });
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
