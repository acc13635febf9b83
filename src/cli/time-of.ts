import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../lib/duration.ts';

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time as the API takes it, from how long ago it was, or from itself. `now` is in epoch ms. */
export const timeOf = (text: string, now: number): string =>
  timeFrom(text, ago => now - ago, 'how long ago, such as 2h');

/** The same of a time to come, from how far away it is, or from itself. */
export const timeAhead = (text: string, now: number): string =>
  timeFrom(text, away => now + away, 'in how long, such as 90d');

function timeFrom(text: string, at: (ms: number) => number, words: string): string {
  const ms = parseDuration(text);
  const time = ms === undefined ? (TIME.test(text) ? Date.parse(text) : Number.NaN) : at(ms);
  if (Number.isNaN(time))
    throw new InvalidArgumentError(`It must be ${words}, or a time such as 2026-01-31T08:00:00Z.`);
  return new Date(time).toISOString();
}
