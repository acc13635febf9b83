import { alreadyExists } from '../../lib/errors.ts';
import { AUDIT_COLUMNS, type AuditRow } from '../stores/audit.ts';
import { RECEIVED_EVENT_COLUMNS, type ReceivedEventRow } from '../stores/events.ts';
import type { Lease } from '../stores/leases.ts';
import { type FlushOperation, planFlush } from './flush.ts';
import { insertText, type Plan, statement, type UnfencedPlan } from './plan.ts';
import {
  type BatchOperation,
  type HurryOperation,
  planBatch,
  planHurry,
  planSettle,
  type SettleOperation,
} from './settle.ts';
import { planTransition, type TransitionOperation } from './transition.ts';

/** Records what was done or refused. */
interface AuditOperation {
  readonly kind: 'audit';
  readonly workspace: string;
  readonly row: AuditRow;
}

/** Records external events that changed nothing; one that is recorded already stays as it is. */
interface ReceiveOperation {
  readonly kind: 'receive';
  readonly workspace: string;
  readonly rows: readonly ReceivedEventRow[];
}

/** Hot writes are data, from this closed list. */
export type StorageOperation =
  | TransitionOperation
  | FlushOperation
  | SettleOperation
  | BatchOperation
  | HurryOperation
  | AuditOperation
  | ReceiveOperation;

/** The SQL of an operation, which every dialect reads once the placeholders are its own. */
export function plan(operation: StorageOperation, lease?: Lease): Plan {
  const { steps, conflict, changes } = planOperation(operation);
  return { steps, conflict, changes, lease };
}

function planOperation(operation: StorageOperation): UnfencedPlan {
  switch (operation.kind) {
    case 'transition':
      return planTransition(operation);
    case 'flush':
      return planFlush(operation);
    case 'settle':
      return planSettle(operation);
    case 'batch':
      return planBatch(operation);
    case 'hurry':
      return planHurry(operation);
    case 'audit':
      return planAudit(operation);
    case 'receive':
      return planReceive(operation);
  }
}

const insertAudit = statement(insertText('audit', AUDIT_COLUMNS));

const planAudit = ({ workspace, row }: AuditOperation): UnfencedPlan => ({
  steps: [insertAudit(workspace, row)],
  conflict: () => alreadyExists(`the entry '${row.id}' of the audit`).message,
  changes: [],
});

const insertReceived = statement(
  `${insertText('received_events', RECEIVED_EVENT_COLUMNS)} on conflict do nothing`,
);

const planReceive = ({ workspace, rows }: ReceiveOperation): UnfencedPlan => ({
  steps: rows.map(row => insertReceived(workspace, row)),
  conflict: () => 'the ids of external events cannot be written',
  changes: [],
});
