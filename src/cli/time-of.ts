import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../lib/duration.ts';

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time as the API takes it, from how long ago it was, or from itself. `now` is in epoch ms. */
export function timeOf(text: string, now: number): string {
  const ago = parseDuration(text);
  const time = ago === undefined ? (TIME.test(text) ? Date.parse(text) : Number.NaN) : now - ago;
  if (Number.isNaN(time))
    throw new InvalidArgumentError(
      'It must be how long ago, such as 2h, or a time such as 2026-01-31T08:00:00Z.',
    );
  return new Date(time).toISOString();
}
