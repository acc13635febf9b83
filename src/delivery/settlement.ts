import { nextDelay } from '../lib/backoff.ts';
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

/** What the ledger keeps of an attempt: the delivery's next state, and a row of its own for failures and retries. */
export function settlement(end: AttemptEnd): SettleOperation {
  const { delivery, outcome } = end;
  const attempts = delivery.attempts + 1;
  const endedAt = end.startedAt + Math.round(end.durationMs);
  const delayMs =
    outcome.kind === 'retry'
      ? nextDelay(end.retrySchedule, attempts, end.random, outcome.retryAfterMs)
      : undefined;
  const state = outcome.kind === 'retry' ? (delayMs === undefined ? 'exhausted' : 'waiting') : outcome.kind;
  return {
    kind: 'settle',
    workspace: end.workspace,
    deliveryId: delivery.id,
    state,
    attempts,
    nextAt: delayMs === undefined ? null : endedAt + Math.round(delayMs),
    lastStatus: outcome.httpStatus ?? null,
    lastError: outcome.kind === 'sent' ? null : outcome.reason,
    settledAt: state === 'waiting' ? null : endedAt,
    attempt: outcome.kind === 'sent' && attempts === 1 ? null : attemptRow(end, attempts),
  };
}

function attemptRow(end: AttemptEnd, number: number): AttemptRow {
  const { outcome } = end;
  return {
    delivery_id: end.delivery.id,
    number,
    started_at: end.startedAt,
    duration_ms: Math.round(end.durationMs),
    outcome: outcome.kind,
    http_status: outcome.httpStatus ?? null,
    reason: outcome.kind === 'sent' ? null : outcome.reason,
    answer: outcome.kind === 'sent' ? null : (outcome.answer ?? null),
  };
}

/** A resolution whose alarm never arrived tells the receiver nothing. */
export function skip(workspace: string, delivery: DeliveryRow, now: number): SettleOperation {
  return {
    kind: 'settle',
    workspace,
    deliveryId: delivery.id,
    state: 'skipped',
    attempts: delivery.attempts,
    nextAt: null,
    lastStatus: null,
    lastError: 'the alarm it resolves did not reach this target',
    settledAt: now,
    attempt: null,
  };
}
