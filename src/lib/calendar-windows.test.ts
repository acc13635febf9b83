import { expect, it } from 'vitest';
import { calendarWindows, isInWindows, windowsEnd } from './calendar-windows.ts';

const muted = (window: object, at: string): boolean =>
  isInWindows(calendarWindows.parse([window]), Date.parse(at));

const BERLIN = { timezone: 'Europe/Berlin' };
const NEW_YORK = { timezone: 'America/New_York' };
/** Its clock jumps by half an hour, on 5 April and 4 October 2026. */
const LORD_HOWE = { timezone: 'Australia/Lord_Howe' };
const NIGHT = { times: ['23:00-02:00'] };

// 2026-01-02 is a Friday. Berlin's clock jumps on 29 March and on 25 October 2026.
it.each<[string, object, string, boolean]>([
  ['a span holds from its first minute', { times: ['09:00-17:00'] }, '2026-01-02T09:00:00Z', true],
  ['and not in its last', { times: ['09:00-17:00'] }, '2026-01-02T17:00:00Z', false],
  ['nor before', { times: ['09:00-17:00'] }, '2026-01-02T08:59:59Z', false],
  ['one of several spans is enough', { times: ['01:00-02:00', '09:00-17:00'] }, '2026-01-02T01:30:00Z', true],
  ['24:00 is the end of the day', { times: ['20:00-24:00'] }, '2026-01-02T23:59:59Z', true],
  ['which does not go on', { times: ['20:00-24:00'] }, '2026-01-03T00:00:00Z', false],
  ['a span goes on past midnight', { times: ['22:00-06:00'] }, '2026-01-03T05:59:00Z', true],
  ['of the day it began on', { times: ['22:00-06:00'], weekdays: ['fri'] }, '2026-01-03T05:59:00Z', true],
  ['and of no other', { times: ['22:00-06:00'], weekdays: ['fri'] }, '2026-01-02T05:59:00Z', false],
  ['a weekday holds all day', { weekdays: ['friday'] }, '2026-01-02T23:59:00Z', true],
  ['and only that day', { weekdays: ['friday'] }, '2026-01-03T00:00:00Z', false],
  ['weekdays in a row hold', { weekdays: ['mon-fri'] }, '2026-01-02T12:00:00Z', true],
  ['over the end of the week too', { weekdays: ['sat-mon'] }, '2026-01-05T12:00:00Z', true],
  ['and end', { weekdays: ['sat-mon'] }, '2026-01-06T12:00:00Z', false],
  ['the last day of a short month', { daysOfMonth: [-1] }, '2026-02-28T12:00:00Z', true],
  ['is the 29th in a leap year', { daysOfMonth: [-1] }, '2028-02-28T12:00:00Z', false],
  ['a day that the month has not', { daysOfMonth: [31] }, '2026-02-28T12:00:00Z', false],
  ['months', { months: [12] }, '2026-12-01T00:00:00Z', true],
  ['other months', { months: [12] }, '2026-11-30T23:59:00Z', false],
  ['all that is named must hold', { months: [1], weekdays: ['mon'] }, '2026-01-02T12:00:00Z', false],
  ['times are those of the zone', { ...BERLIN, times: ['09:00-10:00'] }, '2026-01-02T08:30:00Z', true],
  ['also in summer', { ...BERLIN, times: ['09:00-10:00'] }, '2026-07-02T07:30:00Z', true],
  ['days are those of the zone', { ...BERLIN, daysOfMonth: [1] }, '2025-12-31T23:30:00Z', true],
  ['the end of the month in one that jumps', { ...BERLIN, daysOfMonth: [-1] }, '2026-10-31T22:30:00Z', true],
  ['and not an hour longer', { ...BERLIN, daysOfMonth: [-1] }, '2026-10-31T23:30:00Z', false],
  ['before the hour that is skipped', { ...BERLIN, times: ['01:30-03:30'] }, '2026-03-29T00:45:00Z', true],
  ['after it', { ...BERLIN, times: ['01:30-03:30'] }, '2026-03-29T01:15:00Z', true],
  ['until its end', { ...BERLIN, times: ['01:30-03:30'] }, '2026-03-29T01:30:00Z', false],
  ['the hour that comes twice', { ...BERLIN, times: ['02:00-03:00'] }, '2026-10-25T00:30:00Z', true],
  ['comes twice', { ...BERLIN, times: ['02:00-03:00'] }, '2026-10-25T01:30:00Z', true],
  [
    'a night over a jump',
    { ...BERLIN, times: ['22:00-06:00'], weekdays: ['sat'] },
    '2026-03-29T03:59:00Z',
    true,
  ],
  ['a night to two, where two is skipped', { ...BERLIN, ...NIGHT }, '2026-03-29T00:59:00Z', true],
  ['ends with the hour that is skipped', { ...BERLIN, ...NIGHT }, '2026-03-29T01:00:00Z', false],
  ['a night to two, where two comes twice', { ...BERLIN, ...NIGHT }, '2026-10-24T23:59:00Z', true],
  ['ends with the first', { ...BERLIN, ...NIGHT }, '2026-10-25T00:00:00Z', false],
  ['and with the second', { ...BERLIN, ...NIGHT }, '2026-10-25T01:00:00Z', false],
  ['a night to the hour that is skipped', { ...NEW_YORK, ...NIGHT }, '2026-03-08T06:59:00Z', true],
  ['ends there', { ...NEW_YORK, ...NIGHT }, '2026-03-08T07:00:00Z', false],
  ['a night with an hour that comes twice', { ...NEW_YORK, ...NIGHT }, '2026-11-01T05:59:00Z', true],
  ['holds the second time', { ...NEW_YORK, ...NIGHT }, '2026-11-01T06:30:00Z', true],
  ['and ends after that', { ...NEW_YORK, ...NIGHT }, '2026-11-01T07:00:00Z', false],
  ['a night with half an hour twice', { ...LORD_HOWE, ...NIGHT }, '2026-04-04T15:00:00Z', true],
  ['is half an hour longer', { ...LORD_HOWE, ...NIGHT }, '2026-04-04T15:29:00Z', true],
  ['and no more', { ...LORD_HOWE, ...NIGHT }, '2026-04-04T15:30:00Z', false],
  ['a night to the half hour that is skipped', { ...LORD_HOWE, ...NIGHT }, '2026-10-03T15:29:00Z', true],
  ['ends at it', { ...LORD_HOWE, ...NIGHT }, '2026-10-03T15:30:00Z', false],
  ['ends by the clock on the wall', { ...BERLIN, times: ['22:00-06:00'] }, '2026-03-29T04:00:00Z', false],
])('%s', (_, window, at, expected) => {
  expect(muted(window, at)).toBe(expected);
});

it('mutes nothing without windows', () => {
  expect(isInWindows([], 0)).toBe(false);
});

// Berlin is an hour ahead of UTC in winter, and two in summer.
it.each<[string, object[], string, string, string]>([
  [
    'a span',
    [{ times: ['22:00-06:00'], ...BERLIN }],
    '2026-01-02T22:30:00Z',
    '2026-01-03T05:00:00Z',
    '06:00',
  ],
  [
    'a span in its last minute',
    [{ times: ['09:00-17:00'] }],
    '2026-01-02T16:59:59Z',
    '2026-01-02T17:00:00Z',
    '17:00',
  ],
  ['a day', [{ weekdays: ['fri'] }], '2026-01-02T00:00:30Z', '2026-01-03T00:00:00Z', '2026-01-03 00:00'],
  [
    'days in a row',
    [{ weekdays: ['sat-sun'] }],
    '2026-01-03T12:00:00Z',
    '2026-01-05T00:00:00Z',
    '2026-01-05 00:00',
  ],
  ['a month', [{ months: [1] }], '2026-01-02T12:00:00Z', '2026-02-01T00:00:00Z', '2026-02-01 00:00'],
  [
    'a night in which clocks are set forward',
    [{ times: ['22:00-06:00'], ...BERLIN }],
    '2026-03-28T22:00:00Z',
    '2026-03-29T04:00:00Z',
    '06:00',
  ],
  [
    'a night in which they are set back',
    [{ times: ['22:00-06:00'], ...BERLIN }],
    '2026-10-24T21:00:00Z',
    '2026-10-25T05:00:00Z',
    '06:00',
  ],
  [
    'windows that follow one another',
    [{ times: ['20:00-24:00'] }, { times: ['00:00-07:00'] }],
    '2026-01-02T21:00:00Z',
    '2026-01-03T07:00:00Z',
    '07:00',
  ],
])('finds the end of %s', (_, windows, at, end, localTime) => {
  const parsed = calendarWindows.parse(windows);
  expect(windowsEnd(parsed, Date.parse(at))).toMatchObject({ at: Date.parse(end), localTime });
});

it('finds no end where windows follow one another for ever, nor where nothing is muted', () => {
  const at = Date.parse('2026-01-02T12:00:00Z');
  expect(windowsEnd(calendarWindows.parse([{ weekdays: ['mon-sun'] }]), at)).toMatchObject({
    at: undefined,
    window: 0,
  });
  expect(windowsEnd(calendarWindows.parse([{ months: [2] }]), at)).toBeUndefined();
});

it('agrees with whether it is muted, minute by minute over the change of clocks', () => {
  const windows = calendarWindows.parse([
    { times: ['01:30-03:15', '23:10-00:20'], ...BERLIN },
    { times: ['02:00-02:45'], weekdays: ['sun'] },
  ]);
  for (const day of ['2026-03-28T21:00:00Z', '2026-10-24T21:00:00Z'])
    for (let minute = 0; minute < 600; minute++) {
      const at = Date.parse(day) + minute * 60_000;
      let end = at;
      while (isInWindows(windows, end)) end += 60_000;
      expect(windowsEnd(windows, at)?.at ?? at).toBe(end);
    }
});
