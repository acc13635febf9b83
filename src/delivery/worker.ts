import type { HeadgateEvent } from '../events/event.ts';
import { clampRetryAfterMs, maxDelay } from '../lib/backoff.ts';
import type { Cancel } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { reasonOf } from '../lib/errors.ts';
import { revealJson } from '../lib/secret.ts';
import type { SettleOperation, TargetPause } from '../storage/operations/settle.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { Target } from '../targets/target.ts';
import type { DeliveryContext } from './attempt.ts';
import { createHealthTracker, type FailingState, type TargetHealthChange } from './health.ts';
import type { ConcurrencyLimit } from './limits/concurrency.ts';
import type { Quota, TokenReservation } from './limits/quota.ts';
import type { RateLimiter } from './limits/rate.ts';
import { createBacklog, createQueue, groupOf, type QueuedDelivery } from './queue.ts';
import { createBatchSender, type SendResult } from './send.ts';
import {
  recordSettlement,
  type Settlement,
  settle,
  settleSkipped,
  withFallbacks,
  withPause,
} from './settle.ts';

/** Rows a lane holds in memory; what is over waits in the store until there is room. */
const MAX_IN_MEMORY = 10_000;
/** Sent but not booked yet; beyond that the lane waits, so that a crash repeats no more than these. */
const MAX_UNSETTLED = 500;
/** Most deliveries that travel in one message, whatever the target takes. */
const MAX_BATCH_SIZE = 500;

export interface DeliveryWorkerOptions extends DeliveryContext {
  readonly target: Target;
  readonly concurrency: ConcurrencyLimit;
  readonly quota: Quota;
  /** Its pace among those of the other lanes. */
  readonly rateLimiter: (wake: () => void) => RateLimiter;
  /** What was last told of the target if it was failing when somebody last looked. */
  readonly lastHealth: FailingState | undefined;
  /** Until when (epoch ms) the target asked for nothing to be sent when somebody last looked; undefined when it did not. */
  readonly pausedUntil: number | undefined;
  /** Told of the target's health, and what the delivery was of that says so. */
  readonly onHealthChange: (target: string, onHealthChange: TargetHealthChange, row: DeliveryRow) => void;
  /** Told of a delivery that was skipped because too many wait. Left out, nobody is. */
  readonly onDropped?: (row: DeliveryRow) => void;
  /** Ids of the targets that stand in for it, for this event. */
  readonly fallbacks: (target: Target, event: HeadgateEvent | undefined) => readonly string[];
  /** Told that another target has a delivery of this id to take from the store. */
  readonly onFallbackDelivery: (target: string, id: string) => void;
}

/** Everything that goes to one target: read, send, settle. */
export interface DeliveryWorker {
  /** Takes up what the store holds; before, nothing is sent. */
  start(): void;
  /** Adds a delivery that was just committed. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** The store has a delivery with an id after `after` that was not added. */
  readFrom(after: string): void;
  /** Deliveries in the store may be due at another time than memory has it. */
  reload(): void;
  /** Later attempts use this one. To a former target only ends are sent. */
  configure(target: Target, isRemoved: boolean): void;
  /** For how long (ms) something has been due while nothing was begun or booked; 0 while the lane moves or rests. */
  overdueMs(): number;
  /** Whether what is due waits for the quota of the workspace. */
  isWaitingForQuota(): boolean;
  /** Starts nothing more and waits for what is under way. */
  stop(): Promise<void>;
}

export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { clock, logger, storage } = options;
  const { id } = options.target.settings;
  const { deliveries } = storage.in(options.workspace);
  const queue = createQueue();
  const rateLimiter = options.rateLimiter(pump);
  let health = createHealthTracker(clock, options.lastHealth);
  const permits = options.concurrency.join(pump);
  const quota = options.quota.join(pump);
  const faultLog = (message: string, over: string) =>
    createCountedLog(logger, { fields: { target: id }, message, over });
  const batches = createBatchSender({
    ...options,
    queue,
    faultLog: faultLog('a delivery cannot be prepared', 'deliveries can be prepared again'),
  });
  const unrecorded = faultLog('attempts cannot be booked', 'attempts can be booked again');
  const undelivered = faultLog('deliveries fail', 'deliveries arrive again');
  const overflow = faultLog('too many wait: alarms are dropped', 'alarms are taken again');
  /** Ids of deliveries that are being dropped and are not on disk as skipped yet. */
  const dropping = new Set<string>();
  const backlog = createBacklog({
    queue,
    clock,
    capacity: MAX_IN_MEMORY,
    faultLog: faultLog('waiting deliveries cannot be read', 'waiting deliveries can be read again'),
    read: (after, limit) => deliveries[isRemoved ? 'waitingResolved' : 'waiting'](id, after, limit),
    dueAt,
    isOmitted: id => dropping.has(id),
    onChange: pump,
  });
  const startedAs = options.ids.next();
  let target = options.target;
  /** What its settings say: another one that says the same is the same. */
  let settingsText = revealJson(target.settings);
  let isRemoved = false;
  let state: 'new' | 'started' | 'stopped' = 'new';
  let inFlight = 0;
  let settling = 0;
  /** Since when, on the monotonic clock, something that is due has met no free request. */
  let lingeringSince: number | undefined;
  /** When something was last begun or booked, on the monotonic clock. */
  let progressAt = clock.monotonic();
  let wake: Cancel = () => {};
  const underWay = new Set<Promise<void>>();
  rateLimiter.setLimit(target.settings.pacing, target.rateLimitKey);
  // Never longer than any pause: the wall clock may have been set back since.
  if (options.pausedUntil !== undefined)
    rateLimiter.pause(clock.monotonic() + clampRetryAfterMs(options.pausedUntil - clock.now()));

  /** Never later than the schedule could have put it: the wall clock may have been set back since. */
  function dueAt({ next_at: nextAt, attempts, retried_from: from }: DeliveryRow): number {
    const waitMs = nextAt === null ? 0 : Math.max(0, nextAt - clock.now());
    return clock.monotonic() + Math.min(waitMs, maxDelay(options.settings().retrySchedule, attempts - from));
  }

  const maxBatchSize = (): number => Math.min(target.batching?.maxEvents ?? 1, MAX_BATCH_SIZE);

  /** Until when what is due waits for company: not beyond what fits, and not while nothing is under way. */
  function lingersUntil(): number {
    const { batching } = target;
    if (lingeringSince === undefined || batching === undefined || inFlight === 0) return 0;
    return queue.heads >= maxBatchSize() ? 0 : lingeringSince + batching.lingerMs;
  }

  const hasRoom = (): boolean => inFlight < target.concurrency && settling < MAX_UNSETTLED;

  function pump(): void {
    wake();
    if (state !== 'started') return;
    const now = clock.monotonic();
    const isNothingDue = beginAll(now);
    backlog.fill(isNothingDue);
    const due = Math.min(queue.nextDue() ?? Infinity, backlog.nextDue() ?? Infinity);
    if (inFlight >= target.concurrency && due <= now) lingeringSince ??= now;
    const next = Math.max(due, rateLimiter.nextFreeAt(), lingersUntil());
    if (hasRoom() && next > now && next < Infinity) wake = clock.after(next - now, pump);
  }

  /** Begins what may be begun; whether whatever is in memory waits for its time. */
  function beginAll(now: number): boolean {
    while (hasRoom() && rateLimiter.nextFreeAt() <= now) {
      const next = queue.next();
      if (next === undefined || next.due > now) return true;
      if (lingersUntil() > now || !quota.tryAdmit(next.batchSize ?? 1) || !permits.tryAcquire()) return false;
      const entries = takeBatch(now);
      if (entries.length > 0) begin(entries, now);
      else permits.release();
    }
    return false;
  }

  /** What is due and may travel together; what travels alone, or in company of its own, waits for its turn. */
  function takeBatch(now: number): readonly QueuedDelivery[] {
    const capacity = maxBatchSize();
    const entries: QueuedDelivery[] = [];
    let group: string | undefined;
    while (entries.length < capacity && quota.hasTokens(entries.length + 1)) {
      const entry = takeSendable(now, group);
      if (entry === undefined) break;
      if (entries.length === 0) group = groupOf(entry);
      const isSingle = isSentAlone(entry) || groupOf(entry) !== group;
      if (isSingle && entries.length > 0) queue.release(entry, entry);
      else entries.push(entry);
      if (isSingle) break;
    }
    return entries;
  }

  /**
   * Whoever was tried under an id keeps it. What is older than this lane may have been under way, alone, when the process
   * before ended; what travels in a group is bound even then.
   */
  const isSentAlone = ({ row, isAlone }: QueuedDelivery): boolean =>
    isAlone === true ||
    row.batch !== null ||
    row.attempts > 0 ||
    (row.group_id === null && row.id < startedAs);

  /** What is next, of the group when there is one. */
  function takeSendable(now: number, group: string | undefined): QueuedDelivery | undefined {
    for (;;) {
      const entry = group === undefined ? queue.take(now) : queue.takeFromGroup(group, now);
      if (entry === undefined || !isRemoved || entry.row.status === 'OK') return entry;
      queue.forget(entry);
    }
  }

  function begin(entries: readonly QueuedDelivery[], now: number): void {
    inFlight += 1;
    lingeringSince = undefined;
    progressAt = now;
    rateLimiter.record(now);
    trackWork(handle(entries, now, quota.reserve(entries[0]?.batchSize ?? entries.length)));
  }

  async function handle(
    entries: readonly QueuedDelivery[],
    startedAt: number,
    reservation: TokenReservation,
  ): Promise<void> {
    const sentTo = target;
    const sentBy = settingsText;
    const result = await batches.send(entries, sentTo, reservation);
    inFlight -= 1;
    permits.release();
    if (result === 'stopped') return;
    reservation.complete(result === 'put back' ? 0 : result.sent.length);
    if (result === 'put back' || result.attemptResult === undefined) rateLimiter.refund(startedAt);
    if (result !== 'put back') await settleResult(result, sentTo, sentBy === settingsText);
    pump();
  }

  /** Whoever is asked by other settings since is not who asked for a pause. */
  function pauseFor(pauseMs: number): TargetPause | undefined {
    if (pauseMs <= 0) return undefined;
    rateLimiter.pause(clock.monotonic() + pauseMs);
    return { target: id, until: clock.now() + pauseMs };
  }

  async function settleResult(result: SendResult, sentTo: Target, isAsBefore: boolean): Promise<void> {
    const { attemptResult } = result;
    const pause = isAsBefore && attemptResult !== undefined ? pauseFor(attemptResult.pauseMs) : undefined;
    const settlements = withPause(settle(result, options), pause);
    const [first] = settlements;
    const onHealthChange = attemptResult && first && health.record(attemptResult.outcome, first.operation);
    const { isFailing } = health;
    settling += settlements.length;
    pump();
    const fallbacks = (event?: HeadgateEvent) => options.fallbacks(sentTo, event);
    await Promise.all(
      withFallbacks(settlements, { fallbacks, isFailing, ids: options.ids, clock }).map(record),
    );
    if (onHealthChange !== undefined && first !== undefined)
      options.onHealthChange(id, onHealthChange, first.prepared.entry.row);
  }

  async function record({ prepared, operation, durationMs, due, isAlone }: Settlement): Promise<void> {
    const { entry } = prepared;
    const { row } = entry;
    const written = await recordSettlement(operation, options, unrecorded);
    settling -= 1;
    progressAt = clock.monotonic();
    if (written === 'stopped') return;
    backlog.markSettled(row.id);
    logOutcome(operation);
    if (written !== 'gone') {
      options.onSettled?.(row, operation, durationMs);
      for (const other of operation.fallbackDeliveries) options.onFallbackDelivery(other.target, other.id);
    }
    if (written !== 'booked') {
      // The store has it otherwise than memory, settled, with this attempt or put back, and that is what counts.
      queue.forget(entry);
      backlog.rewind('');
    } else if (operation.state !== 'waiting') queue.release(entry);
    else queue.release(entry, { row: afterAttempt(row, operation), event: entry.event, due, isAlone });
    // Its end, if that came meanwhile, was not among those to send.
    if (isRemoved && row.status === 'ALARM') backlog.rewind('');
  }

  function logOutcome({ state: now, deliveryId, lastError }: SettleOperation): void {
    if (now === 'sent') undelivered.recovered();
    else if (now !== 'skipped') undelivered.failed(`${now}: ${lastError}`, { delivery: deliveryId });
  }

  /** Ends are never dropped: whoever got an alarm gets its end. */
  const isOverCapacity = ({ status }: DeliveryRow): boolean =>
    target.settings.onBackpressure === 'drop' &&
    status === 'ALARM' &&
    queue.size + dropping.size >= options.settings().mostWaiting;

  async function drop(row: DeliveryRow): Promise<void> {
    dropping.add(row.id);
    const reason = `dropped: ${options.settings().mostWaiting} wait for this target, and onBackpressure is drop`;
    overflow.failed(reason, { delivery: row.id });
    const operation = settleSkipped(options.workspace, row, { now: clock.now(), reason });
    const written = await recordSettlement(operation, options, unrecorded);
    backlog.markSettled(row.id);
    dropping.delete(row.id);
    if (written === 'stopped') return;
    if (written === 'booked') {
      options.onSettled?.(row, operation, null);
      options.onDropped?.(row);
    } else backlog.rewind(beforeId(row.id));
    pump();
  }

  function trackWork(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch(error => logger.error({ target: id, reason: reasonOf(error) }, 'a delivery broke its lane'))
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  return {
    start() {
      if (state === 'new') state = 'started';
      pump();
    },
    add(row, event) {
      if (!isRemoved && isOverCapacity(row)) {
        trackWork(drop(row));
        return;
      }
      overflow.recovered();
      if (isRemoved) backlog.rewind(beforeId(row.id));
      else backlog.add(row, event);
      pump();
    },
    readFrom(after) {
      backlog.rewind(after);
      pump();
    },
    reload() {
      backlog.rewind('');
      pump();
    },
    configure(next, nowRemoved) {
      if (isRemoved !== nowRemoved) {
        backlog.rewind('');
        // What was told of it ended with its removal.
        health = createHealthTracker(clock);
      }
      const nextText = revealJson(next.settings);
      if (nextText !== settingsText) rateLimiter.resume();
      settingsText = nextText;
      target = next;
      isRemoved = nowRemoved;
      rateLimiter.setLimit(next.settings.pacing, next.rateLimitKey);
      pump();
    },
    overdueMs() {
      const due = Math.min(queue.nextDue() ?? Infinity, backlog.nextDue() ?? Infinity);
      return Math.max(
        0,
        clock.monotonic() - Math.max(due, rateLimiter.nextFreeAt(), quota.nextFreeAt(), progressAt),
      );
    },
    isWaitingForQuota: () => quota.isWaiting,
    async stop() {
      state = 'stopped';
      wake();
      rateLimiter.close();
      quota.leave();
      await Promise.all(underWay);
    },
  };
}

/** A place right before it, as far as ids go. */
export const beforeId = (id: string): string => id.slice(0, -1);

const afterAttempt = (row: DeliveryRow, operation: SettleOperation): DeliveryRow => ({
  ...row,
  attempts: operation.attempts,
  next_at: operation.nextAt,
  last_status: operation.lastStatus,
  last_error: operation.lastError,
  batch: operation.batch,
  remainder: operation.remainder ?? null,
});
