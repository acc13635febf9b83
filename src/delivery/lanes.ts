import { setMaxListeners } from 'node:events';
import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow } from '../storage/storage.ts';
import { routedTo } from '../targets/routed.ts';
import type { Target } from '../targets/target.ts';
import type { Attempts } from './attempt.ts';
import type { ToldFailing } from './health.ts';
import { beforeId, createLane, type Lane, type LaneOptions } from './lane.ts';
import { createPaces } from './pace.ts';
import { createQuota, NO_QUOTA } from './quota.ts';
import { createSlots } from './slots.ts';

/** How long a graceful stop waits for attempts under way; the rest stays in the store. */
const GRACE_MS = 10_000;

export interface LanesOptions extends Omit<Attempts, 'signal'> {
  /** What was last told of the targets that were failing when somebody last looked, by their ids. */
  readonly failing: ReadonlyMap<string, ToldFailing>;
  /** Until when (epoch ms) targets asked for nothing to be sent when somebody last looked, by their ids. */
  readonly paused: ReadonlyMap<string, number>;
  readonly news: LaneOptions['news'];
  /** Told of a delivery that was skipped because too many wait. Left out, nobody is. */
  readonly dropped?: (row: DeliveryRow) => void;
  /** How many deliveries all lanes may begin in a minute, and who is told when they wait for it. Left out, nobody bounds them. */
  readonly quota?: { readonly perMinute: number; readonly reached: () => void } | undefined;
}

/** One lane per target: a slow or dead target never slows another. */
export interface Lanes {
  /**
   * Opens lanes for new targets, hands changed ones their new settings, and ends those of removed targets. Former
   * targets are removed ones whose last settings are known: they are told the ends of what they were told, and the rest
   * waits.
   */
  configure(targets: readonly Target[], former?: readonly Target[]): void;
  /** Takes over deliveries that were just committed, all of one event. */
  enqueue(rows: readonly DeliveryRow[], event: HeadgateEvent): void;
  /** Deliveries of these targets, `first` or later ones, are in the store that were not handed over. */
  released(targets: Iterable<string>, first: string): void;
  /** Deliveries of these targets were put back into the queue in the store. */
  requeued(targets: Iterable<string>): void;
  /** Why what is due for a target waits its turn; undefined when it does not. */
  heldBecause(target: string): string | undefined;
  /** The lane that has moved least, as `Lane.overdueMs` says; undefined when all move or rest. */
  slowest(): { readonly target: string; readonly overdueMs: number } | undefined;
  /** Without `inTime` what is under way is cut off at once: another process may be sending it already. */
  stop(inTime?: boolean): Promise<void>;
}

export function createLanes(options: LanesOptions): Lanes {
  const lanes = new Map<string, Lane>();
  let configured: ReadonlyMap<string, Target> = new Map();
  const ending = new Map<string, Promise<void>>();
  const slots = createSlots(() => options.settings().concurrency);
  const quota = options.quota === undefined ? NO_QUOTA : createQuota({ ...options, ...options.quota });
  const pace = createPaces();
  /** Only until a target is removed: one that comes back begins anew. */
  const failing = new Map(options.failing);
  const paused = new Map(options.paused);
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);

  /** Former lanes of the same target are waited for as well. */
  function end(id: string, lane: Lane): void {
    const ended = Promise.all([ending.get(id), lane.stop()]).then(() => {
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
      : routedTo([fallback], event, configured).filter(id => id !== settings.id);
  }

  /** A target that comes back waits for its former lane, lest both send the same delivery. */
  function open(id: string, target: Target): Lane {
    const lane = createLane({
      ...options,
      signal: abort.signal,
      target,
      slots,
      pace,
      quota,
      fallbacks: fallbacksOf,
      toldFailing: failing.get(id),
      pausedUntil: paused.get(id),
      handedOver: (other, delivery) => lanes.get(other)?.look(beforeId(delivery)),
    });
    lanes.set(id, lane);
    void (ending.get(id) ?? Promise.resolve()).then(() => lane.start());
    return lane;
  }

  function serve(target: Target, isFormer: boolean): void {
    const { id } = target.settings;
    (lanes.get(id) ?? open(id, target)).use(target, isFormer);
  }

  return {
    configure(targets, former = []) {
      configured = new Map(targets.map(target => [target.settings.id, target]));
      const kept = new Set([...configured.keys(), ...former.map(target => target.settings.id)]);
      for (const id of failing.keys()) if (!configured.has(id)) failing.delete(id);
      for (const [id, lane] of lanes) {
        if (kept.has(id)) continue;
        lanes.delete(id);
        paused.delete(id);
        end(id, lane);
      }
      for (const target of former) serve(target, true);
      for (const target of targets) serve(target, false);
    },
    enqueue(rows, event) {
      for (const row of rows) lanes.get(row.target)?.add(row, event);
    },
    released(targets, first) {
      for (const id of targets) lanes.get(id)?.look(beforeId(first));
    },
    requeued(targets) {
      for (const id of targets) lanes.get(id)?.lookAnew();
    },
    heldBecause: target => (lanes.get(target)?.isHeld() ? quota.notice : undefined),
    slowest() {
      const overdue = [...lanes].map(([target, lane]) => ({ target, overdueMs: lane.overdueMs() }));
      const [first] = overdue.sort((one, other) => other.overdueMs - one.overdueMs);
      return first === undefined || first.overdueMs === 0 ? undefined : first;
    },
    async stop(inTime = true) {
      if (!inTime) abort.abort();
      for (const [id, lane] of lanes) end(id, lane);
      const cancel = options.clock.after(GRACE_MS, () => abort.abort());
      await Promise.all(ending.values());
      cancel();
    },
  };
}
