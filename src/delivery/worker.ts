import type { HeadgateEvent } from '../events/event.ts';
import { clampRetryAfterMs, maxDelay } from '../lib/backoff.ts';
import type { Cancel } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { reasonOf } from '../lib/errors.ts';
import { revealJson } from '../lib/secret.ts';
import type { DeliveryRow, DeliveryStore } from '../storage/stores/deliveries.ts';
import type { Target } from '../targets/target.ts';
import type { AttemptResult, DeliveryContext } from './attempt.ts';
import { createHealthTracker, type FailingState, type TargetHealthChange } from './health.ts';
import type { DeliveryLimits, QueueHold, WorkerLimits } from './limits/limits.ts';
import { type Backlog, createBacklog, createQueue, groupOf, type QueuedDelivery } from './queue.ts';
import type { ResultBus } from './results.ts';
import { type BatchSender, createBatchSender, Resender, type SendResult } from './send.ts';
import {
  afterAttempt,
  recordSettlement,
  type Settlement,
  settle,
  settleRemoved,
  settleSkipped,
  withFallbacks,
  withPause,
} from './settle.ts';

/** Rows a worker holds in memory; the others wait in the store until there is room. */
const MAX_IN_MEMORY = 10_000;
/** How long an attempt holds a permit that all targets share, in ms. */
const LONG_WAIT_MS = 60_000;
/** Sent but not recorded yet; beyond that the worker waits, so that a crash repeats no more than these. */
const MAX_UNSETTLED = 500;
/** Most deliveries of one request, whatever the target takes. */
const MAX_BATCH_SIZE = 500;
/** Until an alarm of a removed target is looked at again that could not be moved. */
const MOVE_RETRY_MS = 60_000;

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
  /** Ids of the targets that get an alarm of a removed target in its place; `later` when that is to be asked again. */
  readonly replacements: (row: DeliveryRow) => Promise<readonly string[] | 'later'>;
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
  /** Later attempts use this target. A removed target is sent resolutions only; its alarms go to others. */
  configure(target: Target, isRemoved: boolean): void;
  /** The target is known to be well, by a test for instance. */
  markWell(): void;
  /** How long (ms) something has been due since anything was sent or settled; 0 while the worker advances or is idle. */
  overdueMs(): number;
  /** The expression of the target that failed in the last attempt, since its settings changed; undefined when none did. */
  warning(): string | undefined;
  /** What keeps a delivery from being sent, or without one whatever is due; undefined when nothing does. */
  hold(row?: DeliveryRow): QueueHold | undefined;
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
  readonly #resender: Resender;
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
  #warning: string | undefined;
  /** True when the last attempt failed. */
  #hasFailed = false;
  /** True once something has arrived since this worker was made. */
  #hasSucceeded = false;
  /** Requests. */
  #inFlight = 0;
  /** Deliveries. */
  #settling = 0;
  /** Since when, on the monotonic clock, something is due while all requests are in flight. */
  #lingeringSince: number | undefined;
  /** When something was last sent or settled, on the monotonic clock. */
  #advancedAt: number;
  /** When it last took anything, on the monotonic clock. */
  #lastSentAt: number | undefined;
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
    this.#resender = this.#createResender();
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
    if (this.#state === 'new') {
      this.#state = 'started';
      this.#resender.start();
    }
    this.#pump();
  }

  add(row: DeliveryRow, event: HeadgateEvent): void {
    if (!this.#isRemoved && this.#isOverCapacity(row)) {
      this.#track(this.#drop(row));
      return;
    }
    this.#logs.overflow.recovered();
    this.#backlog.add(row, event);
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
    const isOther = settingsText !== this.#settingsText || (this.#isRemoved && !isRemoved);
    if (settingsText !== this.#settingsText) {
      rateLimiter.resume();
      this.#warning = undefined;
    }
    this.#settingsText = settingsText;
    this.#target = target;
    this.#isRemoved = isRemoved;
    rateLimiter.setLimit(target.settings.pacing, target.rateLimitKey);
    if (isOther && !isRemoved) this.#publishWell();
    this.#pump();
  }

  markWell(): void {
    const change = this.#health.recover();
    if (change !== undefined)
      this.#options.results.publish({ kind: 'health', target: this.#id, change, notification: '' });
    this.#publishWell();
  }

  overdueMs(): number {
    const { quota, rateLimiter } = this.#limits;
    const freeAt = Math.max(rateLimiter.nextFreeAt(), quota.nextFreeAt());
    const overdueSince = Math.max(this.#nextDue(), freeAt, this.#advancedAt);
    return Math.max(0, this.#options.clock.monotonic() - overdueSince);
  }

  warning(): string | undefined {
    return this.#warning;
  }

  hold(row?: DeliveryRow): QueueHold | undefined {
    if (row !== undefined && this.#queue.isInFlight(row)) return undefined;
    const before = row && this.#queue.before(row);
    if (before === undefined) return this.#targetHold(row !== undefined);
    const isTried = this.#queue.isInFlight(before.row);
    return {
      kind: 'behind',
      delivery: before.row.id,
      until: isTried ? undefined : this.#futureTime(before.due),
    };
  }

  #targetHold(isDue: boolean): QueueHold | undefined {
    const { permits, quota, rateLimiter } = this.#limits;
    const pausedUntil = this.#futureTime(rateLimiter.pausedUntil());
    if (pausedUntil !== undefined) return { kind: 'paused', until: pausedUntil };
    if (quota.isWaiting) {
      const until = this.#futureTime(quota.nextFreeAt()) ?? this.#options.clock.now();
      return { kind: 'over-quota', until, notice: this.#options.limits.quotaNotice };
    }
    if (!isDue && this.#nextDue() > this.#options.clock.monotonic()) return undefined;
    const pacedUntil = this.#futureTime(rateLimiter.nextFreeAt());
    const { pacing } = this.#target.settings;
    if (pacedUntil !== undefined)
      return { kind: 'paced', until: pacedUntil, rate: pacing?.text ?? 'a shared rate' };
    if (this.#inFlight >= this.#target.concurrency) return { kind: 'busy', setting: 'concurrency' };
    return permits.isWaiting ? { kind: 'busy', setting: 'delivery.concurrency' } : undefined;
  }

  /** Epoch ms of a moment of the monotonic clock; undefined when it is over. */
  #futureTime(at: number): number | undefined {
    const waitMs = at - this.#options.clock.monotonic();
    return waitMs > 0 ? this.#options.clock.now() + Math.ceil(waitMs) : undefined;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#cancelPump();
    this.#limits.rateLimiter.close();
    this.#limits.quota.leave();
    await Promise.all([...this.#work, this.#resender.stop()]);
  }

  #createBacklog(deliveries: Pick<DeliveryStore, 'waiting'>): Backlog {
    return createBacklog({
      queue: this.#queue,
      clock: this.#options.clock,
      capacity: MAX_IN_MEMORY,
      faultLog: this.#logs.unread,
      read: (after, limit) => deliveries.waiting(this.#id, after, limit),
      dueAt: row => this.#dueAt(row),
      isOmitted: id => this.#dropping.has(id),
      onChange: this.#pump,
    });
  }

  /** Never later than the schedule could have put it: the wall clock may have been set back since. */
  #dueAt({ next_at: nextAt, attempts, retried_from: from, status }: DeliveryRow): number {
    const { clock, settings } = this.#options;
    // Before all ends, whenever it was to be tried.
    if (this.#isRemoved && status === 'ALARM') return Number.NEGATIVE_INFINITY;
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
    this.#moveAlarms(now);
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
      const entry = group === undefined ? this.#queue.take(now) : this.#queue.takeFromGroup(group, now);
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
      // Ends of others may have to go elsewhere.
      (row.status === 'OK' && (this.#target.earlier?.() ?? []).length > 0) ||
      (row.group_id === null && row.id < this.#firstId)
    );
  }

  /** Settles the alarms of a removed target, whatever limits it had: they go to others. */
  #moveAlarms(now: number): void {
    while (this.#isRemoved && this.#settling < MAX_UNSETTLED) {
      const next = this.#queue.next();
      if (next === undefined || next.due > now || next.row.status !== 'ALARM') return;
      const entry = this.#queue.take(now);
      if (entry !== undefined) this.#track(this.#moveAlarm(entry));
    }
  }

  async #moveAlarm(entry: QueuedDelivery): Promise<void> {
    const { clock, ids, replacements, results, workspace } = this.#options;
    const { row } = entry;
    this.#settling += 1;
    const targets = await replacements(row).catch(error => {
      this.#logs.unprepared.failed(error);
      return 'later' as const;
    });
    if (targets === 'later') {
      this.#settling -= 1;
      this.#queue.release(entry, { ...entry, due: clock.monotonic() + MOVE_RETRY_MS });
    } else {
      const operation = settleRemoved(workspace, row, { now: clock.now(), targets, ids });
      const prepared = {
        entry,
        original: undefined,
        event: undefined,
        skipReason: undefined,
        fallbackTargets: [],
      };
      const release = await this.#record({ prepared, operation, durationMs: null, due: 0, isAlone: false });
      release();
      results.publish({ kind: 'moved', row, targets });
    }
    this.#pump();
  }

  /** What waits for long takes a place of its own target, and none that all share. */
  #releaseInTime({ patienceMs = 0 }: Target): () => void {
    const { permits } = this.#limits;
    let isReleased = false;
    const release = (): void => {
      if (!isReleased) permits.release();
      isReleased = true;
    };
    if (patienceMs <= LONG_WAIT_MS) return release;
    const cancel = this.#options.clock.after(LONG_WAIT_MS, release);
    return () => {
      cancel();
      release();
    };
  }

  /** A request begins, for which there is room. Answers what ends it. */
  #beginRequest(now: number): () => void {
    this.#inFlight += 1;
    this.#advancedAt = now;
    this.#limits.rateLimiter.record(now);
    const releasePermit = this.#releaseInTime(this.#target);
    return () => {
      this.#inFlight -= 1;
      releasePermit();
    };
  }

  #createResender(): Resender {
    return new Resender({
      ...this.#options,
      queue: this.#queue,
      target: () => (this.#isRemoved ? undefined : this.#target),
      released: this.#pump,
      begin: size => {
        const { permits, quota, rateLimiter } = this.#limits;
        const now = this.#options.clock.monotonic();
        if (!this.#hasRoom() || rateLimiter.nextFreeAt() > now) return undefined;
        if (!quota.hasTokens(size) || !permits.tryAcquire()) return undefined;
        const reservation = quota.reserve(size);
        const end = this.#beginRequest(now);
        return {
          end: result => {
            end();
            reservation.complete(size);
            const pauseMs = result?.pauseMs ?? 0;
            if (pauseMs > 0) rateLimiter.pause(this.#options.clock.monotonic() + pauseMs);
          },
        };
      },
    });
  }

  async #send(entries: readonly QueuedDelivery[], now: number): Promise<void> {
    const { quota, rateLimiter } = this.#limits;
    const target = this.#target;
    const settingsText = this.#settingsText;
    const end = this.#beginRequest(now);
    this.#lingeringSince = undefined;
    const reservation = quota.reserve(entries[0]?.batchSize ?? entries.length);
    const result = await this.#sender.send(entries, target, reservation);
    end();
    if (result === 'stopped') return;
    reservation.complete(result === 'requeued' ? 0 : result.sent.length);
    if (result === 'requeued' || result.attemptResult === undefined) rateLimiter.refund(now);
    if (result !== 'requeued') await this.#settle(result, target, settingsText === this.#settingsText);
    this.#pump();
  }

  async #settle(result: SendResult, target: Target, isSameReceiver: boolean): Promise<void> {
    const { clock, ids, random, results, settings, workspace } = this.#options;
    const { attemptResult } = result;
    // A receiver that is no longer configured pauses nothing.
    const pauseMs = isSameReceiver && attemptResult !== undefined ? attemptResult.pauseMs : 0;
    if (pauseMs > 0) this.#limits.rateLimiter.pause(clock.monotonic() + pauseMs);
    const pause = pauseMs > 0 ? { target: this.#id, until: clock.now() + pauseMs } : undefined;
    const { showsRepeats } = target;
    const lastSentAt = this.#lastSentAt;
    const context = { clock, ids, random, settings, workspace, showsRepeats, lastSentAt };
    const settlements = withPause(settle(result, context), pause);
    if (attemptResult?.outcome.kind === 'sent') this.#lastSentAt = clock.monotonic();
    const [first] = settlements;
    if (isSameReceiver && attemptResult !== undefined) this.#warning = attemptResult.warning;
    // The silence of a target that nobody listens to any more says nothing.
    const isHeard = attemptResult !== undefined && attemptResult.isCut !== true;
    const change =
      isHeard && first !== undefined
        ? this.#health.record(attemptResult.outcome, first.operation)
        : undefined;
    const { isFailing } = this.#health;
    this.#settling += settlements.length;
    this.#pump();
    const fallbacks = (event?: HeadgateEvent) => this.#options.fallbacks(target, event);
    const complete = withFallbacks(settlements, { fallbacks, isFailing, ids, clock });
    const releases = await Promise.all(complete.map(one => this.#record(one)));
    // None is sent before all are on disk: a batch is loaded from there.
    for (const release of releases) release();
    const notification = first?.prepared.entry.row.notification;
    if (change !== undefined && notification !== undefined)
      results.publish({ kind: 'health', target: this.#id, change, notification });
    if (attemptResult !== undefined) this.#noteOutcome(attemptResult.outcome, change);
  }

  /** The first success after failures pulls what waits forward. */
  #noteOutcome({ kind }: AttemptResult['outcome'], change: TargetHealthChange | undefined): void {
    if (kind !== 'sent') {
      this.#hasFailed = true;
      return;
    }
    if (this.#hasFailed) this.#queue.hurry(this.#options.clock.monotonic());
    this.#hasFailed = false;
    // What was given up before a crash may have been so without a trace in the health of the target.
    if (!this.#hasSucceeded || change?.state === 'recovered') this.#publishWell();
    this.#hasSucceeded = true;
  }

  #publishWell(): void {
    this.#options.results.publish({ kind: 'well', target: this.#id });
  }

  /** Answers what gives its place in the queue free. */
  async #record(settlement: Settlement): Promise<() => void> {
    const { clock, results } = this.#options;
    const { operation, durationMs } = settlement;
    const { row } = settlement.prepared.entry;
    const recorded = await recordSettlement(operation, this.#options, this.#logs.unrecorded);
    this.#settling -= 1;
    this.#advancedAt = clock.monotonic();
    if (recorded === 'stopped') {
      results.publish({ kind: 'unrecorded', target: this.#id });
      return () => {};
    }
    this.#backlog.markSettled(row.id);
    this.#logOutcome(operation);
    if (recorded !== 'gone') results.publish({ kind: 'settled', row, operation, durationMs });
    return () => this.#release(settlement, recorded === 'recorded');
  }

  #release({ prepared, operation, due, isAlone, failedBatch }: Settlement, isRecorded: boolean): void {
    const { entry } = prepared;
    const { row } = entry;
    if (!isRecorded) {
      // The store, which has it settled, or requeued with this attempt, counts more than memory.
      this.#queue.forget(entry);
      this.#backlog.rewind('');
    } else if (operation.state !== 'waiting') this.#queue.release(entry);
    else {
      const { event, isHurried } = entry;
      const next = { row: afterAttempt(row, operation), event, due, isAlone, failedBatch, isHurried };
      this.#queue.release(entry, next);
    }
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
