import { AppError } from '../../lib/errors.ts';

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
  /** When its counter began, where the sender says so; else ''. A counter that begins anew is another series. */
  readonly incarnation: string;
}

/** Points that one request may hold. */
const MAX_POINTS = 200_000;
/** Labels that one series may have. */
const MAX_LABELS = 64;

/** Throws `invalid-request` when there are too many for one more. */
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
