import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { CountedLog } from '../lib/counted-log.ts';
import { createHeap } from '../lib/heap.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';

/** A delivery waiting in memory. */
export interface QueuedDelivery {
  readonly row: DeliveryRow;
  /** At hand unless the row came from the store. */
  readonly event: HeadgateEvent | undefined;
  /** When it may be tried, on the monotonic clock: a step of the wall clock neither hurries nor holds it. */
  readonly due: number;
  /** The receiver refused it together with others. */
  readonly isAlone?: boolean;
  /** How many travel together with it, itself among them, when there was no room for all of them. */
  readonly batchSize?: number;
}

interface KeyQueue {
  readonly key: string;
  /** In the order of their ids, without the one that is under way. */
  readonly entries: QueuedDelivery[];
  inFlight: QueuedDelivery | undefined;
  /** Where it stands among the idle chains; undefined while one of it is under way. */
  heapEntry: HeapEntry | undefined;
  /** The group its idle head may travel in. */
  group: string | undefined;
}

/** A chain's place in the line. One that its chain does not name any more is passed over. */
interface HeapEntry {
  readonly keyQueue: KeyQueue;
  readonly due: number;
  /** Of two that are due at once the older goes first. */
  readonly sequence: number;
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
  add(entry: QueuedDelivery): void;
  /** Takes a head that is due; its chain is busy until `settle`. Undefined when none is. */
  take(now: number): QueuedDelivery | undefined;
  /** Takes a head of the group that is due and was never tried. */
  takeFromGroup(group: string, now: number): QueuedDelivery | undefined;
  /** Takes one that is due or not, from wherever it stands in its chain; undefined while its chain is busy. */
  takeEntry(entry: QueuedDelivery): QueuedDelivery | undefined;
  /** The taken one with a changed row; it is settled in place of `taken`. */
  replaceTaken(taken: QueuedDelivery, change: Partial<DeliveryRow>): QueuedDelivery;
  /** Frees the chain of a head that was taken. `again` replaces it; without, the next in the chain moves up. */
  release(taken: QueuedDelivery, retry?: QueuedDelivery): void;
  /** Lets go of the chain of a head that was taken. */
  forget(taken: QueuedDelivery): void;
  /** The idle head that is next; undefined when there is none. */
  next(): QueuedDelivery | undefined;
  /** When the next idle head is due; undefined when there is none. */
  nextDue(): number | undefined;
  /** Lets go of idle chains, those that are due last first, until no more than `most` deliveries are left. */
  evict(max: number): readonly EvictedKey[];
}

/** A chain that was let go of. */
interface EvictedKey {
  readonly key: string;
  readonly due: number;
}

/** What a delivery's order is kept by. */
export const orderingKey = (row: DeliveryRow): string => `${row.notification}\n${row.subject}`;

/** The group it may travel in; undefined for one that is told by itself, or that was tried before. */
export const groupOf = ({ row }: QueuedDelivery): string | undefined =>
  row.group_id !== null && row.batch === null && row.attempts === 0 ? row.group_id : undefined;

const isBefore = (one: HeapEntry, other: HeapEntry): boolean =>
  one.due === other.due ? one.sequence < other.sequence : one.due < other.due;

export function createQueue(): DeliveryQueue {
  const keyQueues = new Map<string, KeyQueue>();
  const idle = createHeap<HeapEntry>(isBefore);
  /** Idle chains by the group of their heads. */
  const grouped = new Map<string, Set<KeyQueue>>();
  let size = 0;
  let busy = 0;
  let sequence = 0;

  function leaveGroup(keyQueue: KeyQueue): void {
    if (keyQueue.group === undefined) return;
    const keyQueues = grouped.get(keyQueue.group);
    keyQueues?.delete(keyQueue);
    if (keyQueues?.size === 0) grouped.delete(keyQueue.group);
    keyQueue.group = undefined;
  }

  function joinGroup(keyQueue: KeyQueue, head: QueuedDelivery | undefined): void {
    leaveGroup(keyQueue);
    keyQueue.group = head && groupOf(head);
    if (keyQueue.group === undefined) return;
    const keyQueues = grouped.get(keyQueue.group);
    if (keyQueues === undefined) grouped.set(keyQueue.group, new Set([keyQueue]));
    else keyQueues.add(keyQueue);
  }

  function takeHead(keyQueue: KeyQueue): QueuedDelivery | undefined {
    leaveGroup(keyQueue);
    keyQueue.heapEntry = undefined;
    keyQueue.inFlight = keyQueue.entries.shift();
    busy += 1;
    return keyQueue.inFlight;
  }

  function pushHead(keyQueue: KeyQueue): void {
    const [head] = keyQueue.entries;
    joinGroup(keyQueue, head);
    keyQueue.heapEntry = head && { keyQueue, due: head.due, sequence: sequence++ };
    if (keyQueue.heapEntry !== undefined) idle.push(keyQueue.heapEntry);
    else keyQueues.delete(keyQueue.key);
  }

  function firstEntry(): HeapEntry | undefined {
    for (;;) {
      const heapEntry = idle.peek();
      if (heapEntry === undefined || heapEntry.keyQueue.heapEntry === heapEntry) return heapEntry;
      idle.pop();
    }
  }

  function keyQueueFor(key: string): KeyQueue {
    const present = keyQueues.get(key);
    if (present !== undefined) return present;
    const created = { key, entries: [], inFlight: undefined, heapEntry: undefined, group: undefined };
    keyQueues.set(key, created);
    return created;
  }

  function busyKeyQueue(taken: QueuedDelivery): KeyQueue {
    const keyQueue = keyQueues.get(orderingKey(taken.row));
    if (keyQueue?.inFlight !== taken) throw new Error(`delivery ${taken.row.id} is not under way`);
    return keyQueue;
  }

  return {
    get size() {
      return size;
    },
    get heads() {
      return keyQueues.size - busy;
    },
    add(entry) {
      const keyQueue = keyQueueFor(orderingKey(entry.row));
      const place = insertionIndex(keyQueue, entry.row.id);
      if (place === undefined) return;
      size += 1;
      keyQueue.entries.splice(place, 0, entry);
      if (place === 0 && keyQueue.inFlight === undefined) pushHead(keyQueue);
    },
    take(now) {
      const heapEntry = firstEntry();
      if (heapEntry === undefined || heapEntry.due > now) return undefined;
      idle.pop();
      return takeHead(heapEntry.keyQueue);
    },
    takeFromGroup(group, now) {
      for (const keyQueue of grouped.get(group) ?? [])
        if (keyQueue.heapEntry !== undefined && keyQueue.heapEntry.due <= now) return takeHead(keyQueue);
      return undefined;
    },
    takeEntry(entry) {
      const keyQueue = keyQueueFor(orderingKey(entry.row));
      if (keyQueue.inFlight !== undefined) return undefined;
      const place = keyQueue.entries.findIndex(({ row }) => row.id === entry.row.id);
      const [present = entry] = place < 0 ? [] : keyQueue.entries.splice(place, 1);
      if (place < 0) size += 1;
      leaveGroup(keyQueue);
      keyQueue.heapEntry = undefined;
      keyQueue.inFlight = present;
      busy += 1;
      return present;
    },
    replaceTaken(taken, change) {
      const renewed = { ...taken, row: { ...taken.row, ...change } };
      busyKeyQueue(taken).inFlight = renewed;
      return renewed;
    },
    release(taken, retry) {
      const keyQueue = busyKeyQueue(taken);
      keyQueue.inFlight = undefined;
      busy -= 1;
      if (retry === undefined) size -= 1;
      else keyQueue.entries.splice(insertionIndex(keyQueue, retry.row.id) ?? 0, 0, retry);
      pushHead(keyQueue);
    },
    forget(taken) {
      const keyQueue = busyKeyQueue(taken);
      keyQueues.delete(keyQueue.key);
      busy -= 1;
      size -= keyQueue.entries.length + 1;
    },
    next: () => firstEntry()?.keyQueue.entries[0],
    nextDue: () => firstEntry()?.due,
    evict(max) {
      const latestFirst = idle
        .drain()
        .filter(heapEntry => heapEntry.keyQueue.heapEntry === heapEntry)
        .sort((one, other) => (isBefore(one, other) ? 1 : -1));
      const evict: EvictedKey[] = [];
      for (const heapEntry of latestFirst) {
        const { keyQueue, due } = heapEntry;
        if (size <= max) idle.push(heapEntry);
        else {
          leaveGroup(keyQueue);
          keyQueues.delete(keyQueue.key);
          size -= keyQueue.entries.length;
          evict.push({ key: keyQueue.key, due });
        }
      }
      return evict;
    },
  };
}

/** Where an id goes among the entries, most often at their end; undefined when the chain has it. */
function insertionIndex({ entries, inFlight }: KeyQueue, id: string): number | undefined {
  if (inFlight?.row.id === id) return undefined;
  let place = entries.length;
  for (; place > 0; place--) {
    const before = entries[place - 1]?.row.id ?? '';
    if (before === id) return undefined;
    if (before < id) break;
  }
  return place;
}

export interface BacklogOptions {
  readonly queue: DeliveryQueue;
  readonly clock: Clock;
  /** Told what reading the store brings. */
  readonly faultLog: CountedLog;
  /** Deliveries held in memory; what is over waits in the store until there is room. */
  readonly capacity: number;
  /** The deliveries to send with an id after the given one, oldest first. */
  readonly read: (after: string, limit: number) => Promise<readonly DeliveryRow[]>;
  /** Whether a delivery of the store is being skipped at this moment. */
  readonly isOmitted?: (id: string) => boolean;
  /** When a delivery of the store may be tried, on the monotonic clock. */
  readonly dueAt: (row: DeliveryRow) => number;
  /** Called whenever memory may hold something new. */
  readonly onChange: () => void;
}

/**
 * Fills a lane's queue from the store. All deliveries to send up to the cursor are in memory, but for the chains that were
 * parked: when memory is full of what waits for its time, those that are due last are let go of, and read again in time.
 */
export interface Backlog {
  /** Takes a delivery that was just committed, or leaves it to the store. Ids grow from call to call. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** A delivery is booked: an answer of the store that is older must not bring it back. */
  markSettled(id: string): void;
  /**
   * The store has something with an id after `after` that memory may lack. From the beginning it may also differ from what
   * is in memory: all of that is let go of but for the chains that are under way.
   */
  rewind(after: string): void;
  /** Reads on if the store has more and memory has room. `isNothingDue`: whatever is in memory waits for its time. */
  fill(isNothingDue: boolean): void;
  /** When parked deliveries must be read again, on the monotonic clock; undefined when none are parked. */
  nextDue(): number | undefined;
}

export function createBacklog(options: BacklogOptions): Backlog {
  const { clock, faultLog, capacity, queue } = options;
  const refillBelow = capacity / 2;
  const parked = new Set<string>();
  const settledMeanwhile = new Set<string>();
  let parkedDue = Number.POSITIVE_INFINITY;
  let cursor = '';
  let hasMore = true;
  let hasMissed = false;
  let rewindTo: string | undefined;
  let state: 'idle' | 'reading' | 'resting' = 'idle';

  function enqueueRow(row: DeliveryRow, event: HeadgateEvent | undefined): void {
    cursor = row.id;
    if (parked.has(orderingKey(row)) || settledMeanwhile.has(row.id) || options.isOmitted?.(row.id)) return;
    queue.add({ row, event, due: options.dueAt(row) });
  }

  async function readMore(): Promise<void> {
    state = 'reading';
    hasMissed = false;
    const free = capacity - queue.size;
    try {
      const rows = await options.read(cursor, free);
      faultLog.recovered();
      // What was asked before may be older than what is to be read.
      if (rewindTo !== '') for (const row of rows) enqueueRow(row, undefined);
      hasMore = rows.length === free || hasMissed;
      state = 'idle';
    } catch (error) {
      faultLog.failed(error);
      state = 'resting';
      clock.after(STORE_RETRY_MS, () => {
        state = 'idle';
        options.onChange();
      });
    }
    settledMeanwhile.clear();
    options.onChange();
  }

  function park(): void {
    for (const { key, due } of queue.evict(refillBelow)) {
      parked.add(key);
      parkedDue = Math.min(parkedDue, due);
    }
  }

  /** From the beginning, because what is read in the middle of a chain would overtake its head. */
  function restart(): void {
    parked.clear();
    parkedDue = Number.POSITIVE_INFINITY;
    cursor = '';
    hasMore = true;
    rewindTo = undefined;
  }

  function moveCursor(after: string): void {
    if (after === '') restart();
    if (after < cursor) cursor = after;
    hasMore = true;
    rewindTo = undefined;
  }

  return {
    add(row, event) {
      if (state === 'reading') hasMissed = true;
      else if (rewindTo === undefined && !hasMore && row.id > cursor) {
        if (queue.size < capacity) enqueueRow(row, event);
        else hasMore = true;
      }
    },
    markSettled(id) {
      if (state === 'reading') settledMeanwhile.add(id);
    },
    rewind(after) {
      if (after === '') queue.evict(0);
      if (rewindTo === undefined || after < rewindTo) rewindTo = after;
    },
    fill(isNothingDue) {
      if (state !== 'idle') return;
      if (rewindTo !== undefined) moveCursor(rewindTo);
      if (parkedDue <= clock.monotonic()) restart();
      if (!hasMore) return;
      if (isNothingDue && queue.size > refillBelow) park();
      if (queue.size <= refillBelow) void readMore();
    },
    nextDue: () => (parked.size > 0 ? parkedDue : undefined),
  };
}

/** What the store refused, or could not be brought together, is tried again after so long. */
export const STORE_RETRY_MS = 1000;
