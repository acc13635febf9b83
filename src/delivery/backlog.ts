import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { FaultLog } from '../lib/fault-log.ts';
import type { DeliveryRow } from '../storage/storage.ts';
import { AGAIN_MS } from './again.ts';
import { chainKey, type DeliveryQueue } from './queue.ts';

export interface BacklogOptions {
  readonly queue: DeliveryQueue;
  readonly clock: Clock;
  /** Told what reading the store brings. */
  readonly faults: FaultLog;
  /** Deliveries held in memory; what is over waits in the store until there is room. */
  readonly most: number;
  /** The deliveries to send with an id after the given one, oldest first. */
  readonly read: (after: string, limit: number) => Promise<readonly DeliveryRow[]>;
  /** Whether a delivery of the store is being skipped at this moment. */
  readonly isLeftOut?: (id: string) => boolean;
  /** When a delivery of the store may be tried, on the monotonic clock. */
  readonly dueOf: (row: DeliveryRow) => number;
  /** Called whenever memory may hold something new. */
  readonly changed: () => void;
}

/**
 * Fills a lane's queue from the store. All deliveries to send up to the cursor are in memory, but for the chains that were
 * parked: when memory is full of what waits for its time, those that are due last are let go of, and read again in time.
 */
export interface Backlog {
  /** Takes a delivery that was just committed, or leaves it to the store. Ids grow from call to call. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** A delivery is booked: an answer of the store that is older must not bring it back. */
  settled(id: string): void;
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
  const { clock, faults, most, queue } = options;
  const enough = most / 2;
  const parked = new Set<string>();
  const settledMeanwhile = new Set<string>();
  let parkedDue = Number.POSITIVE_INFINITY;
  let cursor = '';
  let hasMore = true;
  let missed = false;
  let rewound: string | undefined;
  let state: 'idle' | 'reading' | 'resting' = 'idle';

  function take(row: DeliveryRow, event: HeadgateEvent | undefined): void {
    cursor = row.id;
    if (parked.has(chainKey(row)) || settledMeanwhile.has(row.id) || options.isLeftOut?.(row.id)) return;
    queue.add({ row, event, due: options.dueOf(row) });
  }

  async function readOn(): Promise<void> {
    state = 'reading';
    missed = false;
    const room = most - queue.size;
    try {
      const rows = await options.read(cursor, room);
      faults.passed();
      // What was asked before may be older than what is to be read.
      if (rewound !== '') for (const row of rows) take(row, undefined);
      hasMore = rows.length === room || missed;
      state = 'idle';
    } catch (error) {
      faults.failed(error);
      state = 'resting';
      clock.after(AGAIN_MS, () => {
        state = 'idle';
        options.changed();
      });
    }
    settledMeanwhile.clear();
    options.changed();
  }

  function park(): void {
    for (const { key, due } of queue.shed(enough)) {
      parked.add(key);
      parkedDue = Math.min(parkedDue, due);
    }
  }

  /** From the beginning, because what is read in the middle of a chain would overtake its head. */
  function readAgain(): void {
    parked.clear();
    parkedDue = Number.POSITIVE_INFINITY;
    cursor = '';
    hasMore = true;
    rewound = undefined;
  }

  function readFrom(after: string): void {
    if (after === '') readAgain();
    if (after < cursor) cursor = after;
    hasMore = true;
    rewound = undefined;
  }

  return {
    add(row, event) {
      if (state === 'reading') missed = true;
      else if (rewound === undefined && !hasMore && row.id > cursor) {
        if (queue.size < most) take(row, event);
        else hasMore = true;
      }
    },
    settled(id) {
      if (state === 'reading') settledMeanwhile.add(id);
    },
    rewind(after) {
      if (after === '') queue.shed(0);
      if (rewound === undefined || after < rewound) rewound = after;
    },
    fill(isNothingDue) {
      if (state !== 'idle') return;
      if (rewound !== undefined) readFrom(rewound);
      if (parkedDue <= clock.monotonic()) readAgain();
      if (!hasMore) return;
      if (isNothingDue && queue.size > enough) park();
      if (queue.size <= enough) void readOn();
    },
    nextDue: () => (parked.size > 0 ? parkedDue : undefined),
  };
}
