import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeMinutes, encodeMinute, MINUTE_METRICS, type MinuteValues } from './minute-codec.ts';

const value = fc.oneof(
  fc.nat(),
  fc.maxSafeInteger(),
  fc.double({ min: 0, max: 1, noNaN: true }).map(share => Number(share.toPrecision(6))),
);
const values = fc
  .tuple(
    ...MINUTE_METRICS.map(name =>
      fc.option(value.map((one): [string, number] => [name, one === 0 ? 0 : one])),
    ),
  )
  .map((entries): MinuteValues => Object.fromEntries(entries.filter(entry => entry !== null)))
  .filter(one => Object.keys(one).length > 0);

it('reads the minutes that were written, one behind the other', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(fc.nat(59), values), { selector: ([minute]) => minute }), minutes => {
      const text = minutes.map(([minute, one]) => encodeMinute(minute, one)).join('');
      expect(decodeMinutes(text)).toEqual(new Map(minutes));
    }),
  );
});

it('counts the last of two records of one minute', () => {
  const text = encodeMinute(7, { in_events: 3, up: 1 }) + encodeMinute(7, { in_events: 4 });
  expect([...decodeMinutes(text)]).toEqual([[7, { in_events: 4 }]]);
});

it('is short: an idle input 8 characters a minute, a busy one not 30', () => {
  expect(encodeMinute(17, { health: 0, in_events: 0, in_bytes: 0 })).toBe('h,7,,,;');
  const busy = { health: 0, in_events: 120_000, in_bytes: 48_000_000, errors: 0 };
  expect(encodeMinute(59, busy).length).toBeLessThan(30);
});

it('leaves out what cannot be read, and reads the rest', () => {
  const whole = encodeMinute(3, { in_events: 5 });
  for (const damaged of ['', ';;', 'x', '1,2', '1,2,3,4;', '1o,2,3;', '-1,2,3;', '1,zzzz,;', '1,2,~x;'])
    expect([...decodeMinutes(`${damaged};${whole}`)]).toEqual([[3, { in_events: 5 }]]);
  fc.assert(
    fc.property(fc.string(), text => {
      for (const [minute, one] of decodeMinutes(text)) {
        expect(minute).toBeLessThan(60);
        expect(Object.values(one).every(Number.isFinite)).toBe(true);
      }
    }),
  );
});
