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
  /** The receiver refused it together with others. */
  readonly isAlone?: boolean;
  /** How many travel together with it, itself among them, when there was no room for all of them. */
  readonly together?: number;
}

interface Chain {
  readonly key: string;
  /** In the order of their ids, without the one that is under way. */
  readonly entries: Waiting[];
  underWay: Waiting | undefined;
  /** Where it stands among the idle chains; undefined while one of it is under way. */
  turn: Turn | undefined;
  /** The group its idle head may travel in. */
  group: string | undefined;
}

/** A chain's place in the line. One that its chain does not name any more is passed over. */
interface Turn {
  readonly chain: Chain;
  readonly due: number;
  /** Of two that are due at once the older goes first. */
  readonly count: number;
}

/**
 * What one target still has to get. Order is kept per notification and subject: the head of a chain is sent,
 * its successors wait until it is settled.
 */
export interface DeliveryQueue {
  readonly size: number;
  /** How many chains have a head that is not under way: as many may travel together at the most. */
  readonly heads: number;
  /** Puts it into its chain in the order of ids; ignores one that is there already. */
  add(entry: Waiting): void;
  /** Takes a head that is due; its chain is busy until `settle`. Undefined when none is. */
  take(now: number): Waiting | undefined;
  /** Takes a head of the group that is due and was never tried. */
  takeOfGroup(group: string, now: number): Waiting | undefined;
  /** Takes one that is due or not, from wherever it stands in its chain; undefined while its chain is busy. */
  claim(entry: Waiting): Waiting | undefined;
  /** The taken one with a changed row; it is settled in place of `taken`. */
  renew(taken: Waiting, change: Partial<DeliveryRow>): Waiting;
  /** Frees the chain of a head that was taken. `again` replaces it; without, the next in the chain moves up. */
  settle(taken: Waiting, again?: Waiting): void;
  /** Lets go of the chain of a head that was taken. */
  forget(taken: Waiting): void;
  /** The idle head that is next; undefined when there is none. */
  next(): Waiting | undefined;
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

/** The group it may travel in; undefined for one that is told by itself, or that was tried before. */
export const groupOf = ({ row }: Waiting): string | undefined =>
  row.group_id !== null && row.batch === null && row.attempts === 0 ? row.group_id : undefined;

const isBefore = (one: Turn, other: Turn): boolean =>
  one.due === other.due ? one.count < other.count : one.due < other.due;

export function createQueue(): DeliveryQueue {
  const chains = new Map<string, Chain>();
  const idle = createHeap<Turn>(isBefore);
  /** Idle chains by the group of their heads. */
  const grouped = new Map<string, Set<Chain>>();
  let size = 0;
  let busy = 0;
  let count = 0;

  function leaveGroup(chain: Chain): void {
    if (chain.group === undefined) return;
    const chains = grouped.get(chain.group);
    chains?.delete(chain);
    if (chains?.size === 0) grouped.delete(chain.group);
    chain.group = undefined;
  }

  function joinGroup(chain: Chain, head: Waiting | undefined): void {
    leaveGroup(chain);
    chain.group = head && groupOf(head);
    if (chain.group === undefined) return;
    const chains = grouped.get(chain.group);
    if (chains === undefined) grouped.set(chain.group, new Set([chain]));
    else chains.add(chain);
  }

  function takeHead(chain: Chain): Waiting | undefined {
    leaveGroup(chain);
    chain.turn = undefined;
    chain.underWay = chain.entries.shift();
    busy += 1;
    return chain.underWay;
  }

  function comeUp(chain: Chain): void {
    const [head] = chain.entries;
    joinGroup(chain, head);
    chain.turn = head && { chain, due: head.due, count: count++ };
    if (chain.turn !== undefined) idle.push(chain.turn);
    else chains.delete(chain.key);
  }

  function first(): Turn | undefined {
    for (;;) {
      const turn = idle.peek();
      if (turn === undefined || turn.chain.turn === turn) return turn;
      idle.pop();
    }
  }

  function chainOf(key: string): Chain {
    const present = chains.get(key);
    if (present !== undefined) return present;
    const made = { key, entries: [], underWay: undefined, turn: undefined, group: undefined };
    chains.set(key, made);
    return made;
  }

  function busyChain(taken: Waiting): Chain {
    const chain = chains.get(chainKey(taken.row));
    if (chain?.underWay !== taken) throw new Error(`delivery ${taken.row.id} is not under way`);
    return chain;
  }

  return {
    get size() {
      return size;
    },
    get heads() {
      return chains.size - busy;
    },
    add(entry) {
      const chain = chainOf(chainKey(entry.row));
      const place = placeOf(chain, entry.row.id);
      if (place === undefined) return;
      size += 1;
      chain.entries.splice(place, 0, entry);
      if (place === 0 && chain.underWay === undefined) comeUp(chain);
    },
    take(now) {
      const turn = first();
      if (turn === undefined || turn.due > now) return undefined;
      idle.pop();
      return takeHead(turn.chain);
    },
    takeOfGroup(group, now) {
      for (const chain of grouped.get(group) ?? [])
        if (chain.turn !== undefined && chain.turn.due <= now) return takeHead(chain);
      return undefined;
    },
    claim(entry) {
      const chain = chainOf(chainKey(entry.row));
      if (chain.underWay !== undefined) return undefined;
      const place = chain.entries.findIndex(({ row }) => row.id === entry.row.id);
      const [present = entry] = place < 0 ? [] : chain.entries.splice(place, 1);
      if (place < 0) size += 1;
      leaveGroup(chain);
      chain.turn = undefined;
      chain.underWay = present;
      busy += 1;
      return present;
    },
    renew(taken, change) {
      const renewed = { ...taken, row: { ...taken.row, ...change } };
      busyChain(taken).underWay = renewed;
      return renewed;
    },
    settle(taken, again) {
      const chain = busyChain(taken);
      chain.underWay = undefined;
      busy -= 1;
      if (again === undefined) size -= 1;
      else chain.entries.splice(placeOf(chain, again.row.id) ?? 0, 0, again);
      comeUp(chain);
    },
    forget(taken) {
      const chain = busyChain(taken);
      chains.delete(chain.key);
      busy -= 1;
      size -= chain.entries.length + 1;
    },
    next: () => first()?.chain.entries[0],
    nextDue: () => first()?.due,
    shed(most) {
      const latestFirst = idle
        .drain()
        .filter(turn => turn.chain.turn === turn)
        .sort((one, other) => (isBefore(one, other) ? 1 : -1));
      const shed: Shed[] = [];
      for (const turn of latestFirst) {
        const { chain, due } = turn;
        if (size <= most) idle.push(turn);
        else {
          leaveGroup(chain);
          chains.delete(chain.key);
          size -= chain.entries.length;
          shed.push({ key: chain.key, due });
        }
      }
      return shed;
    },
  };
}

/** Where an id goes among the entries, most often at their end; undefined when the chain has it. */
function placeOf({ entries, underWay }: Chain, id: string): number | undefined {
  if (underWay?.row.id === id) return undefined;
  let place = entries.length;
  for (; place > 0; place--) {
    const before = entries[place - 1]?.row.id ?? '';
    if (before === id) return undefined;
    if (before < id) break;
  }
  return place;
}
