import type { Alternation, StartHistory } from '../components/state.ts';
import { goesOn } from './counter.ts';

/** A counter of an instance that was read anew. */
export interface CounterStep {
  readonly entry: number;
  readonly last: number;
  readonly value: number;
  /** Number of the instance's reading. */
  readonly reading: number;
  /** The page shows the start of a process that an earlier page showed, and the page before did not. */
  readonly startReturned?: boolean;
}

/**
 * Whether the counters of an instance go back to where they were, as when several processes answer at one address. One
 * counter is followed, the largest that fell first. Two processes show as it falls, comes back to where it was, and falls
 * to where it was before: a process that restarts does not. More of them, or one that restarts all the time, show as it
 * falls again and again. A fall to 0 proves nothing, as all counters begin there. No restart brings an earlier start
 * back: a counter that falls or comes back with one shows several processes at once.
 */
export function nextAlternation(before: Alternation | undefined, step: CounterStep): Alternation | undefined {
  const { entry, last, value, reading } = step;
  if (value < last) {
    const falls = value > 0 ? [reading] : [];
    if (before === undefined || isLargerOfTheSameFall(before, step)) {
      const first = { entry, upper: last, lower: Number.NaN, moves: 1, movedAt: reading, falls };
      return withStart(first, step);
    }
    if (before.entry !== entry) return before;
    return withStart(fallAgain(before, step, [...before.falls, ...falls].slice(-FREQUENT_FALLS)), step);
  }
  if (before?.entry !== entry) return before;
  if (value >= before.upper && last < before.upper)
    return withStart({ ...before, lower: last, moves: before.moves + 1, movedAt: reading }, step);
  return step.startReturned === true && !goesOn(last, value)
    ? withStart({ ...before, movedAt: reading }, step)
    : before;
}

/** A start that a clock corrects back and forth is no evidence against a counter that goes on. */
const withStart = (alternation: Alternation, { startReturned, last, value }: CounterStep): Alternation =>
  startReturned === true && !goesOn(last, value)
    ? { ...alternation, moves: Math.max(alternation.moves, ENOUGH_MOVES) }
    : alternation;

/** Starts of processes that are remembered: more processes than that behind one address show by their numbers. */
const MOST_STARTS = 8;
/** Starts are measured by clocks that are corrected, and uptimes may be whole seconds. */
const START_TOLERANCE_MS = 3000;

/** What a page adds that shows a start, or NaN. Clocks that are corrected move a start, by little and back: that is the same. */
export function nextStart(before: StartHistory | undefined, start: number): StartHistory | undefined {
  if (Number.isNaN(start)) return before && { ...before, returned: false };
  const isSame = (other: number): boolean => Math.abs(other - start) <= START_TOLERANCE_MS;
  const known = before?.starts ?? [];
  const last = known.at(-1);
  const others = known.filter(other => !isSame(other));
  return {
    starts: [...others, start].slice(-MOST_STARTS),
    returned: last !== undefined && !isSame(last) && others.length < known.length,
  };
}

function fallAgain(
  before: Alternation,
  { entry, last, value, reading }: CounterStep,
  falls: readonly number[],
): Alternation {
  const [first = reading] = falls;
  const isFrequent = falls.length === FREQUENT_FALLS && reading - first < FREQUENT_WITHIN_READINGS;
  const isBack = before.lower > 0 && value >= before.lower && last >= before.upper;
  const moves = isBack || isFrequent ? before.moves + 1 : 1;
  return {
    entry,
    upper: last,
    lower: isBack ? before.lower : Number.NaN,
    moves: isFrequent ? Math.max(moves, ENOUGH_MOVES) : moves,
    movedAt: reading,
    falls,
  };
}

const isLargerOfTheSameFall = (
  { moves, movedAt, upper }: Alternation,
  { reading, last }: CounterStep,
): boolean => moves === 1 && movedAt === reading && last > upper;

/** A fall, a return and a second fall. */
const ENOUGH_MOVES = 3;
/** So many falls within so many readings are of several processes, wherever they fall to. */
const FREQUENT_FALLS = 3;
const FREQUENT_WITHIN_READINGS = 16;
/** Readings without a move after which it is over, until the next one. */
const CALM_READINGS = 10;

/** True while nothing of the instance can be counted. */
export const alternates = (alternation: Alternation | undefined, reading: number): boolean =>
  alternation !== undefined &&
  alternation.moves >= ENOUGH_MOVES &&
  reading - alternation.movedAt <= CALM_READINGS;
