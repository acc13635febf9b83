import { AUDIT_COLUMNS, type AuditRow } from '../stores/audit.ts';
import type { Lease } from '../stores/leases.ts';
import { type FlushOperation, planFlush } from './flush.ts';
import { insertText, type Plan, statement, type UnfencedPlan } from './plan.ts';
import { type BatchOperation, planBatch, planSettle, type SettleOperation } from './settle.ts';
import { planTransition, type TransitionOperation } from './transition.ts';

/** Records what was done or refused. */
interface AuditOperation {
  readonly kind: 'audit';
  readonly workspace: string;
  readonly row: AuditRow;
}

/** Hot writes are data, from this closed list. */
export type StorageOperation =
  | TransitionOperation
  | FlushOperation
  | SettleOperation
  | BatchOperation
  | AuditOperation;

/** The SQL of an operation, which every dialect reads once the placeholders are its own. */
export const plan = (operation: StorageOperation, lease?: Lease): Plan => ({
  ...planOperation(operation),
  lease,
});

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
    case 'audit':
      return planAudit(operation);
  }
}

const insertAudit = statement(insertText('audit', AUDIT_COLUMNS));

const planAudit = ({ workspace, row }: AuditOperation): UnfencedPlan => ({
  steps: [insertAudit(workspace, row)],
  conflict: () => `the entry '${row.id}' of the audit exists already`,
  changes: [],
});
