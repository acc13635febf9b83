import { AppError } from '../../lib/errors.ts';
import { ReadingBudget } from '../../lib/reading-budget.ts';

/** One value of a series that was pushed by name and labels. */
export interface Point {
  /** As Prometheus would call it. */
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** The process it belongs to, where the sender names it outside the labels. */
  readonly instance: string | undefined;
  readonly value: number;
  /** Epoch ms, or NaN. */
  readonly time: number;
  /** A `delta` is an increase itself. */
  readonly temporality: 'cumulative' | 'delta';
  /** Epoch ms at which its counter, or the time it is the increase of, began; NaN where the sender does not say. */
  readonly start: number;
}

/** Takes each point as it is read: what belongs to no input or output is never kept. */
export type TakePoint = (point: Point) => void;

/** Points that one request may hold, those without a value included. */
const MAX_POINTS = 200_000;
/** Fields of protobuf that one request may hold, those that are read twice counting twice: 30 for each point. */
const MAX_FIELDS = 6_000_000;
/** Labels that one series may have. */
const MAX_LABELS = 64;

/** The budget of one request with points. */
export const pointBudget = (): ReadingBudget => new ReadingBudget({ values: MAX_FIELDS, points: MAX_POINTS });

/** Throws `invalid-request` for a series with too many labels; one that comes twice counts twice. */
export function assertFewLabels(count: number): void {
  if (count > MAX_LABELS)
    throw new AppError(
      'invalid-request',
      `A series has more than ${MAX_LABELS} labels; drop some at the sender`,
    );
}
