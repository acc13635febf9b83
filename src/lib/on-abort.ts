import { setMaxListeners } from 'node:events';

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `run` once when the signal aborts; the answer takes that back. Many that wait for one signal share one listener:
 * each of their own would cost more than the request it guards.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const waiting = listeners.get(signal) ?? listenTo(signal);
  waiting.add(run);
  return () => waiting.delete(run);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  listeners.set(signal, waiting);
  setMaxListeners(0, signal);
  signal.addEventListener('abort', () => {
    for (const run of waiting) run();
    waiting.clear();
  });
  return waiting;
}
