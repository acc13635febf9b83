import type { HeadgateEvent } from '../events/event.ts';
import { nextDelay, type RetrySchedule } from '../lib/backoff.ts';
import type { CountedLog } from '../lib/counted-log.ts';
import { AppError } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { SettleOperation, TargetPause } from '../storage/operations/settle.ts';
import { type AttemptRow, type DeliveryRow, newDelivery } from '../storage/stores/deliveries.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { AttemptResult, DeliveryContext } from './attempt.ts';
import { STORE_RETRY_MS } from './queue.ts';
import type { PreparedDelivery, SendResult } from './send.ts';

/** The next state of one of the deliveries of a batch. */
export interface Settlement {
  readonly prepared: PreparedDelivery;
  readonly operation: SettleOperation;
  /** Null when nothing was sent. */
  readonly durationMs: number | null;
  /** When it may be tried again, on the monotonic clock; meaningless once it is settled. */
  readonly due: number;
  /** It is tried again alone: the receiver refused the batch. */
  readonly isAlone: boolean;
}

const EVENT_MISSING: Outcome = {
  kind: 'refused',
  reason: 'its event is no longer in the store',
  isAboutMessage: true,
};

type SettleContext = Pick<DeliveryContext, 'clock' | 'random' | 'settings' | 'workspace'>;

/** The next state of each delivery of a batch. Pure but for `random`: it writes nothing. */
export function settle(
  { skipped, sent, attemptResult }: SendResult,
  options: SettleContext,
): readonly Settlement[] {
  const unsent = skipped.map(prepared => settleUnsent(prepared, options));
  const settlements =
    attemptResult === undefined
      ? []
      : sent.map(prepared => settleSent(prepared, sent.length, attemptResult, options));
  return [...settlements, ...unsent];
}

/** Adds the pause that the receiver asked for to one of them, which keeps it for all. */
export function withPause(
  settlements: readonly Settlement[],
  pause: TargetPause | undefined,
): readonly Settlement[] {
  const [first, ...others] = settlements;
  if (first === undefined || pause === undefined) return settlements;
  return [{ ...first, operation: { ...first.operation, pause } }, ...others];
}

interface FallbackContext extends Pick<Fallback, 'isFailing' | 'ids'>, Pick<DeliveryContext, 'clock'> {
  /** Ids of the fallback targets for this event. */
  readonly fallbacks: (event: HeadgateEvent | undefined) => readonly string[];
}

/** Adds the deliveries to fallback targets. */
export function withFallbacks(
  settlements: readonly Settlement[],
  { fallbacks, isFailing, ids, clock }: FallbackContext,
): readonly Settlement[] {
  const now = clock.now();
  return settlements.map(one => {
    const { entry, original, fallbackTargets } = one.prepared;
    const others = (): readonly string[] => (one.isAlone ? [] : fallbacks(original));
    const context = { row: entry.row, fallbacks: others, isFailing, fallbackTargets, ids, now };
    return { ...one, operation: withFallbackDeliveries(one.operation, context) };
  });
}

function settleUnsent(
  prepared: PreparedDelivery,
  { clock, random, settings, workspace }: SettleContext,
): Settlement {
  const { row: delivery } = prepared.entry;
  const now = clock.now();
  const { retrySchedule } = settings();
  const lost = { workspace, delivery, outcome: EVENT_MISSING, startedAt: now, durationMs: 0 };
  const operation =
    prepared.skipReason === undefined
      ? settleAttempt({ ...lost, retrySchedule, random })
      : settleSkipped(workspace, delivery, { now, reason: prepared.skipReason });
  return { prepared, operation, durationMs: null, due: 0, isAlone: false };
}

/** One delivery may be at fault for a batch that is refused for its content: each is tried alone, at once. */
function settleSent(
  prepared: PreparedDelivery,
  batchSize: number,
  { outcome, startedAt, started, durationMs }: AttemptResult,
  { random, settings, workspace }: SettleContext,
): Settlement {
  const delivery = prepared.entry.row;
  const { retrySchedule } = settings();
  const attempt = { workspace, delivery, startedAt, durationMs, retrySchedule, random };
  const isSplit = batchSize > 1 && outcome.kind === 'refused' && outcome.isAboutMessage === true;
  if (!isSplit) {
    const operation = settleAttempt({ ...attempt, outcome });
    const due = started + ((operation.nextAt ?? startedAt) - startedAt);
    return { prepared, operation, durationMs, due, isAlone: false };
  }
  const reason = `${outcome.reason}, ${batchSize} together; each is tried alone`;
  const refused = settleAttempt({ ...attempt, outcome: { ...outcome, reason } });
  const operation: SettleOperation = { ...refused, state: 'waiting', settledAt: null, batch: null };
  return { prepared, operation, durationMs, due: started, isAlone: true };
}

/** An attempt at one delivery that has ended. */
export interface FinishedAttempt {
  readonly workspace: string;
  readonly delivery: DeliveryRow;
  readonly outcome: Outcome;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Delays between attempts, in milliseconds; the first is before the first attempt. */
  readonly retrySchedule: readonly number[];
  /** 0 to 1, for the jitter. */
  readonly random: () => number;
}

/** After so many, an attempt that failed just as the one before is counted without a row: retries each second may go on for hours. */
const MAX_IDENTICAL_ROWS = 50;

/** The delivery's next state, and a row for the attempt unless it was a success at once. */
export function settleAttempt(finished: FinishedAttempt): SettleOperation {
  const { delivery, outcome } = finished;
  const attempts = delivery.attempts + 1;
  const endedAt = finished.startedAt + Math.round(finished.durationMs);
  const delayMs = delayAfter(finished, attempts - delivery.retried_from);
  const state = outcome.kind === 'retry' ? (delayMs === undefined ? 'exhausted' : 'waiting') : outcome.kind;
  const isFirstSuccess = outcome.kind === 'sent' && attempts === 1 && outcome.except === undefined;
  const isRepeated = state === 'waiting' && attempts > MAX_IDENTICAL_ROWS && isSameFailure(outcome, delivery);
  return {
    kind: 'settle',
    workspace: finished.workspace,
    deliveryId: delivery.id,
    state,
    attempts,
    nextAt: delayMs === undefined ? null : endedAt + Math.round(delayMs),
    lastStatus: outcome.httpStatus ?? null,
    lastError: reasonOf(outcome),
    settledAt: state === 'waiting' ? null : endedAt,
    retriedAt: delivery.retried_at,
    attempt: isFirstSuccess || isRepeated ? null : attemptRow(finished, attempts),
    batch: delivery.batch,
    ...(outcome.kind === 'retry' && remainderOf(outcome.rest ?? delivery.remainder)),
    fallbackDeliveries: [],
  };
}

/** Receivers that have it must not get it again, also when it is retried on request. */
const remainderOf = (rest: string | null): { readonly remainder?: string } =>
  rest === null ? {} : { remainder: rest };

const reasonOf = (outcome: Outcome): string | null =>
  outcome.kind === 'sent' ? (outcome.except ?? null) : outcome.reason;

/** `attempts` counts from when the delivery was last requeued. */
function delayAfter(
  { outcome, retrySchedule, random }: FinishedAttempt,
  attempts: number,
): number | undefined {
  if (outcome.kind !== 'retry') return undefined;
  const schedule: RetrySchedule = { kind: 'listed', delays: retrySchedule };
  const totalMs = retrySchedule.reduce((sum, delay) => sum + delay, 0);
  const { retryAfterMs } = outcome;
  return nextDelay(outcome.waits ?? schedule, attempts, { totalMs, random, retryAfterMs });
}

const isSameFailure = (outcome: Outcome, { last_error, last_status }: DeliveryRow): boolean =>
  outcome.kind !== 'sent' && outcome.reason === last_error && (outcome.httpStatus ?? null) === last_status;

function attemptRow(finished: FinishedAttempt, number: number): AttemptRow {
  const { outcome } = finished;
  return {
    delivery_id: finished.delivery.id,
    number,
    started_at: finished.startedAt,
    duration_ms: Math.round(finished.durationMs),
    outcome: outcome.kind,
    http_status: outcome.httpStatus ?? null,
    reason: reasonOf(outcome),
    answer: outcome.kind === 'sent' ? null : (outcome.answer ?? null),
  };
}

/** Nothing is sent, because it would be pointless or misleading. */
export function settleSkipped(
  workspace: string,
  delivery: DeliveryRow,
  { now, reason }: { readonly now: number; readonly reason: string },
): SettleOperation {
  return {
    kind: 'settle',
    workspace,
    deliveryId: delivery.id,
    state: 'skipped',
    attempts: delivery.attempts,
    nextAt: null,
    lastStatus: delivery.last_status,
    lastError: reason,
    settledAt: now,
    retriedAt: delivery.retried_at,
    attempt: null,
    batch: delivery.batch,
    ...remainderOf(delivery.remainder),
    fallbackDeliveries: [],
  };
}

/** The row as memory keeps it for the next attempt. */
export const afterAttempt = (row: DeliveryRow, operation: SettleOperation): DeliveryRow => ({
  ...row,
  attempts: operation.attempts,
  next_at: operation.nextAt,
  last_status: operation.lastStatus,
  last_error: operation.lastError,
  batch: operation.batch,
  remainder: operation.remainder ?? null,
});

export interface Fallback {
  readonly row: DeliveryRow;
  /** Ids of the fallback targets for an alarm, a router replaced by where it leads. */
  readonly fallbacks: () => readonly string[];
  /** This attempt included. */
  readonly isFailing: boolean;
  /** For a resolution: the targets that got the alarm in place of this one, whatever its fallbacks are now. */
  readonly fallbackTargets: readonly string[];
  /** For the fallback deliveries. */
  readonly ids: Ids;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Adds the deliveries to fallback targets, written in the same commit. An alarm that the target has lost or fails to take
 * goes to its fallbacks. The resolution goes to all that got the alarm in this way, while the target itself is tried to the
 * end of the schedule: only the target can close what it was sent.
 */
export function withFallbackDeliveries(operation: SettleOperation, fallback: Fallback): SettleOperation {
  const { row, isFailing, fallbackTargets } = fallback;
  const deliveriesTo = (targets: readonly string[]): readonly DeliveryRow[] =>
    targets.map(target => fallbackDelivery(target, fallback));
  if (row.status === 'OK')
    return fallbackTargets.length === 0
      ? operation
      : { ...operation, fallbackDeliveries: deliveriesTo(fallbackTargets) };
  const isLost = operation.state === 'refused' || operation.state === 'exhausted';
  if (!isLost && !(operation.state === 'waiting' && isFailing)) return operation;
  const targets = fallback.fallbacks();
  if (targets.length === 0) return operation;
  return {
    ...operation,
    state: isLost ? operation.state : 'exhausted',
    nextAt: null,
    settledAt: operation.settledAt ?? fallback.now,
    lastError: `${operation.lastError}; failed over to its fallback ${targets.map(id => `'${id}'`).join(', ')}`,
    fallbackDeliveries: deliveriesTo(targets),
  };
}

const fallbackDelivery = (target: string, { row, ids, now }: Fallback): DeliveryRow =>
  newDelivery({ ...row, id: ids.next(), target, created_at: now }, row.target);

/**
 * Retries until the disk takes it. `stopped` when the process ends first: the delivery is sent again after the next start.
 * `requeued` when the attempt is recorded of a delivery that was requeued meanwhile, `gone` when nothing is.
 */
export async function recordSettlement(
  operation: SettleOperation,
  { storage, signal, clock }: Pick<DeliveryContext, 'storage' | 'signal' | 'clock'>,
  faultLog: CountedLog,
): Promise<'recorded' | 'requeued' | 'gone' | 'stopped'> {
  let written = operation;
  for (;;) {
    try {
      await storage.commit(written);
      faultLog.recovered();
      return written.isRequeued === true ? 'requeued' : 'recorded';
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') {
        if (written.isRequeued === true || written.state === 'sent') return 'gone';
        written = { ...operation, isRequeued: true };
        continue;
      }
      faultLog.failed(error);
      if (signal.aborted) return 'stopped';
      await clock.sleep(STORE_RETRY_MS, signal);
    }
  }
}
