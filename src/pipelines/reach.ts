import type { Clock } from '../lib/clock.ts';
import type { PipelineState } from './component.ts';

/** How often one pipeline was asked or heard of, and for how long not. */
export interface Reach {
  /** Something of it was read, or pushed. `at` is on the monotonic clock, before what came was taken in. */
  reached(at: number): void;
  failed(): void;
  /** It is watched from now on, after `unreachedMs` in which an earlier process heard nothing of it. */
  restore(unreachedMs: number): void;
  state(): Pick<PipelineState, 'readings' | 'unreachedMs'>;
}

export function createReach(clock: Pick<Clock, 'monotonic'>): Reach {
  let readings = 0;
  let reachedAt = clock.monotonic();
  return {
    reached(at) {
      readings++;
      reachedAt = at;
    },
    failed() {
      readings++;
    },
    restore(unreachedMs) {
      reachedAt = clock.monotonic() - unreachedMs;
    },
    state: () => ({ readings, unreachedMs: clock.monotonic() - reachedAt }),
  };
}
