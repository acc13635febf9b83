import type { HeadgateEvent } from '../events/event.ts';
import { createHeap } from '../lib/heap.ts';
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
  /** Grows with each head that comes up: of two that are due at once the older goes first. */
  turn: number;
}

/**
 * What one target still has to get. Order is kept per notification and subject: the head of a chain is sent,
 * its successors wait until it is settled.
 */
export interface DeliveryQueue {
  readonly size: number;
  /** Ignores what its chain holds already: the ids of a chain grow. */
  add(entry: Waiting): void;
  /** Takes a head that is due; its chain is busy until `settle`. Undefined when none is. */
  take(now: number): Waiting | undefined;
  /** Frees the chain of a head that was taken. `again` replaces it; without, the next in the chain moves up. */
  settle(taken: Waiting, again?: Waiting): void;
  /** When the next idle head is due; undefined when there is none. */
  nextDue(): number | undefined;
  /** Lets go of idle chains, those that are due last first, until no more than `most` deliveries are left. */
  shed(most: number): readonly Shed[];
}

/** A chain that was let go of. */
interface Shed {
  readonly key: string;
  readonly due: number;
}

/** What a delivery's order is kept by. */
export const chainKey = (row: DeliveryRow): string => `${row.notification}\n${row.subject}`;

const dueOf = (chain: Chain): number => chain.entries[0]?.due ?? 0;

const isBefore = (one: Chain, other: Chain): boolean =>
  dueOf(one) === dueOf(other) ? one.turn < other.turn : dueOf(one) < dueOf(other);

export function createQueue(): DeliveryQueue {
  const chains = new Map<string, Chain>();
  const idle = createHeap<Chain>(isBefore);
  let size = 0;
  let turn = 0;

  function comeUp(chain: Chain): void {
    chain.turn = turn++;
    idle.push(chain);
  }

  return {
    get size() {
      return size;
    },
    add(entry) {
      const key = chainKey(entry.row);
      const present = chains.get(key);
      const last = present?.entries.at(-1);
      if (last !== undefined && entry.row.id <= last.row.id) return;
      size += 1;
      if (present !== undefined) {
        present.entries.push(entry);
        return;
      }
      const chain = { key, entries: [entry], busy: false, turn: 0 };
      chains.set(key, chain);
      comeUp(chain);
    },
    take(now) {
      const first = idle.peek();
      if (first === undefined || dueOf(first) > now) return undefined;
      idle.pop();
      first.busy = true;
      return first.entries[0];
    },
    settle(taken, again) {
      const chain = chains.get(chainKey(taken.row));
      if (chain === undefined || !chain.busy || chain.entries[0] !== taken)
        throw new Error(`delivery ${taken.row.id} is not under way`);
      chain.busy = false;
      if (again !== undefined) chain.entries[0] = again;
      else {
        chain.entries.shift();
        size -= 1;
      }
      if (chain.entries.length === 0) chains.delete(chain.key);
      else comeUp(chain);
    },
    nextDue() {
      const first = idle.peek();
      return first && dueOf(first);
    },
    shed(most) {
      const latestFirst = idle.drain().sort((one, other) => (isBefore(one, other) ? 1 : -1));
      const shed: Shed[] = [];
      for (const chain of latestFirst) {
        if (size <= most) idle.push(chain);
        else {
          chains.delete(chain.key);
          size -= chain.entries.length;
          shed.push({ key: chain.key, due: dueOf(chain) });
        }
      }
      return shed;
    },
  };
}
