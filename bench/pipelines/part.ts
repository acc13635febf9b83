import type { World } from './world.ts';

export interface Bench {
  readonly world: World;
  readonly runs: number;
  /** How long is measured. */
  readonly seconds: number;
}
