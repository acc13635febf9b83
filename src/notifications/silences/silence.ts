import type { HeadgateEvent } from '../../events/event.ts';
import type { SilenceRow } from '../../storage/stores/silences.ts';
import { compileMatchers, type FieldValue, type Matcher } from '../matchers.ts';

/** A silence with its matchers compiled. Times are epoch ms. */
export interface Silence {
  readonly id: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly isUntilResolved: boolean;
  readonly comment: string;
  readonly createdBy: string;
  /** A value that a field must have, by which it is found; undefined where no matcher asks for one. */
  readonly equal: Pick<Matcher, 'name' | 'value'> | undefined;
  /** Its matchers as the store has them. */
  readonly matchers: string;
  matches(value: FieldValue): boolean;
}

/** They were checked when they were written. */
export const matchersOf = (row: Pick<SilenceRow, 'matchers'>): readonly Matcher[] => JSON.parse(row.matchers);

/** `before`: the silence as it was read last; its matchers are compiled once. */
export function readSilence(row: SilenceRow, before?: Silence): Silence {
  const changing = {
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    comment: row.comment,
  };
  if (before?.matchers === row.matchers) return { ...before, ...changing };
  const matchers = matchersOf(row);
  const equal = matchers.find(({ op, value }) => op === '=' && value !== '');
  return {
    id: row.id,
    ...changing,
    isUntilResolved: row.until_resolved === 1,
    createdBy: row.created_by,
    equal,
    matchers: row.matchers,
    matches: compileMatchers(matchers),
  };
}

/** The event as it is sent once the silence that held it back has ended. */
export const withEndedSilence = (
  event: HeadgateEvent,
  { id, comment, createdBy, endsAt }: Silence,
): HeadgateEvent => ({
  ...event,
  silence: id,
  silenceComment: comment,
  silenceAuthor: createdBy,
  _raw: `${event._raw} (silenced until ${new Date(endsAt).toISOString()} by ${createdBy}: ${comment})`,
});
