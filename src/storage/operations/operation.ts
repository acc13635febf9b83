import { AUDIT_COLUMNS, type AuditRow } from '../stores/audit.ts';
import { ATTEMPT_COLUMNS, DELIVERY_COLUMNS } from '../stores/deliveries.ts';
import { EVENT_COLUMNS } from '../stores/events.ts';
import { INCIDENT_COLUMNS } from '../stores/incidents.ts';
import type { Lease } from '../stores/leases.ts';
import { MESSAGE_COLUMNS } from '../stores/messages.ts';
import type { CommittedChange } from '../types.ts';
import { dropSteps, type FlushOperation, flushSteps } from './flush.ts';
import type { BatchOperation, SettleOperation } from './settle.ts';
import type { TransitionOperation } from './transition.ts';

type Value = string | number | null;

/** One statement with `?` placeholders; `expect` is the number of rows it must change. */
export interface Step {
  readonly sql: string;
  readonly parameters: readonly Value[];
  readonly expect?: number;
  /** Names the row that it writes as a whole, so that of several before anybody reads it the last is enough. */
  readonly replaces?: string;
}

/** What an operation does to the database: all steps in order, or none. */
export interface Plan {
  readonly steps: readonly Step[];
  /** The text of the refusal when a step changes another number of rows or meets a row that must be unique. */
  readonly conflict: () => string;
  /** What is told once it is written. */
  readonly changes: readonly CommittedChange[];
  /** Must be in force in the transaction that writes. */
  readonly lease: Lease | undefined;
}

type UnfencedPlan = Omit<Plan, 'lease'>;

function insertInto(table: string, columns: readonly string[]): string {
  const places = columns.map(() => '?').join(', ');
  return `insert into ${table} (${columns.join(', ')}, workspace) values (${places}, ?)`;
}

function assign(columns: readonly string[], value: (column: string) => string): string {
  return columns.map(column => `${column} = ${value(column)}`).join(', ');
}

const INSERT_INCIDENT = insertInto('incidents', INCIDENT_COLUMNS);
/** The id stands last among the columns, so insert and update take the same parameters. */
const UPDATE_INCIDENT =
  `update incidents set ${assign(INCIDENT_COLUMNS.slice(0, -1), () => '?')} ` +
  "where id = ? and workspace = ? and seq = ? and state = 'open'";
const INSERT_EVENT = insertInto('events', EVENT_COLUMNS);
const INSERT_DELIVERY = insertInto('deliveries', DELIVERY_COLUMNS);
const INSERT_FALLBACK = `${INSERT_DELIVERY} on conflict (workspace, incident_id, target, seq) do nothing`;
const INSERT_AUDIT = insertInto('audit', AUDIT_COLUMNS);
const INSERT_ATTEMPT = insertInto('attempts', ATTEMPT_COLUMNS);
const UPSERT_MESSAGE =
  `${insertInto('messages', MESSAGE_COLUMNS)} on conflict (workspace, id) ` +
  `do update set ${assign(MESSAGE_COLUMNS.slice(0, -1), column => `excluded.${column}`)}`;
const SETTLE_DELIVERY =
  'update deliveries set state = ?, attempts = ?, next_at = ?, last_status = ?, last_error = ?, settled_at = ?, ' +
  "batch = ?, remainder = ? where workspace = ? and id = ? and state = 'waiting'";
const SETTLE_UNSENT = `${SETTLE_DELIVERY} and coalesce(retried_at, 0) = ?`;
/** Before its end is tried an alarm is settled, so one that waits was put back meanwhile. */
const SKIP_DELIVERY =
  `${SETTLE_UNSENT} and (status = 'ALARM' or not exists (select 1 from deliveries d where d.workspace = deliveries.workspace ` +
  'and d.incident_id = deliveries.incident_id and d.target = deliveries.target and d.seq < deliveries.seq ' +
  "and d.state = 'waiting'))";
const COUNT_ATTEMPT =
  'update deliveries set attempts = ?, retried_from = ?, last_status = ?, last_error = ?, remainder = ? where workspace = ? and id = ? ' +
  "and state = 'waiting' and coalesce(retried_at, 0) <> ?";
const PAUSE_TARGET =
  'update removed_targets set paused_until = ? where workspace = ? and id = ? and coalesce(paused_until, 0) < ?';
const BIND_DELIVERY = "update deliveries set batch = ? where workspace = ? and id = ? and state = 'waiting'";

function values<Column extends string>(
  columns: readonly Column[],
  row: Readonly<Record<Column, Value>>,
  workspace: string,
): Value[] {
  const list: Value[] = columns.map(column => row[column]);
  list.push(workspace);
  return list;
}

function planTransition(operation: TransitionOperation): UnfencedPlan {
  const { workspace, expectedSeq, incident, event, deliveries, message } = operation;
  const facts = values(INCIDENT_COLUMNS, incident, workspace);
  return {
    steps: [
      expectedSeq === 0
        ? { sql: INSERT_INCIDENT, parameters: facts }
        : { sql: UPDATE_INCIDENT, parameters: [...facts, expectedSeq], expect: 1 },
      { sql: INSERT_EVENT, parameters: values(EVENT_COLUMNS, event, workspace) },
      ...deliveries.map(row => ({
        sql: INSERT_DELIVERY,
        parameters: values(DELIVERY_COLUMNS, row, workspace),
      })),
      ...dropSteps(operation),
      {
        sql: UPSERT_MESSAGE,
        parameters: values(MESSAGE_COLUMNS, message, workspace),
        replaces: `messages ${workspace} ${message.id}`,
      },
    ],
    conflict: () =>
      expectedSeq === 0
        ? `another incident of notification '${incident.notification}' on '${incident.subject}' is open, or an id was used twice`
        : `incident '${incident.id}' is not open at seq ${expectedSeq} any more, or an id was used twice; read it again`,
    changes: [
      { workspace, resource: 'incidents', id: incident.id },
      ...deliveries.map(({ id }): CommittedChange => ({ workspace, resource: 'deliveries', id })),
      { workspace, resource: 'messages', id: message.id },
    ],
  };
}

const planFlush = (operation: FlushOperation): UnfencedPlan => ({
  steps: flushSteps(operation),
  conflict: () => `group '${operation.group.id}' cannot be sent`,
  changes: [{ workspace: operation.workspace, resource: 'deliveries', id: '*' }],
});

function settleStep(operation: SettleOperation): Step {
  const { workspace, deliveryId, state, attempts, nextAt, lastStatus, lastError, settledAt } = operation;
  const retriedAt = operation.retriedAt ?? 0;
  const key = [operation.remainder ?? null, workspace, deliveryId];
  if (operation.isRequeued === true) {
    const parameters = [attempts, attempts, lastStatus, lastError, ...key, retriedAt];
    return { sql: COUNT_ATTEMPT, parameters, expect: 1 };
  }
  const parameters = [state, attempts, nextAt, lastStatus, lastError, settledAt, operation.batch, ...key];
  // What has arrived has, whoever asked for it meanwhile.
  if (state === 'sent') return { sql: SETTLE_DELIVERY, parameters, expect: 1 };
  const sql = state === 'skipped' ? SKIP_DELIVERY : SETTLE_UNSENT;
  return { sql, parameters: [...parameters, retriedAt], expect: 1 };
}

function planSettle(operation: SettleOperation): UnfencedPlan {
  const { workspace, deliveryId, attempt, fallbackDeliveries, pause } = operation;
  const steps: Step[] = [settleStep(operation)];
  if (attempt !== null)
    steps.push({ sql: INSERT_ATTEMPT, parameters: values(ATTEMPT_COLUMNS, attempt, workspace) });
  if (pause !== undefined) {
    const { target, until } = pause;
    steps.push({ sql: PAUSE_TARGET, parameters: [until, workspace, target, until] });
  }
  for (const row of fallbackDeliveries)
    steps.push({ sql: INSERT_FALLBACK, parameters: values(DELIVERY_COLUMNS, row, workspace) });
  return {
    steps,
    conflict: () =>
      `delivery '${deliveryId}' is settled already, unknown, put back, or has this attempt booked`,
    changes: [deliveryId, ...fallbackDeliveries.map(row => row.id)].map(
      (id): CommittedChange => ({ workspace, resource: 'deliveries', id }),
    ),
  };
}

const planBatch = ({ workspace, batch, deliveryIds }: BatchOperation): UnfencedPlan => ({
  steps: deliveryIds.map(id => ({ sql: BIND_DELIVERY, parameters: [batch, workspace, id], expect: 1 })),
  conflict: () => `a delivery of batch '${batch}' is settled already`,
  changes: [],
});

const planAudit = ({ workspace, row }: AuditOperation): UnfencedPlan => ({
  steps: [{ sql: INSERT_AUDIT, parameters: values(AUDIT_COLUMNS, row, workspace) }],
  conflict: () => `the entry '${row.id}' of the audit exists already`,
  changes: [],
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

/** What an operation of `storage.ts` does, in SQL that every dialect reads once its placeholders are its own. */
export const plan = (operation: StorageOperation, lease?: Lease): Plan => ({
  ...planOperation(operation),
  lease,
});

/** Says what was done or refused. */
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
