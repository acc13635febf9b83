import { AppError } from './errors.ts';

/** What one body may hold. */
interface ReadingLimits {
  /** Values of JSON, fields of protobuf, lines of text: what costs time and memory to read, whatever it holds. */
  readonly values: number;
  /** Points of series; without it there is no limit but that of the values. */
  readonly points?: number;
  /** What the points are called to the sender, "points" by default. */
  readonly pointName?: string;
}

/** Values between two pauses: some 20 ms of reading. */
const VALUES_A_SLICE = 20_000;
/** What a point costs more than the values it is made of. */
const VALUES_A_POINT = 10;

/**
 * Counts what is read of one body while it is read, so that time and memory are spent on no more than its limits, however
 * well the body was packed. Every reader asks it before it keeps anything.
 */
export class ReadingBudget {
  readonly #limits: ReadingLimits;
  #values = 0;
  #points = 0;
  #sincePause = 0;

  constructor(limits: ReadingLimits) {
    this.#limits = limits;
  }

  /** Throws `invalid-request` for one more than there may be. */
  takeValue(): void {
    this.#sincePause++;
    if (++this.#values > this.#limits.values) throw tooMany(this.#limits.values, 'values');
  }

  /** Throws `invalid-request` for one more than there may be. */
  takePoint(): void {
    const { points = Number.POSITIVE_INFINITY, pointName = 'points' } = this.#limits;
    this.#sincePause += VALUES_A_POINT;
    if (++this.#points > points) throw tooMany(points, pointName);
  }

  /** True when so much was read since the last pause that other work should go on; then it counts as made. */
  isPauseDue(): boolean {
    if (this.#sincePause < VALUES_A_SLICE) return false;
    this.#sincePause = 0;
    return true;
  }
}

const tooMany = (most: number, what: string): AppError =>
  new AppError('invalid-request', `The body has more than ${most} ${what}; send fewer at a time`);
