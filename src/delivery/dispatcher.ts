import { setMaxListeners } from 'node:events';
import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import { resolveRoutes, type Target } from '../targets/target.ts';
import type { DeliveryContext } from './attempt.ts';
import type { FailingState } from './health.ts';
import { createConcurrencyLimit } from './limits/concurrency.ts';
import { createQuota, NO_QUOTA } from './limits/quota.ts';
import { createRateLimiters } from './limits/rate.ts';
import { beforeId, createDeliveryWorker, type DeliveryWorker, type DeliveryWorkerOptions } from './worker.ts';

/** How long a graceful stop waits for attempts under way; the rest stays in the store. */
const GRACE_MS = 10_000;

export interface DispatcherOptions extends Omit<DeliveryContext, 'signal'> {
  /** What was last told of the targets that were failing when somebody last looked, by their ids. */
  readonly failing: ReadonlyMap<string, FailingState>;
  /** Until when (epoch ms) targets asked for nothing to be sent when somebody last looked, by their ids. */
  readonly paused: ReadonlyMap<string, number>;
  readonly onHealthChange: DeliveryWorkerOptions['onHealthChange'];
  /** Told of a delivery that was skipped because too many wait. Left out, nobody is. */
  readonly onDropped?: (row: DeliveryRow) => void;
  /** How many deliveries all lanes may begin in a minute, and who is told when they wait for it. Left out, nobody bounds them. */
  readonly quota?: { readonly perMinute: number; readonly onReached: () => void } | undefined;
}

/** One lane per target: a slow or dead target never slows another. */
export interface Dispatcher {
  /**
   * Opens lanes for new targets, hands changed ones their new settings, and ends those of removed targets. Former
   * targets are removed ones whose last settings are known: they are told the ends of what they were told, and the rest
   * waits.
   */
  configure(targets: readonly Target[], removed?: readonly Target[]): void;
  /** Takes over deliveries that were just committed, all of one event. */
  enqueue(rows: readonly DeliveryRow[], event: HeadgateEvent): void;
  /** Deliveries of these targets, `first` or later ones, are in the store that were not handed over. */
  readFrom(targets: Iterable<string>, first: string): void;
  /** Deliveries of these targets were put back into the queue in the store. */
  reload(targets: Iterable<string>): void;
  /** Why what is due for a target waits its turn; undefined when it does not. */
  waitReason(target: string): string | undefined;
  /** The lane that has moved least, as `Lane.overdueMs` says; undefined when all move or rest. */
  mostOverdue(): { readonly target: string; readonly overdueMs: number } | undefined;
  /** Without `inTime` what is under way is cut off at once: another process may be sending it already. */
  stop(isGraceful?: boolean): Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const workers = new Map<string, DeliveryWorker>();
  let configured: ReadonlyMap<string, Target> = new Map();
  const ending = new Map<string, Promise<void>>();
  const concurrency = createConcurrencyLimit(() => options.settings().concurrency);
  const quota = options.quota === undefined ? NO_QUOTA : createQuota({ ...options, ...options.quota });
  const rateLimiter = createRateLimiters();
  /** Only until a target is removed: one that comes back begins anew. */
  const failing = new Map(options.failing);
  const paused = new Map(options.paused);
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);

  /** Former lanes of the same target are waited for as well. */
  function endWorker(id: string, worker: DeliveryWorker): void {
    const ended = Promise.all([ending.get(id), worker.stop()]).then(() => {
      if (ending.get(id) === ended) ending.delete(id);
    });
    ending.set(id, ended);
  }

  /** Without its event nobody knows where a router leads, nor could anybody be sent it. */
  function fallbacksOf({ fallback, settings }: Target, event: HeadgateEvent | undefined): readonly string[] {
    if (fallback === undefined) return [];
    if (configured.get(fallback)?.routes === undefined) return [fallback];
    return event === undefined
      ? []
      : resolveRoutes([fallback], event, configured).filter(id => id !== settings.id);
  }

  /** A target that comes back waits for its former lane, lest both send the same delivery. */
  function startWorker(id: string, target: Target): DeliveryWorker {
    const worker = createDeliveryWorker({
      ...options,
      signal: abort.signal,
      target,
      concurrency,
      rateLimiter,
      quota,
      fallbacks: fallbacksOf,
      lastHealth: failing.get(id),
      pausedUntil: paused.get(id),
      onFallbackDelivery: (other, delivery) => workers.get(other)?.readFrom(beforeId(delivery)),
    });
    workers.set(id, worker);
    void (ending.get(id) ?? Promise.resolve()).then(() => worker.start());
    return worker;
  }

  function serve(target: Target, isRemoved: boolean): void {
    const { id } = target.settings;
    (workers.get(id) ?? startWorker(id, target)).configure(target, isRemoved);
  }

  return {
    configure(targets, removed = []) {
      configured = new Map(targets.map(target => [target.settings.id, target]));
      const served = new Set([...configured.keys(), ...removed.map(target => target.settings.id)]);
      for (const id of failing.keys()) if (!configured.has(id)) failing.delete(id);
      for (const [id, worker] of workers) {
        if (served.has(id)) continue;
        workers.delete(id);
        paused.delete(id);
        endWorker(id, worker);
      }
      for (const target of removed) serve(target, true);
      for (const target of targets) serve(target, false);
    },
    enqueue(rows, event) {
      for (const row of rows) workers.get(row.target)?.add(row, event);
    },
    readFrom(targets, first) {
      for (const id of targets) workers.get(id)?.readFrom(beforeId(first));
    },
    reload(targets) {
      for (const id of targets) workers.get(id)?.reload();
    },
    waitReason: target => (workers.get(target)?.isWaitingForQuota() ? quota.notice : undefined),
    mostOverdue() {
      const overdue = [...workers].map(([target, worker]) => ({ target, overdueMs: worker.overdueMs() }));
      const [first] = overdue.sort((one, other) => other.overdueMs - one.overdueMs);
      return first === undefined || first.overdueMs === 0 ? undefined : first;
    },
    async stop(isGraceful = true) {
      if (!isGraceful) abort.abort();
      for (const [id, worker] of workers) endWorker(id, worker);
      const cancel = options.clock.after(GRACE_MS, () => abort.abort());
      await Promise.all(ending.values());
      cancel();
    },
  };
}
