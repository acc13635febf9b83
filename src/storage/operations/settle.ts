import {
  ATTEMPT_COLUMNS,
  type AttemptRow,
  DELIVERY_COLUMNS,
  type DeliveryRow,
} from '../stores/deliveries.ts';
import type { DeliveryFault, DeliveryState } from '../tables.ts';
import type { CommittedChange } from '../types.ts';
import { insertText, type Step, statement, type UnfencedPlan } from './plan.ts';

/**
 * Records the result of an attempt. Refused with `conflict` when the delivery is settled already, when it was not sent and
 * a person has put it back since the attempt began, and when it is to be skipped and an alarm before it was put back.
 */
export interface SettleOperation {
  readonly kind: 'settle';
  readonly workspace: string;
  readonly deliveryId: string;
  readonly state: Exclude<DeliveryState, 'grouped'>;
  readonly attempts: number;
  readonly unknownAttempts: number;
  /** Attempts from which its schedule counts from now on; by default, as before. */
  readonly retriedFrom?: number;
  readonly nextAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly settledAt: number | null;
  /** `retried_at` of the delivery when the attempt began. */
  readonly retriedAt: number | null;
  /**
   * Records the same of a delivery that was put back since, and of no other: it waits to be tried at once, as if that had
   * been requested a moment later. False by default.
   */
  readonly isRequeued?: boolean;
  /** Null for a first-try success without an answer: it lives in the delivery. */
  readonly attempt: AttemptRow | null;
  /** What it was given up for, null for nothing. */
  readonly fault: DeliveryFault | null;
  /** The batch that it stays in, null for none. */
  readonly batch: string | null;
  /** The receivers that are still to get it, in a form that its target knows. By default all of them. */
  readonly remainder?: string;
  /** Kept beside the settings of the target that requested it, where these are kept. */
  readonly pause?: TargetPause;
  /** Deliveries of the same event to other targets; nothing happens where such a target has one already. */
  readonly fallbackDeliveries: readonly DeliveryRow[];
}

/** Nothing is sent to the target for a while. */
export interface TargetPause {
  readonly target: string;
  /** Epoch ms. */
  readonly until: number;
}

/** Binds waiting deliveries together before they are sent as one, so that they are always the same under one id. */
export interface BatchOperation {
  readonly kind: 'batch';
  readonly workspace: string;
  readonly batch: string;
  readonly deliveryIds: readonly string[];
}

/** Makes waiting deliveries due before they are sent earlier than was planned. */
export interface HurryOperation {
  readonly kind: 'hurry';
  readonly workspace: string;
  readonly deliveryIds: readonly string[];
}

const SETTLE =
  'update deliveries set state = :state, attempts = :attempts, unknown_attempts = :unknown_attempts, next_at = :next_at, last_status = :last_status, ' +
  'last_error = :last_error, settled_at = :settled_at, fault = :fault, retried_from = coalesce(:retried_from, retried_from), batch = :batch, remainder = :remainder ' +
  "where workspace = :workspace and id = :id and state = 'waiting'";
const SETTLE_UNSENT = `${SETTLE} and coalesce(retried_at, 0) = :retried_at`;
const settleSent = statement(SETTLE);
const settleUnsent = statement(SETTLE_UNSENT);
/** Before its end is tried an alarm is settled, so one that waits was put back meanwhile. */
const settleSkipped = statement(
  `${SETTLE_UNSENT} and (status = 'ALARM' or not exists (select 1 from deliveries d where d.workspace = deliveries.workspace ` +
    'and d.incident_id = deliveries.incident_id and d.target = deliveries.target and d.seq < deliveries.seq ' +
    "and d.state = 'waiting'))",
);
const countAttempt = statement(
  'update deliveries set attempts = :attempts, unknown_attempts = :unknown_attempts, retried_from = :attempts, last_status = :last_status, ' +
    'last_error = :last_error, remainder = :remainder ' +
    "where workspace = :workspace and id = :id and state = 'waiting' and coalesce(retried_at, 0) <> :retried_at",
);
const insertAttempt = statement(insertText('attempts', ATTEMPT_COLUMNS));
const insertFallback = statement(
  `${insertText('deliveries', DELIVERY_COLUMNS)} on conflict (workspace, incident_id, target, seq) do nothing`,
);
const pauseTarget = statement(
  'update removed_targets set paused_until = :until ' +
    'where workspace = :workspace and id = :target and coalesce(paused_until, 0) < :until',
);
const bindDelivery = statement(
  "update deliveries set batch = :batch where workspace = :workspace and id = :id and state = 'waiting'",
);

const hurryDelivery = statement(
  "update deliveries set next_at = null where workspace = :workspace and id = :id and state = 'waiting'",
);

function settleStep(result: SettleOperation): Step {
  const settle =
    result.isRequeued === true
      ? countAttempt
      : // A delivery that has arrived stays sent, even when somebody has requested it again meanwhile.
        result.state === 'sent'
        ? settleSent
        : result.state === 'skipped'
          ? settleSkipped
          : settleUnsent;
  const values = {
    id: result.deliveryId,
    state: result.state,
    attempts: result.attempts,
    retried_from: result.retriedFrom ?? null,
    unknown_attempts: result.unknownAttempts,
    next_at: result.nextAt,
    last_status: result.lastStatus,
    last_error: result.lastError,
    settled_at: result.settledAt,
    fault: result.fault,
    batch: result.batch,
    remainder: result.remainder ?? null,
    retried_at: result.retriedAt ?? 0,
  };
  return settle(result.workspace, values, 1);
}

export function planSettle(operation: SettleOperation): UnfencedPlan {
  const { workspace, deliveryId, attempt, fallbackDeliveries, pause } = operation;
  const steps: Step[] = [settleStep(operation)];
  if (attempt !== null) steps.push(insertAttempt(workspace, attempt));
  if (pause !== undefined) steps.push(pauseTarget(workspace, { ...pause }));
  for (const row of fallbackDeliveries) steps.push(insertFallback(workspace, row));
  return {
    steps,
    conflict: () =>
      `delivery '${deliveryId}' is settled already, unknown, put back, or has this attempt recorded`,
    changes: [deliveryId, ...fallbackDeliveries.map(row => row.id)].map(
      (id): CommittedChange => ({ workspace, resource: 'deliveries', id }),
    ),
  };
}

export const planBatch = ({ workspace, batch, deliveryIds }: BatchOperation): UnfencedPlan => ({
  steps: deliveryIds.map(id => bindDelivery(workspace, { id, batch }, 1)),
  conflict: () => `a delivery of batch '${batch}' is settled already`,
  changes: [],
});

export const planHurry = ({ workspace, deliveryIds }: HurryOperation): UnfencedPlan => ({
  steps: deliveryIds.map(id => hurryDelivery(workspace, { id }, 1)),
  conflict: () => `one of the deliveries ${deliveryIds.join(', ')} is settled already`,
  changes: [],
});
