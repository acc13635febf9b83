import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';

/** Parts that must be stopped, in the order in which they were started. */
export interface Teardown {
  add(name: string, end: () => Promise<void> | void): void;
  /** Stops all in reverse; a failing part does not keep the others. A second call waits for the first. */
  readonly run: () => Promise<void>;
}

export function createTeardown(logger: Logger): Teardown {
  const ends: { readonly name: string; readonly end: () => Promise<void> | void }[] = [];
  let running: Promise<void> | undefined;

  async function endAll(): Promise<void> {
    for (const { name, end } of ends.reverse()) {
      try {
        await end();
      } catch (error) {
        logger.error({ part: name, reason: reasonOf(error) }, 'a part did not stop cleanly');
      }
    }
  }

  return {
    add: (name, end) => void ends.push({ name, end }),
    run() {
      running ??= endAll();
      return running;
    },
  };
}
