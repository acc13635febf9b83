import type { HeadgateEvent } from '../events/event.ts';
import { longestDelay } from '../lib/backoff.ts';
import type { Cancel } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { DeliveryRow, SettleOperation } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { type AttemptResult, type Attempts, attempt } from './attempt.ts';
import { createBacklog } from './backlog.ts';
import { createQueue, type Waiting } from './queue.ts';

/** Rows a lane holds in memory; what is over waits in the store until there is room. */
const MOST_IN_MEMORY = 10_000;
/** Sent but not booked yet; beyond that the lane waits, so that a crash repeats no more than these. */
const MOST_UNSETTLED = 500;
/** The store refused: how long until it is asked again. */
const AGAIN_MS = 1000;

export interface LaneOptions extends Attempts {
  readonly target: Target;
}

/** Everything that goes to one target: read, send, settle. */
export interface Lane {
  /** Takes up what the store holds; before, nothing is sent. */
  start(): void;
  /** Adds a delivery that was just committed. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** Later attempts use this one. */
  use(target: Target): void;
  /** Starts nothing more and waits for what is under way. */
  stop(): Promise<void>;
}

export function createLane(options: LaneOptions): Lane {
  const { clock, logger, storage } = options;
  const { id } = options.target.settings;
  const { waiting } = storage.in(options.workspace).deliveries;
  const queue = createQueue();
  const faultLog = (message: string, over: string) =>
    createFaultLog(logger, { fields: { target: id }, message, over });
  const unsent = faultLog('a delivery cannot be prepared', 'deliveries can be prepared again');
  const unbooked = faultLog('attempts cannot be booked', 'attempts can be booked again');
  const undelivered = faultLog('deliveries fail', 'deliveries arrive again');
  const backlog = createBacklog({
    queue,
    clock,
    most: MOST_IN_MEMORY,
    faults: faultLog('waiting deliveries cannot be read', 'waiting deliveries can be read again'),
    read: (after, limit) => waiting(id, after, limit),
    dueOf,
    changed: pump,
  });
  let target = options.target;
  let state: 'new' | 'started' | 'stopped' = 'new';
  let sending = 0;
  let settling = 0;
  let pausedUntil = 0;
  let wake: Cancel = () => {};
  const underWay = new Set<Promise<void>>();

  /** Never later than the schedule could have put it: the wall clock may have been set back since. */
  function dueOf({ next_at: nextAt, attempts }: DeliveryRow): number {
    const waitMs = nextAt === null ? 0 : Math.max(0, nextAt - clock.now());
    return clock.monotonic() + Math.min(waitMs, longestDelay(options.settings().retrySchedule, attempts));
  }

  const hasSlot = (): boolean => sending < target.concurrency && settling < MOST_UNSETTLED;

  function pump(): void {
    wake();
    if (state !== 'started') return;
    const now = clock.monotonic();
    let isNothingDue = false;
    while (hasSlot() && now >= pausedUntil && !isNothingDue) {
      const entry = queue.take(now);
      if (entry === undefined) isNothingDue = true;
      else begin(entry);
    }
    backlog.fill(isNothingDue);
    const due = Math.min(queue.nextDue() ?? Infinity, backlog.nextDue() ?? Infinity);
    const next = Math.max(due, pausedUntil);
    if (hasSlot() && next > now && next < Infinity) wake = clock.after(next - now, pump);
  }

  function begin(entry: Waiting): void {
    sending += 1;
    const work: Promise<void> = handle(entry)
      .catch(error => logger.error({ target: id, reason: reasonOf(error) }, 'a delivery broke its lane'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
  }

  async function handle(entry: Waiting): Promise<void> {
    const result = await tried(entry);
    sending -= 1;
    if (result === 'stopped') return;
    if (result === 'unreadable') queue.settle(entry, { ...entry, due: clock.monotonic() + AGAIN_MS });
    else await book(entry, result);
    pump();
  }

  async function tried(entry: Waiting): Promise<AttemptResult | 'stopped' | 'unreadable'> {
    try {
      const result = await attempt(entry, target, options);
      unsent.passed();
      return result;
    } catch (error) {
      unsent.failed(error);
      return 'unreadable';
    }
  }

  async function book(entry: Waiting, { settlement, pauseMs, due }: AttemptResult): Promise<void> {
    pausedUntil = Math.max(pausedUntil, clock.monotonic() + pauseMs);
    settling += 1;
    pump();
    const booked = await settle(settlement);
    settling -= 1;
    if (booked === 'stopped') return;
    backlog.settled(entry.row.id);
    note(settlement);
    if (booked === 'booked') options.booked?.(id, settlement);
    const { state: settled, attempts, nextAt } = settlement;
    if (booked === 'gone' || settled !== 'waiting') queue.settle(entry);
    else queue.settle(entry, { row: { ...entry.row, attempts, next_at: nextAt }, event: entry.event, due });
  }

  function note({ state: settled, deliveryId, lastError }: SettleOperation): void {
    if (settled === 'sent') undelivered.passed();
    else if (settled !== 'skipped') undelivered.failed(`${settled}: ${lastError}`, { delivery: deliveryId });
  }

  /** Writes until the disk takes it. `stopped` when the process ends first: the delivery is sent again after restart. */
  async function settle(operation: SettleOperation): Promise<'booked' | 'gone' | 'stopped'> {
    for (;;) {
      try {
        await storage.commit(operation);
        unbooked.passed();
        return 'booked';
      } catch (error) {
        if (error instanceof AppError && error.code === 'conflict') return 'gone';
        unbooked.failed(error);
        if (options.signal.aborted) return 'stopped';
        await clock.sleep(AGAIN_MS, options.signal);
      }
    }
  }

  return {
    start() {
      if (state === 'new') state = 'started';
      pump();
    },
    add(row, event) {
      backlog.add(row, event);
      pump();
    },
    use(next) {
      target = next;
      pump();
    },
    async stop() {
      state = 'stopped';
      wake();
      await Promise.all(underWay);
    },
  };
}
