import { AppError, reasonOf } from '../../lib/errors.ts';
import { parseJsonInSlices } from '../../lib/json.ts';
import type { Slices } from '../../lib/slices.ts';

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
  /** Entries of the page, read or not. */
  readonly listed: number;
}

/**
 * Reads the pages of one process, one after the other; `restarted` when its counters began anew. Throws `invalid-request`
 * for a page of something else.
 */
export type JsonReader = (text: string) => Slices<Stats & { readonly restarted?: boolean }>;

/** Numbers that one page may hold. */
const MOST_STATS = 200_000;

/** Values of all kinds that one page may hold: a plugin that shows seven numbers of use has some forty. */
const MOST_VALUES = 2_000_000;

/** The value of a page. Throws `invalid-request`, which says what the page should be. */
export function* readPage(text: string, expected: string): Slices<unknown> {
  try {
    return yield* parseJsonInSlices(text, { mostValues: MOST_VALUES, numbers: 'nearest' });
  } catch (error) {
    throw notThat(expected, reasonOf(error).replace(/^The body/, 'it'));
  }
}

/** The error for a page that is something else. */
export const notThat = (expected: string, why: string): AppError =>
  new AppError('invalid-request', `not ${expected}: ${why}`);

/** Entries and numbers between two pauses: to validate one takes some microseconds. */
const STEPS_A_SLICE = 1000;

/** Collects the numbers of a page, entry by entry. */
export class StatList {
  readonly stats: Stat[] = [];
  /** Entries that cannot be read. */
  bad = 0;
  #steps = 0;

  /** Adds a value of the page; one that is missing or null adds nothing. Throws `invalid-request` for one too many. */
  add(name: string, value: number | null | undefined, of: Pick<Stat, 'labels' | 'incarnation'>): void {
    if (typeof value !== 'number') return;
    if (this.stats.length === MOST_STATS)
      throw new AppError('invalid-request', `the page has more than ${MOST_STATS} values`);
    this.stats.push({ name, value, ...of });
    this.#steps++;
  }

  /** Pauses where it is time to, before another entry is looked at. */
  *next(): Slices {
    if (++this.#steps < STEPS_A_SLICE) return;
    this.#steps = 0;
    yield;
  }
}
