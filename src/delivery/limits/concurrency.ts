/** How many attempts may be under way at once over all targets. */
export interface ConcurrencyLimit {
  /** A lane's share; `wake` is called when it was refused a slot and one is free. */
  join(wake: () => void): Permits;
}

export interface Permits {
  /** False when none is free; the lane is then in the line for the next one. */
  tryAcquire(): boolean;
  release(): void;
}

/**
 * Each lane has one slot of its own, whatever others do: targets that hang keep none from being served. Beyond that
 * lanes share `most`, and those that wait are served in turn, one slot each.
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
