import { AppError } from '../../lib/errors.ts';

/** One value of a series that was pushed by name and labels. */
export interface Point {
  /** As Prometheus would call it. */
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** The process it tells of, where the sender names it apart from the labels. */
  readonly instance: string | undefined;
  readonly value: number;
  /** Epoch ms, or NaN. */
  readonly time: number;
  /** A `delta` is an increase itself. */
  readonly temporality: 'cumulative' | 'delta';
  /** Tells one life of a counter from the next, where the sender says when it began; else ''. */
  readonly incarnation: string;
}

/** As many points one request may hold. */
const MAX_POINTS = 200_000;
/** And so many labels one series. */
const MAX_LABELS = 64;

/** Throws `invalid-request` when there is no room for one more. */
export function assertMorePointsFit(points: readonly Point[]): void {
  if (points.length >= MAX_POINTS)
    throw new AppError(
      'invalid-request',
      `The body has more than ${MAX_POINTS} points; send fewer at a time`,
    );
}

/** Throws `invalid-request` for a series with too many labels. */
export function assertFewLabels(count: number): void {
  if (count > MAX_LABELS)
    throw new AppError(
      'invalid-request',
      `A series has more than ${MAX_LABELS} labels; drop some at the sender`,
    );
}
