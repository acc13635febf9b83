import type { Budget } from './budget.ts';
import type { Fields } from './values.ts';

/** What one evaluation works on. */
export interface Frame {
  readonly fields: Fields;
  /** Parameters of arrows, each in the slot it was given. */
  readonly locals: unknown[];
  readonly budget: Budget;
}

export type Run = (frame: Frame) => unknown;
