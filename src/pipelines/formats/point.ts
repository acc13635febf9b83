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
  readonly life: string;
}

/** As many points one request may hold. */
const MOST_POINTS = 200_000;
/** And so many labels one series. */
const MOST_LABELS = 64;

/** Throws `invalid-request` when there is no room for one more. */
export function assertRoom(points: readonly Point[]): void {
  if (points.length >= MOST_POINTS)
    throw new AppError(
      'invalid-request',
      `The body has more than ${MOST_POINTS} points; send fewer at a time`,
    );
}

/** Throws `invalid-request` for a series with too many labels. */
export function assertFewLabels(count: number): void {
  if (count > MOST_LABELS)
    throw new AppError(
      'invalid-request',
      `A series has more than ${MOST_LABELS} labels; drop some at the sender`,
    );
}
