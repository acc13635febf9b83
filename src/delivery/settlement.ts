import { nextDelay, type Waits } from '../lib/backoff.ts';
import type { AttemptRow, DeliveryRow, SettleOperation } from '../storage/storage.ts';
import type { Outcome } from '../targets/outcome.ts';

/** What is known when an attempt ends. */
export interface AttemptEnd {
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
const MOST_ALIKE = 50;

/** What the ledger keeps of an attempt: the delivery's next state, and a row of its own for failures and retries. */
export function settlement(end: AttemptEnd): SettleOperation {
  const { delivery, outcome } = end;
  const attempts = delivery.attempts + 1;
  const endedAt = end.startedAt + Math.round(end.durationMs);
  const delayMs = delayAfter(end, attempts - delivery.retried_from);
  const state = outcome.kind === 'retry' ? (delayMs === undefined ? 'exhausted' : 'waiting') : outcome.kind;
  const isFirstSuccess = outcome.kind === 'sent' && attempts === 1 && outcome.except === undefined;
  const isOneOfMany = state === 'waiting' && attempts > MOST_ALIKE && isAlike(outcome, delivery);
  return {
    kind: 'settle',
    workspace: end.workspace,
    deliveryId: delivery.id,
    state,
    attempts,
    nextAt: delayMs === undefined ? null : endedAt + Math.round(delayMs),
    lastStatus: outcome.httpStatus ?? null,
    lastError: reasonOf(outcome),
    settledAt: state === 'waiting' ? null : endedAt,
    retriedAt: delivery.retried_at,
    attempt: isFirstSuccess || isOneOfMany ? null : attemptRow(end, attempts),
    batch: delivery.batch,
    ...(outcome.kind === 'retry' && restOf(outcome.rest ?? delivery.rest)),
    handOver: [],
  };
}

/** Whoever has it must not get it again, also when a person has it tried again. */
const restOf = (rest: string | null): { readonly rest?: string } => (rest === null ? {} : { rest });

const reasonOf = (outcome: Outcome): string | null =>
  outcome.kind === 'sent' ? (outcome.except ?? null) : outcome.reason;

/** `attempts` counts from when the delivery was last put back into the queue. */
function delayAfter({ outcome, retrySchedule, random }: AttemptEnd, attempts: number): number | undefined {
  if (outcome.kind !== 'retry') return undefined;
  const schedule: Waits = { kind: 'listed', delays: retrySchedule };
  const inAllMs = retrySchedule.reduce((sum, delay) => sum + delay, 0);
  const { retryAfterMs } = outcome;
  return nextDelay(outcome.waits ?? schedule, attempts, { inAllMs, random, retryAfterMs });
}

const isAlike = (outcome: Outcome, { last_error, last_status }: DeliveryRow): boolean =>
  outcome.kind !== 'sent' && outcome.reason === last_error && (outcome.httpStatus ?? null) === last_status;

function attemptRow(end: AttemptEnd, number: number): AttemptRow {
  const { outcome } = end;
  return {
    delivery_id: end.delivery.id,
    number,
    started_at: end.startedAt,
    duration_ms: Math.round(end.durationMs),
    outcome: outcome.kind,
    http_status: outcome.httpStatus ?? null,
    reason: reasonOf(outcome),
    answer: outcome.kind === 'sent' ? null : (outcome.answer ?? null),
  };
}

/** Nothing is sent, because it would tell the receiver nothing or mislead it. */
export function skip(
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
    ...restOf(delivery.rest),
    handOver: [],
  };
}
