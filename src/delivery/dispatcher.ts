import { setMaxListeners } from 'node:events';
import type { HeadgateEvent } from '../events/event.ts';
import { createExpressionWarnings, type ExpressionWarnings } from '../expressions/warnings.ts';
import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat, type Repeat } from '../lib/repeat.ts';
import type { Storage } from '../storage/storage.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import { resolveRoutes, type Target } from '../targets/target.ts';
import { ABORT_MS, type DeliveryContext } from './attempt.ts';
import type { FailingState } from './health.ts';
import { createDeliveryLimits, type DeliveryLimits, type QueueHold } from './limits/limits.ts';
import type { ResultBus } from './results.ts';
import { beforeId, createDeliveryWorker, type DeliveryWorker, type DeliveryWorkerOptions } from './worker.ts';

/** How long a graceful stop takes while attempts are in flight; the rest stays in the store. */
const GRACE_MS = 10_000;

export interface DispatcherOptions extends Omit<DeliveryContext, 'expressionWarnings' | 'signal'> {
  /** Called for each expression that failed. */
  readonly expressionFailed?: () => void;
  readonly results: ResultBus;
  /** As `DeliveryWorkerOptions` says; without it, alarms of removed targets are given up. */
  readonly replacements?: DeliveryWorkerOptions['replacements'];
  /** By id, the last state that was notified of targets that were failing when the process before stopped. */
  readonly failing: ReadonlyMap<string, FailingState>;
  /** By id, until when (epoch ms) targets had asked the process before for a pause. */
  readonly paused: ReadonlyMap<string, number>;
  /** How many deliveries all workers may begin in a minute; `onReached` is called when they wait for it. Left out, any number. */
  readonly quota?: { readonly perMinute: number; readonly onReached: () => void } | undefined;
}

/** Takes over deliveries that are on disk. */
export interface Outbox {
  /** Deliveries of one event that were just committed. */
  enqueue(rows: readonly DeliveryRow[], event: HeadgateEvent): void;
  /** The store has deliveries to these targets, `first` or later ones, that were not enqueued. */
  readFrom(targets: Iterable<string>, first: string): void;
}

/** Runs one worker for each target: a slow or dead target never slows another. */
export interface Dispatcher extends Outbox {
  /**
   * Starts workers for new targets, gives changed ones their new settings, and stops those of other targets. Removed
   * targets are those whose last settings are known: they are sent the resolutions of their alarms, the rest goes to others.
   */
  configure(targets: readonly Target[], removed?: readonly Target[]): void;
  /** Deliveries of these targets were requeued in the store. */
  reload(targets: Iterable<string>): void;
  /** The expression of a target that failed in its last attempt; undefined when none did. */
  warningOf(target: string): string | undefined;
  /** What keeps a delivery in the queue of its target, or without one whatever is due for the target, from being sent. */
  hold(target: string, row?: DeliveryRow): QueueHold | undefined;
  /** The target is known to be well, by a test for instance. */
  markWell(target: string): void;
  /** The worker that is longest overdue, as `DeliveryWorker.overdueMs` says; undefined when none is. */
  mostOverdue(): { readonly target: string; readonly overdueMs: number } | undefined;
  /** Without `isGraceful` what is in flight is aborted at once: another process may be sending it already. */
  stop(isGraceful?: boolean): Promise<void>;
}

export const createDispatcher = (options: DispatcherOptions): Dispatcher => new TargetDispatcher(options);

class TargetDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #limits: DeliveryLimits;
  readonly #expressionWarnings: ExpressionWarnings;
  readonly #workers = new Map<string, DeliveryWorker>();
  /** Stops in progress, by the target's id. */
  readonly #stopping = new Map<string, Promise<void>>();
  /** Only until a target is removed: one that comes back begins anew. */
  readonly #failing: Map<string, FailingState>;
  readonly #paused: Map<string, number>;
  readonly #abort = new AbortController();
  #configured: ReadonlyMap<string, Target> = new Map();

  constructor(options: DispatcherOptions) {
    const { clock, logger, quota, settings } = options;
    this.#options = options;
    this.#limits = createDeliveryLimits({ concurrency: () => settings().concurrency, quota, clock, logger });
    this.#expressionWarnings = createExpressionWarnings(options);
    this.#failing = new Map(options.failing);
    this.#paused = new Map(options.paused);
    setMaxListeners(0, this.#abort.signal);
    options.results.subscribe(result => {
      if (result.kind !== 'settled') return;
      for (const { id, target } of result.operation.fallbackDeliveries) this.readFrom([target], id);
    });
  }

  configure(targets: readonly Target[], removed: readonly Target[] = []): void {
    this.#configured = new Map(targets.map(target => [target.settings.id, target]));
    const served = new Set([...this.#configured.keys(), ...removed.map(target => target.settings.id)]);
    for (const id of this.#failing.keys()) if (!this.#configured.has(id)) this.#failing.delete(id);
    for (const [id, worker] of this.#workers) {
      if (served.has(id)) continue;
      this.#workers.delete(id);
      this.#paused.delete(id);
      this.#stopWorker(id, worker);
    }
    for (const target of removed) this.#serve(target, true);
    for (const target of targets) this.#serve(target, false);
  }

  enqueue(rows: readonly DeliveryRow[], event: HeadgateEvent): void {
    for (const row of rows) this.#workers.get(row.target)?.add(row, event);
  }

  readFrom(targets: Iterable<string>, first: string): void {
    for (const id of targets) this.#workers.get(id)?.readFrom(beforeId(first));
  }

  reload(targets: Iterable<string>): void {
    for (const id of targets) this.#workers.get(id)?.reload();
  }

  warningOf(target: string): string | undefined {
    return this.#workers.get(target)?.warning();
  }

  hold(target: string, row?: DeliveryRow): QueueHold | undefined {
    return this.#workers.get(target)?.hold(row);
  }

  markWell(target: string): void {
    this.#workers.get(target)?.markWell();
  }

  mostOverdue(): { readonly target: string; readonly overdueMs: number } | undefined {
    const overdue = [...this.#workers].map(([target, worker]) => ({ target, overdueMs: worker.overdueMs() }));
    const [first] = overdue.sort((one, other) => other.overdueMs - one.overdueMs);
    return first === undefined || first.overdueMs === 0 ? undefined : first;
  }

  async stop(isGraceful = true): Promise<void> {
    if (!isGraceful) this.#abort.abort();
    for (const [id, worker] of this.#workers) this.#stopWorker(id, worker);
    const cancel = this.#options.clock.after(GRACE_MS - ABORT_MS, () => this.#abort.abort());
    await Promise.all(this.#stopping.values());
    cancel();
  }

  #serve(target: Target, isRemoved: boolean): void {
    const { id } = target.settings;
    (this.#workers.get(id) ?? this.#startWorker(id, target)).configure(target, isRemoved);
  }

  /** The worker of a target that comes back waits for the one before, so that no delivery is sent by both. */
  #startWorker(id: string, target: Target): DeliveryWorker {
    const worker = createDeliveryWorker({
      replacements: async () => [],
      ...this.#options,
      signal: this.#abort.signal,
      expressionWarnings: this.#expressionWarnings,
      target,
      limits: this.#limits,
      fallbacks: (failed, event) => this.#fallbacksOf(failed, event),
      lastHealth: this.#failing.get(id),
      pausedUntil: this.#paused.get(id),
    });
    this.#workers.set(id, worker);
    void (this.#stopping.get(id) ?? Promise.resolve()).then(() => worker.start());
    return worker;
  }

  /** Together with earlier workers of the same target that are still stopping. */
  #stopWorker(id: string, worker: DeliveryWorker): void {
    const stopped = Promise.all([this.#stopping.get(id), worker.stop()]).then(() => {
      if (this.#stopping.get(id) === stopped) this.#stopping.delete(id);
    });
    this.#stopping.set(id, stopped);
  }

  /** Without its event the routes of a router are not known, and there would be nothing to send. */
  #fallbacksOf({ fallback, settings }: Target, event: HeadgateEvent | undefined): readonly string[] {
    if (fallback === undefined) return [];
    if (this.#configured.get(fallback)?.routes === undefined) return [fallback];
    return event === undefined
      ? []
      : resolveRoutes([fallback], event, this.#configured, this.#expressionWarnings).filter(
          id => id !== settings.id,
        );
  }
}

/** How far ahead of its clock a process says what it may send. */
const AHEAD_MS = 150_000;
const EXTEND_MS = 60_000;

interface SendingOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'transaction'>;
  readonly results: Pick<ResultBus, 'subscribe'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The mark on disk of a process that sends, so that the next one knows what may have been under way when this one ended
 * without a stop. Costs one small write a minute, and none for an attempt: whatever is due by `until` may be sent.
 */
export class Sending {
  readonly #options: SendingOptions;
  readonly #extension: Repeat;
  #until: number | undefined;
  /** True while each outcome is on disk. */
  #isComplete = true;

  constructor(options: SendingOptions) {
    this.#options = options;
    const faults = createCountedLog(options.logger, {
      fields: {},
      message: 'what may be sent cannot be noted',
      over: 'what may be sent is noted again',
    });
    this.#extension = createRepeat({
      clock: options.clock,
      interval: EXTEND_MS,
      work: () => this.#extend(),
      faults,
    });
    options.results.subscribe(({ kind }) => {
      if (kind === 'unrecorded') this.#isComplete = false;
    });
  }

  /** What is planned for later (epoch ms) must be made due on disk before it is sent. */
  until(): number {
    return this.#until ?? Number.NEGATIVE_INFINITY;
  }

  /** Before anything is sent. Rejects when the store refuses. */
  async start(): Promise<void> {
    const { logger, storage, workspace } = this.#options;
    const until = this.#ahead();
    const cut = await storage.transaction(tx => tx.in(workspace).beginSending(until));
    this.#until = until;
    this.#extension.start();
    if (cut > 0)
      logger.warn(
        { deliveries: cut },
        'the process before ended without a stop: deliveries that were due may have arrived',
      );
  }

  /** Once nothing is sent any more. When an outcome is not on disk, the mark stays for the next process. */
  async stop(): Promise<void> {
    const { storage, workspace } = this.#options;
    await this.#extension.stop();
    if (this.#until === undefined || !this.#isComplete) return;
    await storage.transaction(tx => tx.in(workspace).endSending());
  }

  async #extend(): Promise<void> {
    const { storage, workspace } = this.#options;
    const until = Math.max(this.until(), this.#ahead());
    await storage.transaction(tx => tx.in(workspace).extendSending(until));
    this.#until = until;
  }

  #ahead(): number {
    return this.#options.clock.now() + AHEAD_MS;
  }
}
