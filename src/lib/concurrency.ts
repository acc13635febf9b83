/** Runs work with a permit. Throws what `refuse` makes when too much waits already. */
export type WithPermit = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** At most `concurrent` pieces of work run and `waiting` wait, in the order of asking. */
export function createConcurrencyLimit(options: {
  readonly concurrent: number;
  readonly waiting: number;
  readonly refuse: () => Error;
}): WithPermit {
  let running = 0;
  const queue: (() => void)[] = [];

  async function acquire(): Promise<void> {
    if (running < options.concurrent) {
      running += 1;
      return;
    }
    if (queue.length >= options.waiting) throw options.refuse();
    await new Promise<void>(resolve => queue.push(resolve));
  }

  /** Hands the permit to the next one waiting without freeing it, so that no other call can take it. */
  function release(): void {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  return async work => {
    await acquire();
    try {
      return await work();
    } finally {
      release();
    }
  };
}
