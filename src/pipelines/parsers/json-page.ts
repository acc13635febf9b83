import { AppError, reasonOf } from '../../lib/errors.ts';
import { parseJson } from '../../lib/json.ts';

/** One number of a page of JSON, named by its place there so that a profile can match it like a series. */
export interface Stat {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
  /** Differs each time its counter begins anew, where the engine shows that; else ''. */
  readonly incarnation: string;
}

/** The numbers of a page of JSON. */
export interface Stats {
  readonly stats: readonly Stat[];
  /** Entries that cannot be read and are skipped. */
  readonly bad: number;
}

/**
 * Reads the pages of one process, one after the other; `restarted` when its counters began anew, `listed` how many entries
 * the page lists, read or not.
 */
export type JsonReader = (text: string) => Stats & { readonly restarted?: boolean; readonly listed: number };

/** Numbers that one page may hold. */
const MOST_STATS = 200_000;

/** Values of all kinds that one page may hold. */
const MOST_VALUES = 4_000_000;

/** The value of a page. Throws `invalid-request`, which says what the page should be. */
export function readPage(text: string, expected: string): unknown {
  try {
    return parseJson(text, { mostValues: MOST_VALUES, numbers: 'nearest' });
  } catch (error) {
    throw notThat(expected, reasonOf(error).replace(/^The body/, 'it'));
  }
}

/** The error for a page that is something else. */
export const notThat = (expected: string, why: string): AppError =>
  new AppError('invalid-request', `not ${expected}: ${why}`);

/** Throws `invalid-request` when there are too many. */
export function assertStatsFit(stats: readonly Stat[]): void {
  if (stats.length > MOST_STATS)
    throw new AppError('invalid-request', `the page has more than ${MOST_STATS} values`);
}

/** Adds a value of the page; one that is missing or null adds nothing. */
export function addStat(
  stats: Stat[],
  name: string,
  value: number | null | undefined,
  of: Pick<Stat, 'labels' | 'incarnation'>,
): void {
  if (typeof value === 'number') stats.push({ name, value, ...of });
}
