import { expect, it } from 'vitest';
import { isMuted, muteWindows } from './mute.ts';

const muted = (window: object, at: string): boolean => isMuted(muteWindows.parse([window]), Date.parse(at));

const BERLIN = { timezone: 'Europe/Berlin' };

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
  ['ends by the clock on the wall', { ...BERLIN, times: ['22:00-06:00'] }, '2026-03-29T04:00:00Z', false],
])('%s', (_, window, at, expected) => {
  expect(muted(window, at)).toBe(expected);
});

it('mutes nothing without windows', () => {
  expect(isMuted([], 0)).toBe(false);
});
