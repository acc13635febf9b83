import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow } from '../storage/storage.ts';

/** A delivery waiting in memory. */
export interface Waiting {
  readonly row: DeliveryRow;
  /** At hand unless the row came from the store. */
  readonly event: HeadgateEvent | undefined;
  /** When it may be tried, on the monotonic clock: a step of the wall clock neither hurries nor holds it. */
  readonly due: number;
}

interface Chain {
  readonly key: string;
  readonly entries: Waiting[];
  busy: boolean;
}

/**
 * What one target still has to get. Order is kept per notification and subject: the head of a chain is sent,
 * its successors wait until it is settled.
 */
export interface DeliveryQueue {
  readonly size: number;
  add(entry: Waiting): void;
  /** Takes a head that is due; its chain is busy until `settle`. Undefined when none is. */
  take(now: number): Waiting | undefined;
  /** Frees the chain of a head that was taken. `again` replaces it; without, the next in the chain moves up. */
  settle(taken: Waiting, again?: Waiting): void;
  /** When the next idle head is due; undefined when there is none. */
  nextDue(): number | undefined;
}

const keyOf = (row: DeliveryRow): string => `${row.notification}\n${row.subject}`;
const dueOf = (chain: Chain): number => chain.entries[0]?.due ?? 0;

export function createQueue(): DeliveryQueue {
  const chains = new Map<string, Chain>();
  /** Idle chains, in the order in which their head came up. */
  const idle = new Set<Chain>();
  let size = 0;

  return {
    get size() {
      return size;
    },
    add(entry) {
      const key = keyOf(entry.row);
      const chain = chains.get(key) ?? { key, entries: [], busy: false };
      chains.set(key, chain);
      chain.entries.push(entry);
      size += 1;
      if (!chain.busy) idle.add(chain);
    },
    take(now) {
      for (const chain of idle) {
        if (dueOf(chain) > now) continue;
        idle.delete(chain);
        chain.busy = true;
        return chain.entries[0];
      }
      return undefined;
    },
    settle(taken, again) {
      const chain = chains.get(keyOf(taken.row));
      if (chain === undefined || chain.entries[0] !== taken)
        throw new Error(`delivery ${taken.row.id} is not under way`);
      chain.busy = false;
      if (again !== undefined) chain.entries[0] = again;
      else {
        chain.entries.shift();
        size -= 1;
      }
      if (chain.entries.length === 0) chains.delete(chain.key);
      else idle.add(chain);
    },
    nextDue() {
      let earliest: number | undefined;
      for (const chain of idle) {
        const due = dueOf(chain);
        if (earliest === undefined || due < earliest) earliest = due;
      }
      return earliest;
    },
  };
}
