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

/** What is known when an attempt ends. */
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

/** From then on an attempt that failed just as the one before is counted and has no row: waits of a second go on for hours. */
const MAX_IDENTICAL_ROWS = 50;

/** What the ledger keeps of an attempt: the delivery's next state, and a row of its own for failures and retries. */
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

/** Whoever has it must not get it again, also when a person has it tried again. */
const remainderOf = (rest: string | null): { readonly remainder?: string } =>
  rest === null ? {} : { remainder: rest };

const reasonOf = (outcome: Outcome): string | null =>
  outcome.kind === 'sent' ? (outcome.except ?? null) : outcome.reason;

/** `attempts` counts from when the delivery was last put back into the queue. */
function delayAfter(
  { outcome, retrySchedule, random }: FinishedAttempt,
  attempts: number,
): number | undefined {
  if (outcome.kind !== 'retry') return undefined;
  const schedule: RetrySchedule = { kind: 'listed', delays: retrySchedule };
  const inAllMs = retrySchedule.reduce((sum, delay) => sum + delay, 0);
  const { retryAfterMs } = outcome;
  return nextDelay(outcome.waits ?? schedule, attempts, { totalMs: inAllMs, random, retryAfterMs });
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

/** Nothing is sent, because it would tell the receiver nothing or mislead it. */
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

export interface Fallback {
  readonly row: DeliveryRow;
  /** Ids of the targets that stand in now, a router exchanged for where it leads. */
  readonly fallbacks: () => readonly string[];
  /** Whether the target is failing, this attempt included. */
  readonly isFailing: boolean;
  /** Of an end: who was told of the beginning in place of the target, whatever stands in now. */
  readonly fallbackTargets: readonly string[];
  /** Of the deliveries that others get. */
  readonly ids: Ids;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * The settlement with what others get in place of the target, written in one commit. An alarm that the target has lost or
 * that it fails to take goes to its fallbacks. The end goes to all that were told an alarm so, while the target itself is
 * tried to the end of the schedule: nobody else can close what each was told.
 */
export function withFallbackDeliveries(operation: SettleOperation, handOver: Fallback): SettleOperation {
  const { row, isFailing, fallbackTargets } = handOver;
  if (row.status === 'OK')
    return fallbackTargets.length === 0
      ? operation
      : {
          ...operation,
          fallbackDeliveries: fallbackTargets.map(target => fallbackDelivery(target, handOver)),
        };
  const isLost = operation.state === 'refused' || operation.state === 'exhausted';
  if (!isLost && !(operation.state === 'waiting' && isFailing)) return operation;
  const fallbacks = handOver.fallbacks();
  if (fallbacks.length === 0) return operation;
  return {
    ...operation,
    state: isLost ? operation.state : 'exhausted',
    nextAt: null,
    settledAt: operation.settledAt ?? handOver.now,
    lastError: `${operation.lastError}; handed over to its fallback ${fallbacks.map(id => `'${id}'`).join(', ')}`,
    fallbackDeliveries: fallbacks.map(target => fallbackDelivery(target, handOver)),
  };
}

const fallbackDelivery = (target: string, { row, ids, now }: Fallback): DeliveryRow =>
  newDelivery({ ...row, id: ids.next(), target, created_at: now }, row.target);

/** What an attempt brought one of the deliveries that were sent in it. */
export interface Settlement {
  readonly prepared: PreparedDelivery;
  readonly operation: SettleOperation;
  /** Null when nothing was sent. */
  readonly durationMs: number | null;
  /** When it may be tried again, on the monotonic clock; means nothing once it is settled. */
  readonly due: number;
  /** It goes on alone: the receiver did not like what travelled together. */
  readonly isAlone: boolean;
}

const EVENT_MISSING: Outcome = {
  kind: 'refused',
  reason: 'its event is no longer in the store',
  isAboutMessage: true,
};

/** What the ledger gets of an attempt. */
export function settle(
  { skipped, sent, attemptResult }: SendResult,
  options: DeliveryContext,
): readonly Settlement[] {
  const unsent = skipped.map(prepared => settleUnsent(prepared, options));
  const settlements =
    attemptResult === undefined
      ? []
      : sent.map(prepared => settleSent(prepared, sent.length, attemptResult, options));
  return [...settlements, ...unsent];
}

/** The same with the pause that its receiver asked for, which one of them keeps for all. */
export function withPause(
  settlements: readonly Settlement[],
  pause: TargetPause | undefined,
): readonly Settlement[] {
  const [first, ...others] = settlements;
  if (first === undefined || pause === undefined) return settlements;
  return [{ ...first, operation: { ...first.operation, pause } }, ...others];
}

interface FallbackContext extends Pick<Fallback, 'isFailing' | 'ids'>, Pick<DeliveryContext, 'clock'> {
  /** Ids of the targets that stand in, for this event. */
  readonly fallbacks: (event: HeadgateEvent | undefined) => readonly string[];
}

/** The same with what others get in place of the target. `isFailing` says whether it fails, this attempt included. */
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
  { clock, random, settings, workspace }: DeliveryContext,
): Settlement {
  const { row } = prepared.entry;
  const now = clock.now();
  const { retrySchedule } = settings();
  const reason = prepared.skipReason;
  return {
    prepared,
    operation:
      reason === undefined
        ? settleAttempt({
            workspace,
            delivery: row,
            outcome: EVENT_MISSING,
            startedAt: now,
            durationMs: 0,
            retrySchedule,
            random,
          })
        : settleSkipped(workspace, row, { now, reason }),
    durationMs: null,
    due: 0,
    isAlone: false,
  };
}

/** Of several that are refused for what they hold, one may be at fault: each is tried alone, at once. */
function settleSent(
  prepared: PreparedDelivery,
  batchSize: number,
  { outcome, startedAt, started, durationMs }: AttemptResult,
  { random, settings, workspace }: DeliveryContext,
): Settlement {
  const delivery = prepared.entry.row;
  const { retrySchedule } = settings();
  const context = { workspace, delivery, startedAt, durationMs, retrySchedule, random };
  const isSplit = batchSize > 1 && outcome.kind === 'refused' && outcome.isAboutMessage === true;
  if (!isSplit) {
    const settlements = settleAttempt({ ...context, outcome });
    return {
      prepared,
      operation: settlements,
      durationMs,
      due: started + ((settlements.nextAt ?? startedAt) - startedAt),
      isAlone: false,
    };
  }
  const reason = `${outcome.reason}, ${batchSize} together; each is tried alone`;
  const settlements = settleAttempt({ ...context, outcome: { ...outcome, reason } });
  return {
    prepared,
    operation: { ...settlements, state: 'waiting', settledAt: null, batch: null },
    durationMs,
    due: started,
    isAlone: true,
  };
}

/**
 * Writes until the disk takes it. `stopped` when the process ends first: the delivery is sent again after restart.
 * `overtaken` when it is booked of a delivery that a person has put back meanwhile.
 */
export async function recordSettlement(
  operation: SettleOperation,
  { storage, signal, clock }: DeliveryContext,
  faultLog: CountedLog,
): Promise<'booked' | 'overtaken' | 'gone' | 'stopped'> {
  let written = operation;
  for (;;) {
    try {
      await storage.commit(written);
      faultLog.recovered();
      return written.isRequeued === true ? 'overtaken' : 'booked';
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
