import type { HeadgateEvent } from '../events/event.ts';
import { clampRetryAfterMs, maxDelay } from '../lib/backoff.ts';
import type { Cancel } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { reasonOf } from '../lib/errors.ts';
import { revealJson } from '../lib/secret.ts';
import type { DeliveryRow, DeliveryStore } from '../storage/stores/deliveries.ts';
import type { Target } from '../targets/target.ts';
import type { DeliveryContext } from './attempt.ts';
import { createHealthTracker, type FailingState } from './health.ts';
import type { DeliveryLimits, WorkerLimits } from './limits/limits.ts';
import { type Backlog, createBacklog, createQueue, groupOf, type QueuedDelivery } from './queue.ts';
import type { ResultBus } from './results.ts';
import { type BatchSender, createBatchSender, type SendResult } from './send.ts';
import {
  afterAttempt,
  recordSettlement,
  type Settlement,
  settle,
  settleSkipped,
  withFallbacks,
  withPause,
} from './settle.ts';

/** Rows a worker holds in memory; the others wait in the store until there is room. */
const MAX_IN_MEMORY = 10_000;
/** Sent but not recorded yet; beyond that the worker waits, so that a crash repeats no more than these. */
const MAX_UNSETTLED = 500;
/** Most deliveries of one request, whatever the target takes. */
const MAX_BATCH_SIZE = 500;

export interface DeliveryWorkerOptions extends DeliveryContext {
  readonly target: Target;
  readonly limits: DeliveryLimits;
  /** The last state of the target that was notified, if it was failing when the process before stopped. */
  readonly lastHealth: FailingState | undefined;
  /** Until when (epoch ms) the target had asked the process before for a pause; undefined when it had not. */
  readonly pausedUntil: number | undefined;
  readonly results: Pick<ResultBus, 'publish'>;
  /** Ids of the fallback targets for this event. */
  readonly fallbacks: (target: Target, event: HeadgateEvent | undefined) => readonly string[];
}

/** Sends what is queued for one target. */
export interface DeliveryWorker {
  /** Reads what the store holds; before, nothing is sent. */
  start(): void;
  /** Adds a delivery that was just committed. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** The store has a delivery with an id after `after` that was not added. */
  readFrom(after: string): void;
  /** Deliveries in the store may be due at another time than in memory. */
  reload(): void;
  /** Later attempts use this target. A removed target is sent resolutions only. */
  configure(target: Target, isRemoved: boolean): void;
  /** How long (ms) something has been due since anything was sent or settled; 0 while the worker advances or is idle. */
  overdueMs(): number;
  /** True while deliveries that are due wait for the quota of the workspace. */
  isWaitingForQuota(): boolean;
  /** Sends nothing more and waits for what is in flight. */
  stop(): Promise<void>;
}

export const createDeliveryWorker = (options: DeliveryWorkerOptions): DeliveryWorker =>
  new TargetWorker(options);

class TargetWorker implements DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #id: string;
  readonly #limits: WorkerLimits;
  readonly #queue = createQueue();
  readonly #backlog: Backlog;
  readonly #sender: BatchSender;
  readonly #logs: ReturnType<typeof createLogs>;
  /** Deliveries with a smaller id may be of the process before. */
  readonly #firstId: string;
  /** Ids of deliveries that are being dropped and are not on disk as skipped yet. */
  readonly #dropping = new Set<string>();
  readonly #work = new Set<Promise<void>>();
  #state: 'new' | 'started' | 'stopped' = 'new';
  #target: Target;
  #isRemoved = false;
  /** With secrets: a target with the same settings is the same receiver. */
  #settingsText: string;
  #health: ReturnType<typeof createHealthTracker>;
  /** Requests. */
  #inFlight = 0;
  /** Deliveries. */
  #settling = 0;
  /** Since when, on the monotonic clock, something is due while all requests are in flight. */
  #lingeringSince: number | undefined;
  /** When something was last sent or settled, on the monotonic clock. */
  #advancedAt: number;
  #cancelPump: Cancel = () => {};

  constructor(options: DeliveryWorkerOptions) {
    const { clock, limits, target } = options;
    const { id } = target.settings;
    this.#options = options;
    this.#id = id;
    this.#target = target;
    this.#settingsText = revealJson(target.settings);
    this.#limits = limits.join(this.#pump);
    this.#logs = createLogs(options);
    this.#sender = createBatchSender({ ...options, queue: this.#queue, faultLog: this.#logs.unprepared });
    this.#backlog = this.#createBacklog(options.storage.in(options.workspace).deliveries);
    this.#firstId = options.ids.next();
    this.#health = createHealthTracker(clock, options.lastHealth);
    this.#advancedAt = clock.monotonic();
    this.#limits.rateLimiter.setLimit(target.settings.pacing, target.rateLimitKey);
    // Never longer than any pause: the wall clock may have been set back since.
    if (options.pausedUntil !== undefined) {
      const pauseMs = clampRetryAfterMs(options.pausedUntil - clock.now());
      this.#limits.rateLimiter.pause(clock.monotonic() + pauseMs);
    }
  }

  start(): void {
    if (this.#state === 'new') this.#state = 'started';
    this.#pump();
  }

  add(row: DeliveryRow, event: HeadgateEvent): void {
    if (!this.#isRemoved && this.#isOverCapacity(row)) {
      this.#track(this.#drop(row));
      return;
    }
    this.#logs.overflow.recovered();
    if (this.#isRemoved) this.#backlog.rewind(beforeId(row.id));
    else this.#backlog.add(row, event);
    this.#pump();
  }

  readFrom(after: string): void {
    this.#backlog.rewind(after);
    this.#pump();
  }

  reload(): void {
    this.readFrom('');
  }

  configure(target: Target, isRemoved: boolean): void {
    const { rateLimiter } = this.#limits;
    if (this.#isRemoved !== isRemoved) {
      this.#backlog.rewind('');
      // The incident of its health ended with its removal.
      this.#health = createHealthTracker(this.#options.clock);
    }
    const settingsText = revealJson(target.settings);
    if (settingsText !== this.#settingsText) rateLimiter.resume();
    this.#settingsText = settingsText;
    this.#target = target;
    this.#isRemoved = isRemoved;
    rateLimiter.setLimit(target.settings.pacing, target.rateLimitKey);
    this.#pump();
  }

  overdueMs(): number {
    const { quota, rateLimiter } = this.#limits;
    const freeAt = Math.max(rateLimiter.nextFreeAt(), quota.nextFreeAt());
    const overdueSince = Math.max(this.#nextDue(), freeAt, this.#advancedAt);
    return Math.max(0, this.#options.clock.monotonic() - overdueSince);
  }

  isWaitingForQuota(): boolean {
    return this.#limits.quota.isWaiting;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#cancelPump();
    this.#limits.rateLimiter.close();
    this.#limits.quota.leave();
    await Promise.all(this.#work);
  }

  #createBacklog(deliveries: Pick<DeliveryStore, 'waiting' | 'waitingResolved'>): Backlog {
    return createBacklog({
      queue: this.#queue,
      clock: this.#options.clock,
      capacity: MAX_IN_MEMORY,
      faultLog: this.#logs.unread,
      read: (after, limit) =>
        deliveries[this.#isRemoved ? 'waitingResolved' : 'waiting'](this.#id, after, limit),
      dueAt: row => this.#dueAt(row),
      isOmitted: id => this.#dropping.has(id),
      onChange: this.#pump,
    });
  }

  /** Never later than the schedule could have put it: the wall clock may have been set back since. */
  #dueAt({ next_at: nextAt, attempts, retried_from: from }: DeliveryRow): number {
    const { clock, settings } = this.#options;
    const waitMs = nextAt === null ? 0 : Math.max(0, nextAt - clock.now());
    return clock.monotonic() + Math.min(waitMs, maxDelay(settings().retrySchedule, attempts - from));
  }

  #nextDue(): number {
    return Math.min(this.#queue.nextDue() ?? Infinity, this.#backlog.nextDue() ?? Infinity);
  }

  #maxBatchSize(): number {
    return Math.min(this.#target.batching?.maxEvents ?? 1, MAX_BATCH_SIZE);
  }

  /** Until when what is due waits to be sent with more: not once a batch is full, and not while nothing is in flight. */
  #lingersUntil(): number {
    const { batching } = this.#target;
    if (this.#lingeringSince === undefined || batching === undefined || this.#inFlight === 0) return 0;
    return this.#queue.heads >= this.#maxBatchSize() ? 0 : this.#lingeringSince + batching.lingerMs;
  }

  #hasRoom(): boolean {
    return this.#inFlight < this.#target.concurrency && this.#settling < MAX_UNSETTLED;
  }

  /** Sends what may be sent, reads on, and sets the timer for what is due next. */
  readonly #pump = (): void => {
    this.#cancelPump();
    if (this.#state !== 'started') return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    const isNothingDue = this.#sendDue(now);
    this.#backlog.fill(isNothingDue);
    const due = this.#nextDue();
    if (this.#inFlight >= this.#target.concurrency && due <= now) this.#lingeringSince ??= now;
    const next = Math.max(due, this.#limits.rateLimiter.nextFreeAt(), this.#lingersUntil());
    if (this.#hasRoom() && next > now && next < Infinity)
      this.#cancelPump = clock.after(next - now, this.#pump);
  };

  /** True when nothing in memory is due. */
  #sendDue(now: number): boolean {
    const { permits, quota, rateLimiter } = this.#limits;
    while (this.#hasRoom() && rateLimiter.nextFreeAt() <= now) {
      const next = this.#queue.next();
      if (next === undefined || next.due > now) return true;
      if (this.#lingersUntil() > now || !quota.tryAdmit(next.batchSize ?? 1) || !permits.tryAcquire())
        return false;
      const entries = this.#takeBatch(now);
      if (entries.length > 0) this.#track(this.#send(entries, now));
      else permits.release();
    }
    return false;
  }

  /** Takes deliveries that are due and may be sent together. A delivery that is sent alone, or of another group, waits for the next request. */
  #takeBatch(now: number): readonly QueuedDelivery[] {
    const maxSize = this.#maxBatchSize();
    const entries: QueuedDelivery[] = [];
    let group: string | undefined;
    while (entries.length < maxSize && this.#limits.quota.hasTokens(entries.length + 1)) {
      const entry = this.#takeSendable(now, group);
      if (entry === undefined) break;
      if (entries.length === 0) group = groupOf(entry);
      const isSingle = this.#isSentAlone(entry) || groupOf(entry) !== group;
      if (isSingle && entries.length > 0) this.#queue.release(entry, entry);
      else entries.push(entry);
      if (isSingle) break;
    }
    return entries;
  }

  /**
   * A delivery keeps the id of its first attempt. One of the process before may have been in flight alone when that ended;
   * one of a group is bound to a batch even then.
   */
  #isSentAlone({ row, isAlone }: QueuedDelivery): boolean {
    return (
      isAlone === true ||
      row.batch !== null ||
      row.attempts > 0 ||
      (row.group_id === null && row.id < this.#firstId)
    );
  }

  /** The next delivery, of the group when there is one. */
  #takeSendable(now: number, group: string | undefined): QueuedDelivery | undefined {
    for (;;) {
      const entry = group === undefined ? this.#queue.take(now) : this.#queue.takeFromGroup(group, now);
      if (entry === undefined || !this.#isRemoved || entry.row.status === 'OK') return entry;
      this.#queue.forget(entry);
    }
  }

  async #send(entries: readonly QueuedDelivery[], now: number): Promise<void> {
    const { permits, quota, rateLimiter } = this.#limits;
    const target = this.#target;
    const settingsText = this.#settingsText;
    this.#inFlight += 1;
    this.#lingeringSince = undefined;
    this.#advancedAt = now;
    rateLimiter.record(now);
    const reservation = quota.reserve(entries[0]?.batchSize ?? entries.length);
    const result = await this.#sender.send(entries, target, reservation);
    this.#inFlight -= 1;
    permits.release();
    if (result === 'stopped') return;
    reservation.complete(result === 'requeued' ? 0 : result.sent.length);
    if (result === 'requeued' || result.attemptResult === undefined) rateLimiter.refund(now);
    if (result !== 'requeued') await this.#settle(result, target, settingsText === this.#settingsText);
    this.#pump();
  }

  async #settle(result: SendResult, target: Target, isSameReceiver: boolean): Promise<void> {
    const { clock, ids, results } = this.#options;
    const { attemptResult } = result;
    // A receiver that is no longer configured pauses nothing.
    const pauseMs = isSameReceiver && attemptResult !== undefined ? attemptResult.pauseMs : 0;
    if (pauseMs > 0) this.#limits.rateLimiter.pause(clock.monotonic() + pauseMs);
    const pause = pauseMs > 0 ? { target: this.#id, until: clock.now() + pauseMs } : undefined;
    const settlements = withPause(settle(result, this.#options), pause);
    const [first] = settlements;
    const change = attemptResult && first && this.#health.record(attemptResult.outcome, first.operation);
    const { isFailing } = this.#health;
    this.#settling += settlements.length;
    this.#pump();
    const fallbacks = (event?: HeadgateEvent) => this.#options.fallbacks(target, event);
    const complete = withFallbacks(settlements, { fallbacks, isFailing, ids, clock });
    await Promise.all(complete.map(one => this.#record(one)));
    if (change === undefined || first === undefined) return;
    const { notification } = first.prepared.entry.row;
    results.publish({ kind: 'health', target: this.#id, change, notification });
  }

  async #record({ prepared, operation, durationMs, due, isAlone }: Settlement): Promise<void> {
    const { clock, results } = this.#options;
    const { entry } = prepared;
    const { row } = entry;
    const recorded = await recordSettlement(operation, this.#options, this.#logs.unrecorded);
    this.#settling -= 1;
    this.#advancedAt = clock.monotonic();
    if (recorded === 'stopped') return;
    this.#backlog.markSettled(row.id);
    this.#logOutcome(operation);
    if (recorded !== 'gone') results.publish({ kind: 'settled', row, operation, durationMs });
    if (recorded !== 'recorded') {
      // The store, which has it settled, or requeued with this attempt, counts more than memory.
      this.#queue.forget(entry);
      this.#backlog.rewind('');
    } else if (operation.state !== 'waiting') this.#queue.release(entry);
    else {
      const { event } = entry;
      this.#queue.release(entry, { row: afterAttempt(row, operation), event, due, isAlone });
    }
    // Its resolution, if that came meanwhile, was not among those to send.
    if (this.#isRemoved && row.status === 'ALARM') this.#backlog.rewind('');
  }

  #logOutcome({ state, deliveryId, lastError }: Settlement['operation']): void {
    if (state === 'sent') this.#logs.undelivered.recovered();
    else if (state !== 'skipped')
      this.#logs.undelivered.failed(`${state}: ${lastError}`, { delivery: deliveryId });
  }

  /** Resolutions are never dropped: each target that got an alarm gets its end. */
  #isOverCapacity({ status }: DeliveryRow): boolean {
    return (
      this.#target.settings.onBackpressure === 'drop' &&
      status === 'ALARM' &&
      this.#queue.size + this.#dropping.size >= this.#options.settings().mostWaiting
    );
  }

  async #drop(row: DeliveryRow): Promise<void> {
    const { clock, results, settings, workspace } = this.#options;
    this.#dropping.add(row.id);
    const reason = `dropped: ${settings().mostWaiting} wait for this target, and onBackpressure is drop`;
    this.#logs.overflow.failed(reason, { delivery: row.id });
    const operation = settleSkipped(workspace, row, { now: clock.now(), reason });
    const recorded = await recordSettlement(operation, this.#options, this.#logs.unrecorded);
    this.#backlog.markSettled(row.id);
    this.#dropping.delete(row.id);
    if (recorded === 'stopped') return;
    if (recorded === 'recorded') {
      results.publish({ kind: 'settled', row, operation, durationMs: null });
      results.publish({ kind: 'dropped', row });
    } else this.#backlog.rewind(beforeId(row.id));
    this.#pump();
  }

  #track(work: Promise<void>): void {
    const { logger } = this.#options;
    const tracked: Promise<void> = work
      .catch(error =>
        logger.error({ target: this.#id, reason: reasonOf(error) }, 'a delivery failed unexpectedly'),
      )
      .finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }
}

function createLogs({ logger, target }: Pick<DeliveryWorkerOptions, 'logger' | 'target'>) {
  const log = (message: string, over: string) =>
    createCountedLog(logger, { fields: { target: target.settings.id }, message, over });
  return {
    unread: log('waiting deliveries cannot be read', 'waiting deliveries can be read again'),
    unprepared: log('a delivery cannot be prepared', 'deliveries can be prepared again'),
    unrecorded: log('attempts cannot be recorded', 'attempts can be recorded again'),
    undelivered: log('deliveries fail', 'deliveries arrive again'),
    overflow: log('too many wait: alarms are dropped', 'alarms are taken again'),
  };
}

/** A place right before it in the order of ids. */
export const beforeId = (id: string): string => id.slice(0, -1);
