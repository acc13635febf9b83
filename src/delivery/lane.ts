import type { HeadgateEvent } from '../events/event.ts';
import type { Cancel } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { DeliveryRow, SettleOperation } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { type Attempts, attempt } from './attempt.ts';
import { createQueue, type Waiting } from './queue.ts';

/** Rows a lane holds in memory; what is over waits in the store until there is room. */
const MOST_IN_MEMORY = 10_000;
/** Sent but not booked yet; beyond that the lane waits, so that a crash repeats no more than these. */
const MOST_UNSETTLED = 500;
/** The disk refused: how long until the settlement is written again. */
const SETTLE_AGAIN_MS = 1000;

export interface LaneOptions extends Attempts {
  readonly target: Target;
}

/** Everything that goes to one target: read, send, settle. */
export interface Lane {
  /** Takes up what the store holds. */
  start(): void;
  /** Adds a delivery that was just committed. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** Later attempts use this one. */
  use(target: Target): void;
  /** Starts nothing more and waits for what is under way. */
  stop(): Promise<void>;
}

export function createLane(options: LaneOptions): Lane {
  const { clock, logger, storage, workspace } = options;
  const queue = createQueue();
  const stores = storage.in(workspace);
  let target = options.target;
  let cursor = '';
  let overflow = true;
  let loading = false;
  let missed = false;
  let sending = 0;
  let settling = 0;
  let pausedUntil = 0;
  let stopped = false;
  let wake: Cancel = () => {};
  const underWay = new Set<Promise<void>>();

  function add(row: DeliveryRow, event: HeadgateEvent | undefined): void {
    const waitMs = row.next_at === null ? 0 : Math.max(0, row.next_at - clock.now());
    queue.add({ row, event, due: waitMs === 0 ? 0 : clock.monotonic() + waitMs });
    cursor = row.id;
  }

  async function load(): Promise<void> {
    if (loading || stopped) return;
    loading = true;
    try {
      missed = false;
      const room = MOST_IN_MEMORY - queue.size;
      const rows = await stores.deliveries.waiting(target.settings.id, cursor, room);
      for (const row of rows) add(row, undefined);
      overflow = rows.length === room || missed;
    } catch (error) {
      logger.error(
        { target: target.settings.id, reason: reasonOf(error) },
        'waiting deliveries cannot be read',
      );
      clock.after(SETTLE_AGAIN_MS, pump);
    } finally {
      loading = false;
    }
    pump();
  }

  function pump(): void {
    wake();
    if (stopped) return;
    const now = clock.monotonic();
    while (sending < target.concurrency && settling < MOST_UNSETTLED && now >= pausedUntil) {
      const entry = queue.take(now);
      if (entry === undefined) break;
      sending += 1;
      const work = handle(entry).catch(error => {
        logger.error({ delivery: entry.row.id, reason: reasonOf(error) }, 'a delivery broke the lane');
      });
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    }
    if (overflow && queue.size < MOST_IN_MEMORY / 2) void load();
    const due = queue.nextDue();
    if (due !== undefined && sending < target.concurrency)
      wake = clock.after(Math.max(due, pausedUntil) - now, pump);
  }

  async function handle(entry: Waiting): Promise<void> {
    const result = await attempt(entry, target, options);
    sending -= 1;
    if (result === 'stopped') return;
    if (result.pauseMs > 0) pausedUntil = Math.max(pausedUntil, clock.monotonic() + result.pauseMs);
    settling += 1;
    pump();
    const booked = await settle(result.settlement);
    settling -= 1;
    if (booked === 'stopped') return;
    const { state, attempts, nextAt } = result.settlement;
    if (booked === 'gone' || state !== 'waiting') queue.settle(entry);
    else
      queue.settle(entry, {
        row: { ...entry.row, attempts, next_at: nextAt },
        event: entry.event,
        due: clock.monotonic() + Math.max(0, (nextAt ?? 0) - clock.now()),
      });
    pump();
  }

  /** Writes until the disk takes it. `stopped` when the process ends first: the delivery is sent again after restart. */
  async function settle(operation: SettleOperation): Promise<'booked' | 'gone' | 'stopped'> {
    for (;;) {
      try {
        await storage.commit(operation);
        return 'booked';
      } catch (error) {
        if (error instanceof AppError && error.code === 'conflict') return 'gone';
        if (stopped) return 'stopped';
        logger.warn(
          { delivery: operation.deliveryId, reason: reasonOf(error) },
          'an attempt cannot be booked yet',
        );
        await clock.sleep(SETTLE_AGAIN_MS, options.signal);
      }
    }
  }

  return {
    start: () => void load(),
    add(row, event) {
      if (loading || overflow) missed = true;
      else add(row, event);
      pump();
    },
    use(next) {
      target = next;
      pump();
    },
    async stop() {
      stopped = true;
      wake();
      await Promise.all(underWay);
    },
  };
}
