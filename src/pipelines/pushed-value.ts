import type { Discovery } from './intake.ts';

/** One value that was pushed, under a text that names its series within its sender. */
export interface PushedValue {
  readonly series: string;
  /** Asked once for each series. */
  readonly discover: () => Discovery;
  readonly value: number;
  /** Epoch ms, or NaN. */
  readonly time: number;
}
