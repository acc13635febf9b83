import type { HeadgateEvent } from '../events/event.ts';
import { longestDelay } from '../lib/backoff.ts';
import type { Cancel } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { DeliveryRow, SettleOperation } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { type AttemptResult, type Attempts, attempt } from './attempt.ts';
import { createBacklog } from './backlog.ts';
import { handedOver } from './hand-over.ts';
import { createHealth, type HealthNews } from './health.ts';
import { createPace } from './pace.ts';
import { createQueue, type Waiting } from './queue.ts';
import type { Slots } from './slots.ts';

/** Rows a lane holds in memory; what is over waits in the store until there is room. */
const MOST_IN_MEMORY = 10_000;
/** Sent but not booked yet; beyond that the lane waits, so that a crash repeats no more than these. */
const MOST_UNSETTLED = 500;
/** The store refused: how long until it is asked again. */
const AGAIN_MS = 1000;

export interface LaneOptions extends Attempts {
  readonly target: Target;
  readonly slots: Slots;
  /** Whether the target was failing when somebody last looked. */
  readonly wasFailing: boolean;
  /** Told of the target's health, and what the delivery was of that says so. */
  readonly news: (target: string, news: HealthNews, row: DeliveryRow) => void;
  /** Told that another target has a delivery of this id to take from the store. */
  readonly handedOver: (target: string, id: string) => void;
}

/** Everything that goes to one target: read, send, settle. */
export interface Lane {
  /** Takes up what the store holds; before, nothing is sent. */
  start(): void;
  /** Adds a delivery that was just committed. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** The store has a delivery with an id after `after` that was not added. */
  look(after: string): void;
  /** Deliveries in the store may be due at another time than memory has it. */
  lookAnew(): void;
  /** Later attempts use this one. To a former target only ends are sent. */
  use(target: Target, isFormer: boolean): void;
  /** Starts nothing more and waits for what is under way. */
  stop(): Promise<void>;
}

export function createLane(options: LaneOptions): Lane {
  const { clock, logger, storage } = options;
  const { id } = options.target.settings;
  const { deliveries } = storage.in(options.workspace);
  const queue = createQueue();
  const pace = createPace();
  const health = createHealth(clock, options.wasFailing);
  const seat = options.slots.seat(pump);
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
    read: (after, limit) => deliveries.waiting(id, after, limit),
    dueOf,
    changed: pump,
  });
  let target = options.target;
  let isFormer = false;
  let state: 'new' | 'started' | 'stopped' = 'new';
  let sending = 0;
  let settling = 0;
  let wake: Cancel = () => {};
  const underWay = new Set<Promise<void>>();
  pace.limit(target.settings.pacing);

  /** Never later than the schedule could have put it: the wall clock may have been set back since. */
  function dueOf({ next_at: nextAt, attempts }: DeliveryRow): number {
    const waitMs = nextAt === null ? 0 : Math.max(0, nextAt - clock.now());
    return clock.monotonic() + Math.min(waitMs, longestDelay(options.settings().retrySchedule, attempts));
  }

  const hasRoom = (): boolean => sending < target.concurrency && settling < MOST_UNSETTLED;

  function pump(): void {
    wake();
    if (state !== 'started') return;
    const isNothingDue = beginAll();
    backlog.fill(isNothingDue);
    const now = clock.monotonic();
    const due = Math.min(queue.nextDue() ?? Infinity, backlog.nextDue() ?? Infinity);
    const next = Math.max(due, pace.freeAt());
    if (hasRoom() && next > now && next < Infinity) wake = clock.after(next - now, pump);
  }

  /** Begins what may be begun; whether whatever is in memory waits for its time. */
  function beginAll(): boolean {
    const now = clock.monotonic();
    while (hasRoom() && pace.freeAt() <= now) {
      const due = queue.nextDue();
      if (due === undefined || due > now) return true;
      if (!seat.take()) return false;
      const entry = queue.take(now);
      if (entry === undefined) throw new Error('what is due cannot be taken');
      if (isFormer && entry.row.status === 'ALARM') {
        seat.release();
        backlog.hold(entry);
      } else begin(entry, now);
    }
    return false;
  }

  function begin(entry: Waiting, now: number): void {
    sending += 1;
    pace.begun(now);
    const work: Promise<void> = handle(entry)
      .catch(error => logger.error({ target: id, reason: reasonOf(error) }, 'a delivery broke its lane'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
  }

  async function handle(entry: Waiting): Promise<void> {
    const result = await tried(entry);
    sending -= 1;
    seat.release();
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

  async function book(entry: Waiting, result: AttemptResult): Promise<void> {
    const { row } = entry;
    if (result.outcome === undefined) pace.unused();
    pace.pause(clock.monotonic() + result.pauseMs);
    const news = result.outcome && health.note(result.outcome, result.settlement);
    const settlement = settled(row, result);
    settling += 1;
    pump();
    const booked = await settle(settlement);
    settling -= 1;
    if (booked === 'stopped') return;
    backlog.settled(row.id);
    note(settlement);
    if (booked === 'booked') options.booked?.(row, settlement, result.durationMs);
    if (booked === 'booked' && settlement.handOver !== null)
      options.handedOver(settlement.handOver.target, settlement.handOver.id);
    if (news !== undefined) options.news(id, news, row);
    if (booked === 'gone' || settlement.state !== 'waiting') queue.settle(entry);
    else queue.settle(entry, { row: afterAttempt(row, settlement), event: entry.event, due: result.due });
  }

  function settled(row: DeliveryRow, { settlement, isGiven }: AttemptResult): SettleOperation {
    const { fallback } = target;
    if (fallback === undefined) return settlement;
    const { isFailing } = health;
    const more = { id: options.ids.next(), now: clock.now() };
    return handedOver(settlement, { row, fallback, isFailing, isGiven, ...more });
  }

  function note({ state: now, deliveryId, lastError }: SettleOperation): void {
    if (now === 'sent') undelivered.passed();
    else if (now !== 'skipped') undelivered.failed(`${now}: ${lastError}`, { delivery: deliveryId });
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
    look(after) {
      backlog.rewind(after);
      pump();
    },
    lookAnew() {
      queue.shed(0);
      backlog.rewind('');
      pump();
    },
    use(next, nowFormer) {
      if (isFormer && !nowFormer) backlog.rewind('');
      target = next;
      isFormer = nowFormer;
      pace.limit(next.settings.pacing);
      pump();
    },
    async stop() {
      state = 'stopped';
      wake();
      await Promise.all(underWay);
    },
  };
}

const afterAttempt = (row: DeliveryRow, settlement: SettleOperation): DeliveryRow => ({
  ...row,
  attempts: settlement.attempts,
  next_at: settlement.nextAt,
  last_status: settlement.lastStatus,
  last_error: settlement.lastError,
});
