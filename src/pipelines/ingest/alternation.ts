import type { Alternation } from '../components/state.ts';

/** A counter of an instance that was read anew. */
export interface CounterStep {
  readonly entry: number;
  readonly last: number;
  readonly value: number;
  /** Number of the instance's reading. */
  readonly reading: number;
}

/**
 * Whether the counters of an instance go back to where they were, as when several processes answer at one address. One
 * counter is followed, the largest that fell first. It falls, comes back to where it was, and falls to where it was
 * before: a process that restarts does not. A fall to 0 proves nothing, as all counters begin there.
 */
export function nextAlternation(before: Alternation | undefined, step: CounterStep): Alternation | undefined {
  const { entry, last, value, reading } = step;
  if (value < last) {
    if (before === undefined || isLargerOfTheSameFall(before, step))
      return { entry, upper: last, lower: Number.NaN, moves: 1, movedAt: reading };
    if (before.entry !== entry) return before;
    const isBack = before.lower > 0 && value >= before.lower && last >= before.upper;
    return {
      entry,
      upper: last,
      lower: isBack ? before.lower : Number.NaN,
      moves: isBack ? before.moves + 1 : 1,
      movedAt: reading,
    };
  }
  if (before?.entry !== entry || value < before.upper || last >= before.upper) return before;
  return { ...before, lower: last, moves: before.moves + 1, movedAt: reading };
}

const isLargerOfTheSameFall = (
  { moves, movedAt, upper }: Alternation,
  { reading, last }: CounterStep,
): boolean => moves === 1 && movedAt === reading && last > upper;

/** A fall, a return and a second fall. */
const ENOUGH_MOVES = 3;
/** Readings without a move after which it is over, until the next one. */
const CALM_READINGS = 10;

/** True while nothing of the instance can be counted. */
export const alternates = (alternation: Alternation | undefined, reading: number): boolean =>
  alternation !== undefined &&
  alternation.moves >= ENOUGH_MOVES &&
  reading - alternation.movedAt <= CALM_READINGS;
