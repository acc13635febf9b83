import * as z from 'zod';
import { parseDuration } from '../lib/duration.ts';

const UNIT = 'must be a number of seconds, or a duration such as 30s';

/** The time limit of a step in seconds, which may also be written as a duration such as `30s`. */
export const stepLimit = ({ byDefault, most }: { readonly byDefault: number; readonly most: number }) =>
  z
    .preprocess(
      value => (typeof value === 'string' ? inSeconds(value) : value),
      z
        .number({ error: ({ code }) => (code === 'invalid_type' ? UNIT : undefined) })
        .min(1)
        .max(most),
    )
    .prefault(byDefault);

/** A text that is no duration stays, and is refused. */
function inSeconds(text: string): number | string {
  const ms = parseDuration(text);
  return ms === undefined ? text : ms / 1000;
}
