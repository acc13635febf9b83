import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { CountedLog } from '../lib/counted-log.ts';
import { createHeap } from '../lib/heap.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { FailedBatch } from './split.ts';

/** Wait before another attempt at what the store refused, or at what could not be brought together. */
export const STORE_RETRY_MS = 1000;

/** A delivery waiting in memory. */
export interface QueuedDelivery {
  readonly row: DeliveryRow;
  /** Undefined for a row that was read from the store. */
  readonly event: HeadgateEvent | undefined;
  /** When it may be tried, on the monotonic clock: a step of the wall clock neither hurries nor holds it. */
  readonly due: number;
  /** The receiver refused it together with others. */
  readonly isAlone?: boolean | undefined;
  /** The batch it was sent in failed as a whole. */
  readonly failedBatch?: FailedBatch | undefined;
  /** It was tried before its time because another one arrived: it is not hurried once more. */
  readonly isHurried?: boolean | undefined;
  /** How many are sent together with it, itself among them, when the quota had no room for all of them. */
  readonly batchSize?: number;
}

/** The deliveries of one ordering key, in the order of their ids. */
interface KeyQueue {
  readonly key: string;
  /** Without the one that is in flight. */
  readonly entries: QueuedDelivery[];
  inFlight: QueuedDelivery | undefined;
  /** Its place in the heap of idle keys; undefined while one of it is in flight. */
  heapEntry: HeapEntry | undefined;
  /** The group its idle head may be sent with. */
  group: string | undefined;
}

/** A key's place in the heap. One that its key queue no longer names is passed over. */
interface HeapEntry {
  readonly keyQueue: KeyQueue;
  readonly due: number;
  /** The older of two that are due at once goes first. */
  readonly sequence: number;
}

/**
 * What one target still has to get. Order is kept per notification and subject, the ordering key: the head of a key is
 * sent, its successors wait until it is settled.
 */
export interface DeliveryQueue {
  readonly size: number;
  /** How many keys have a head that is not in flight: at most as many can be sent together. */
  readonly heads: number;
  /** Inserts it into its key in the order of ids; ignores one that is there already. */
  add(entry: QueuedDelivery): void;
  /** Takes a head that is due; its key is busy until `release`. Undefined when none is. */
  take(now: number): QueuedDelivery | undefined;
  /** Takes a head of the group that is due and was never tried. */
  takeFromGroup(group: string, now: number): QueuedDelivery | undefined;
  /** Takes one that is due or not, from wherever it stands in its key; undefined while its key is busy. */
  takeEntry(entry: QueuedDelivery): QueuedDelivery | undefined;
  /** Returns the taken one with a changed row; it is released in place of `taken`. */
  replaceTaken(taken: QueuedDelivery, change: Partial<DeliveryRow>): QueuedDelivery;
  /** Frees the key of a head that was taken. `retry` replaces it; without, the next of the key moves up. */
  release(taken: QueuedDelivery, retry?: QueuedDelivery): void;
  /** Drops all of the key of a head that was taken. */
  forget(taken: QueuedDelivery): void;
  /** The delivery that is sent before this one, or is in flight, of the same key; undefined when this one is first. */
  before(row: DeliveryRow): QueuedDelivery | undefined;
  /** True while anything of the same key waits or is in flight. */
  hasKey(row: DeliveryRow): boolean;
  /** True while it is in flight. */
  isInFlight(row: DeliveryRow): boolean;
  /** Makes heads that failed and wait for their next attempt due at `now`, each once. */
  hurry(now: number): void;
  /** The idle head that is next; undefined when there is none. */
  next(): QueuedDelivery | undefined;
  /** When the next idle head is due; undefined when there is none. */
  nextDue(): number | undefined;
  /** Drops idle keys, those that are due last first, until no more than `max` deliveries are left. */
  evict(max: number): readonly EvictedKey[];
}

interface EvictedKey {
  readonly key: string;
  readonly due: number;
}

/** Deliveries with the same key are sent in order. */
export const orderingKey = (row: DeliveryRow): string => `${row.notification}\n${row.subject}`;

/** The group it may be sent with; undefined for one that is sent by itself, or that was tried before. */
export const groupOf = ({ row }: QueuedDelivery): string | undefined =>
  row.group_id !== null && row.batch === null && row.attempts === 0 ? row.group_id : undefined;

const isBefore = (one: HeapEntry, other: HeapEntry): boolean =>
  one.due === other.due ? one.sequence < other.sequence : one.due < other.due;

export const createQueue = (): DeliveryQueue => new MemoryQueue();

class MemoryQueue implements DeliveryQueue {
  readonly #keyQueues = new Map<string, KeyQueue>();
  readonly #idle = createHeap<HeapEntry>(isBefore);
  /** Idle keys by the group of their heads. */
  readonly #grouped = new Map<string, Set<KeyQueue>>();
  #size = 0;
  /** Keys of which one is in flight. */
  #busy = 0;
  #sequence = 0;

  get size(): number {
    return this.#size;
  }

  get heads(): number {
    return this.#keyQueues.size - this.#busy;
  }

  add(entry: QueuedDelivery): void {
    const keyQueue = this.#keyQueueFor(orderingKey(entry.row));
    const index = insertionIndex(keyQueue, entry.row.id);
    if (index === undefined) return;
    this.#size += 1;
    keyQueue.entries.splice(index, 0, entry);
    if (index === 0 && keyQueue.inFlight === undefined) this.#pushHead(keyQueue);
  }

  take(now: number): QueuedDelivery | undefined {
    const first = this.#first();
    if (first === undefined || first.due > now) return undefined;
    this.#idle.pop();
    return this.#takeHead(first.keyQueue);
  }

  takeFromGroup(group: string, now: number): QueuedDelivery | undefined {
    for (const keyQueue of this.#grouped.get(group) ?? [])
      if (keyQueue.heapEntry !== undefined && keyQueue.heapEntry.due <= now) return this.#takeHead(keyQueue);
    return undefined;
  }

  takeEntry(entry: QueuedDelivery): QueuedDelivery | undefined {
    const keyQueue = this.#keyQueueFor(orderingKey(entry.row));
    if (keyQueue.inFlight !== undefined) return undefined;
    const index = keyQueue.entries.findIndex(({ row }) => row.id === entry.row.id);
    const [present = entry] = index < 0 ? [] : keyQueue.entries.splice(index, 1);
    if (index < 0) this.#size += 1;
    this.#markBusy(keyQueue, present);
    return present;
  }

  replaceTaken(taken: QueuedDelivery, change: Partial<DeliveryRow>): QueuedDelivery {
    const replaced = { ...taken, row: { ...taken.row, ...change } };
    this.#busyKeyQueue(taken).inFlight = replaced;
    return replaced;
  }

  release(taken: QueuedDelivery, retry?: QueuedDelivery): void {
    const keyQueue = this.#busyKeyQueue(taken);
    keyQueue.inFlight = undefined;
    this.#busy -= 1;
    if (retry === undefined) this.#size -= 1;
    else keyQueue.entries.splice(insertionIndex(keyQueue, retry.row.id) ?? 0, 0, retry);
    this.#pushHead(keyQueue);
  }

  forget(taken: QueuedDelivery): void {
    const keyQueue = this.#busyKeyQueue(taken);
    this.#keyQueues.delete(keyQueue.key);
    this.#busy -= 1;
    this.#size -= keyQueue.entries.length + 1;
  }

  before(row: DeliveryRow): QueuedDelivery | undefined {
    const keyQueue = this.#keyQueues.get(orderingKey(row));
    const first = keyQueue?.inFlight ?? keyQueue?.entries[0];
    return first === undefined || first.row.id >= row.id ? undefined : first;
  }

  hasKey(row: DeliveryRow): boolean {
    return this.#keyQueues.has(orderingKey(row));
  }

  isInFlight(row: DeliveryRow): boolean {
    return this.#keyQueues.get(orderingKey(row))?.inFlight?.row.id === row.id;
  }

  hurry(now: number): void {
    for (const keyQueue of this.#keyQueues.values()) {
      const [head] = keyQueue.entries;
      if (head === undefined || keyQueue.inFlight !== undefined) continue;
      if (head.due <= now || head.isHurried === true || head.row.attempts === 0) continue;
      keyQueue.entries[0] = { ...head, due: now, isHurried: true };
      this.#pushHead(keyQueue);
    }
  }

  next(): QueuedDelivery | undefined {
    return this.#first()?.keyQueue.entries[0];
  }

  nextDue(): number | undefined {
    return this.#first()?.due;
  }

  evict(max: number): readonly EvictedKey[] {
    const latestFirst = this.#idle
      .drain()
      .filter(one => one.keyQueue.heapEntry === one)
      .sort((one, other) => (isBefore(one, other) ? 1 : -1));
    const evicted: EvictedKey[] = [];
    for (const heapEntry of latestFirst) {
      const { keyQueue, due } = heapEntry;
      if (this.#size <= max) this.#idle.push(heapEntry);
      else {
        this.#leaveGroup(keyQueue);
        this.#keyQueues.delete(keyQueue.key);
        this.#size -= keyQueue.entries.length;
        evicted.push({ key: keyQueue.key, due });
      }
    }
    return evicted;
  }

  #first(): HeapEntry | undefined {
    for (;;) {
      const heapEntry = this.#idle.peek();
      if (heapEntry === undefined || heapEntry.keyQueue.heapEntry === heapEntry) return heapEntry;
      this.#idle.pop();
    }
  }

  #keyQueueFor(key: string): KeyQueue {
    const present = this.#keyQueues.get(key);
    if (present !== undefined) return present;
    const created = { key, entries: [], inFlight: undefined, heapEntry: undefined, group: undefined };
    this.#keyQueues.set(key, created);
    return created;
  }

  #busyKeyQueue(taken: QueuedDelivery): KeyQueue {
    const keyQueue = this.#keyQueues.get(orderingKey(taken.row));
    if (keyQueue?.inFlight !== taken) throw new Error(`delivery ${taken.row.id} is not in flight`);
    return keyQueue;
  }

  #takeHead(keyQueue: KeyQueue): QueuedDelivery | undefined {
    const head = keyQueue.entries.shift();
    this.#markBusy(keyQueue, head);
    return head;
  }

  #markBusy(keyQueue: KeyQueue, taken: QueuedDelivery | undefined): void {
    this.#leaveGroup(keyQueue);
    keyQueue.heapEntry = undefined;
    keyQueue.inFlight = taken;
    this.#busy += 1;
  }

  /** Puts the head of a key into the heap, or drops a key that is empty. */
  #pushHead(keyQueue: KeyQueue): void {
    const [head] = keyQueue.entries;
    this.#joinGroup(keyQueue, head);
    keyQueue.heapEntry = head && { keyQueue, due: head.due, sequence: this.#sequence++ };
    if (keyQueue.heapEntry !== undefined) this.#idle.push(keyQueue.heapEntry);
    else this.#keyQueues.delete(keyQueue.key);
  }

  #joinGroup(keyQueue: KeyQueue, head: QueuedDelivery | undefined): void {
    this.#leaveGroup(keyQueue);
    keyQueue.group = head && groupOf(head);
    if (keyQueue.group === undefined) return;
    const members = this.#grouped.get(keyQueue.group);
    if (members === undefined) this.#grouped.set(keyQueue.group, new Set([keyQueue]));
    else members.add(keyQueue);
  }

  #leaveGroup(keyQueue: KeyQueue): void {
    if (keyQueue.group === undefined) return;
    const members = this.#grouped.get(keyQueue.group);
    members?.delete(keyQueue);
    if (members?.size === 0) this.#grouped.delete(keyQueue.group);
    keyQueue.group = undefined;
  }
}

/** Index of an id among the entries, most often the end; undefined when the key has it already. */
function insertionIndex({ entries, inFlight }: KeyQueue, id: string): number | undefined {
  if (inFlight?.row.id === id) return undefined;
  let index = entries.length;
  for (; index > 0; index--) {
    const before = entries[index - 1]?.row.id ?? '';
    if (before === id) return undefined;
    if (before < id) break;
  }
  return index;
}

export interface BacklogOptions {
  readonly queue: DeliveryQueue;
  readonly clock: Clock;
  /** Reports failures to read the store. */
  readonly faultLog: CountedLog;
  /** Deliveries held in memory; what is over waits in the store until there is room. */
  readonly capacity: number;
  /** The deliveries to send with an id after the given one, oldest first. */
  readonly read: (after: string, limit: number) => Promise<readonly DeliveryRow[]>;
  /** True for a delivery of the store that is being skipped at this moment. */
  readonly isOmitted?: (id: string) => boolean;
  /** When a delivery of the store may be tried, on the monotonic clock. */
  readonly dueAt: (row: DeliveryRow) => number;
  /** Called whenever memory may hold something new. */
  readonly onChange: () => void;
}

/**
 * Fills a worker's queue from the store. All deliveries to send up to the cursor are in memory, except keys that were
 * parked: when memory is full of deliveries that are not due yet, those that are due last are dropped from it and read
 * again in time.
 */
export interface Backlog {
  /** Takes a delivery that was just committed, or leaves it to the store. Ids grow from call to call. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** A delivery is settled: an answer of the store that is older must not bring it back. */
  markSettled(id: string): void;
  /**
   * The store has something with an id after `after` that memory may lack. From the beginning ('') it may also differ from
   * what is in memory: then all is dropped from memory except keys with a delivery in flight.
   */
  rewind(after: string): void;
  /** Reads on if the store has more and memory has room. `isNothingDue`: nothing in memory is due yet. */
  fill(isNothingDue: boolean): void;
  /** When parked deliveries must be read again, on the monotonic clock; undefined when none are parked. */
  nextDue(): number | undefined;
}

export const createBacklog = (options: BacklogOptions): Backlog => new StoreBacklog(options);

class StoreBacklog implements Backlog {
  readonly #options: BacklogOptions;
  readonly #queue: DeliveryQueue;
  /** The store is read when no more than this is in memory. */
  readonly #refillBelow: number;
  /** Ordering keys. */
  readonly #parked = new Set<string>();
  #parkedDue = Number.POSITIVE_INFINITY;
  readonly #settledWhileReading = new Set<string>();
  /** Id of the last delivery that was read. */
  #cursor = '';
  #hasMore = true;
  /** A delivery was added while the store was read: the answer may be without it. */
  #hasMissed = false;
  #rewindTo: string | undefined;
  #state: 'idle' | 'reading' | 'waiting to retry' = 'idle';

  constructor(options: BacklogOptions) {
    this.#options = options;
    this.#queue = options.queue;
    this.#refillBelow = options.capacity / 2;
  }

  add(row: DeliveryRow, event: HeadgateEvent): void {
    if (this.#state === 'reading') this.#hasMissed = true;
    else if (this.#rewindTo === undefined && !this.#hasMore && row.id > this.#cursor) {
      if (this.#queue.size < this.#options.capacity) this.#enqueue(row, event);
      else this.#hasMore = true;
    }
  }

  markSettled(id: string): void {
    if (this.#state === 'reading') this.#settledWhileReading.add(id);
  }

  rewind(after: string): void {
    if (after === '') this.#queue.evict(0);
    if (this.#rewindTo === undefined || after < this.#rewindTo) this.#rewindTo = after;
  }

  fill(isNothingDue: boolean): void {
    if (this.#state !== 'idle') return;
    if (this.#rewindTo !== undefined) this.#moveCursor(this.#rewindTo);
    if (this.#parkedDue <= this.#options.clock.monotonic()) this.#restart();
    if (!this.#hasMore) return;
    if (isNothingDue && this.#queue.size > this.#refillBelow) this.#park();
    if (this.#queue.size <= this.#refillBelow) void this.#readMore();
  }

  nextDue(): number | undefined {
    return this.#parked.size > 0 ? this.#parkedDue : undefined;
  }

  #enqueue(row: DeliveryRow, event: HeadgateEvent | undefined): void {
    const { dueAt, isOmitted } = this.#options;
    this.#cursor = row.id;
    if (this.#parked.has(orderingKey(row)) || this.#settledWhileReading.has(row.id) || isOmitted?.(row.id))
      return;
    this.#queue.add({ row, event, due: dueAt(row) });
  }

  async #readMore(): Promise<void> {
    const { capacity, clock, faultLog, onChange, read } = this.#options;
    this.#state = 'reading';
    this.#hasMissed = false;
    const limit = capacity - this.#queue.size;
    try {
      const rows = await read(this.#cursor, limit);
      faultLog.recovered();
      // An answer from before a rewind to the beginning may be older than what is to be read.
      if (this.#rewindTo !== '') for (const row of rows) this.#enqueue(row, undefined);
      this.#hasMore = rows.length === limit || this.#hasMissed;
      this.#state = 'idle';
    } catch (error) {
      faultLog.failed(error);
      this.#state = 'waiting to retry';
      clock.after(STORE_RETRY_MS, () => {
        this.#state = 'idle';
        onChange();
      });
    }
    this.#settledWhileReading.clear();
    onChange();
  }

  #park(): void {
    for (const { key, due } of this.#queue.evict(this.#refillBelow)) {
      this.#parked.add(key);
      this.#parkedDue = Math.min(this.#parkedDue, due);
    }
  }

  /** From the beginning, because what is read in the middle of a key would overtake its head. */
  #restart(): void {
    this.#parked.clear();
    this.#parkedDue = Number.POSITIVE_INFINITY;
    this.#cursor = '';
    this.#hasMore = true;
    this.#rewindTo = undefined;
  }

  #moveCursor(after: string): void {
    if (after === '') this.#restart();
    if (after < this.#cursor) this.#cursor = after;
    this.#hasMore = true;
    this.#rewindTo = undefined;
  }
}
