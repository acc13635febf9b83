/** Runs one piece of work at a time, in the order of asking. */
export interface Mutex {
  /** Settles as `work` does. It begins once all work before it has settled, well or not. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Resolves once all work so far has settled. Never rejects. */
  idle(): Promise<void>;
  /** True while nothing runs or waits. */
  isFree(): boolean;
}

/** Work must not wait for the same mutex: it would wait for its own end. */
export const createMutex = (): Mutex => new PromiseMutex();

class PromiseMutex implements Mutex {
  #last: Promise<void> = Promise.resolve();
  #pending = 0;

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#pending += 1;
    const result = this.#last.then(work);
    const settled = (): void => {
      this.#pending -= 1;
    };
    this.#last = result.then(settled, settled);
    return result;
  }

  idle(): Promise<void> {
    return this.#last;
  }

  isFree(): boolean {
    return this.#pending === 0;
  }
}
