import { setMaxListeners } from 'node:events';
import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import type { Attempts } from './attempt.ts';
import { createLane, type Lane } from './lane.ts';

/** How long a graceful stop waits for attempts under way; the rest stays in the store. */
const GRACE_MS = 10_000;

/** One lane per target: a slow or dead target never slows another. */
export interface Lanes {
  /** Opens lanes for new targets, hands changed ones their new settings, and ends those of removed targets. */
  configure(targets: readonly Target[]): void;
  /** Takes over deliveries that were just committed, all of one event. */
  enqueue(rows: readonly DeliveryRow[], event: HeadgateEvent): void;
  /** Without `inTime` what is under way is cut off at once: another process may be sending it already. */
  stop(inTime?: boolean): Promise<void>;
}

export function createLanes(options: Omit<Attempts, 'signal'>): Lanes {
  const lanes = new Map<string, Lane>();
  const ending = new Map<string, Promise<void>>();
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);

  /** Former lanes of the same target are waited for as well. */
  function end(id: string, lane: Lane): void {
    const ended = Promise.all([ending.get(id), lane.stop()]).then(() => {
      if (ending.get(id) === ended) ending.delete(id);
    });
    ending.set(id, ended);
  }

  /** A target that comes back waits for its former lane, lest both send the same delivery. */
  function open(id: string, target: Target): void {
    const lane = createLane({ ...options, signal: abort.signal, target });
    lanes.set(id, lane);
    void (ending.get(id) ?? Promise.resolve()).then(() => lane.start());
  }

  return {
    configure(targets) {
      const kept = new Set(targets.map(target => target.settings.id));
      for (const [id, lane] of lanes) {
        if (kept.has(id)) continue;
        lanes.delete(id);
        end(id, lane);
      }
      for (const target of targets) {
        const present = lanes.get(target.settings.id);
        if (present !== undefined) present.use(target);
        else open(target.settings.id, target);
      }
    },
    enqueue(rows, event) {
      for (const row of rows) lanes.get(row.target)?.add(row, event);
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
