/** Limits the attempts in flight at once over all targets. */
export interface ConcurrencyLimit {
  /** `wake` is called when the worker was refused a permit and one is free. */
  join(wake: () => void): Permits;
}

export interface Permits {
  /** False when none is free; the worker is then in line for the next one. */
  tryAcquire(): boolean;
  release(): void;
  /** True while the worker is in line. */
  readonly isWaiting: boolean;
}

/**
 * Each worker has one permit of its own, whatever others do: targets that hang keep none from being served. Beyond that
 * workers share `max` permits, and those that wait are served round-robin, one permit each.
 */
export function createConcurrencyLimit(max: () => number): ConcurrencyLimit {
  const waiting = new Set<() => void>();
  let shared = 0;

  function serveNext(): void {
    for (const wake of waiting) {
      if (shared >= max()) return;
      waiting.delete(wake);
      wake();
    }
  }

  return {
    join(wake) {
      let hasOwn = false;
      let taken = 0;
      return {
        get isWaiting() {
          return waiting.has(wake);
        },
        tryAcquire() {
          if (!hasOwn) {
            hasOwn = true;
            return true;
          }
          if (shared >= max()) {
            waiting.add(wake);
            return false;
          }
          shared += 1;
          taken += 1;
          return true;
        },
        release() {
          if (taken === 0) {
            hasOwn = false;
            return;
          }
          taken -= 1;
          shared -= 1;
          serveNext();
        },
      };
    },
  };
}
