/** What one evaluation may take. */
export interface Bounds {
  /** Parts evaluated, a long text or list counting for more. */
  readonly steps: number;
  /** Characters of any one text; all texts made on the way may hold sixteen times as many. */
  readonly characters: number;
}

export const BOUNDS: Bounds = { steps: 100_000, characters: 64 * 1024 };

const TEXTS_ON_THE_WAY = 16;

/** Thrown by an evaluation that cannot go on. Its message is for whoever wrote the expression and quotes no value. */
export class ExpressionFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExpressionFailure';
  }
}

/** Counts what an evaluation takes; throws `ExpressionFailure` when it is too much. */
export interface Budget {
  /** So many parts are about to be evaluated. */
  step(count: number): void;
  /** A text of that length is about to be made. */
  text(length: number): void;
}

export function createBudget({ steps, characters }: Bounds): Budget {
  let stepsLeft = steps;
  let charactersLeft = characters * TEXTS_ON_THE_WAY;
  return {
    step(count) {
      stepsLeft -= count;
      if (stepsLeft < 0) throw new ExpressionFailure(`it takes more than ${steps} steps`);
    },
    text(length) {
      charactersLeft -= length;
      if (length > characters || charactersLeft < 0)
        throw new ExpressionFailure(`it makes a text of more than ${characters} characters`);
    },
  };
}
