import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { PipelineState } from './component.ts';

type State = Pick<
  PipelineState,
  'state' | 'lastAt' | 'unreachableSince' | 'error' | 'readings' | 'unreachedMs'
>;

/** How reading one pipeline, or hearing from it, goes. */
export interface Reach {
  /** It was read, or something was pushed. `at` is on the monotonic clock, before what came was taken in. */
  reached(at: number): void;
  failed(reason: string): void;
  /** It is watched from now on, after `unreachedMs` in which an earlier process heard nothing of it. */
  restore(unreachedMs: number): void;
  state(): State;
}

export function createReach({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }): Reach {
  let lastAt: number | null = null;
  let unreachableSince: number | null = null;
  let error: string | null = null;
  let readings = 0;
  let reachedAt = clock.monotonic();

  return {
    reached(at) {
      readings++;
      reachedAt = at;
      lastAt = clock.now();
      if (error !== null) logger.info({}, 'The pipeline can be read again');
      error = null;
      unreachableSince = null;
    },
    failed(reason) {
      readings++;
      lastAt = clock.now();
      unreachableSince ??= lastAt;
      if (error !== reason) logger.warn({ reason }, 'The pipeline cannot be read');
      error = reason;
    },
    restore(unreachedMs) {
      reachedAt = clock.monotonic() - unreachedMs;
    },
    state: () => ({
      state: error !== null ? 'unreachable' : lastAt === null ? 'waiting' : 'reachable',
      lastAt,
      unreachableSince,
      error,
      readings,
      unreachedMs: clock.monotonic() - reachedAt,
    }),
  };
}
