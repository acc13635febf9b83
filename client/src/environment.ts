/** What the client takes from its surroundings; tests put their own in. */
export interface Environment {
  readonly fetch: typeof fetch;
  /** Epoch ms. */
  readonly now: () => number;
  /** Rejects with the signal's reason when it is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** 0 to 1. */
  readonly random: () => number;
}

export const surroundings: Environment = {
  fetch: (...request) => globalThis.fetch(...request),
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', aborted, { once: true });
      function done(): void {
        signal?.removeEventListener('abort', aborted);
        resolve();
      }
      function aborted(): void {
        clearTimeout(timer);
        reject(signal?.reason);
      }
    }),
};
