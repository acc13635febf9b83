import type { GroupRow } from './group-store.ts';
import type { IngestTokenRow } from './ingest-token-store.ts';
import type {
  AttemptRow,
  AuditRow,
  ConfigVersionRow,
  DeliveryRow,
  DocumentRow,
  EventRow,
  IncidentRow,
  KeptTargetRow,
  MessageRow,
  SecretRow,
} from './storage.ts';

/** The columns of each row but the workspace. `id` comes last where an update names all the others first. */
export const INCIDENT_COLUMNS = [
  'notification',
  'condition',
  'subject',
  'state',
  'seq',
  'opened_at',
  'closed_at',
  'close_reason',
  'severity',
  'text',
  'rule',
  'told',
  'last_event_at',
  'group_id',
  'held_by',
  'id',
] as const satisfies readonly (keyof IncidentRow)[];

export const EVENT_COLUMNS = [
  'id',
  'incident_id',
  'body',
  'created_at',
] as const satisfies readonly (keyof EventRow)[];

export const DELIVERY_COLUMNS = [
  'id',
  'target',
  'notification',
  'subject',
  'incident_id',
  'event_id',
  'seq',
  'status',
  'state',
  'attempts',
  'next_at',
  'last_status',
  'last_error',
  'created_at',
  'settled_at',
  'retried_from',
  'retried_at',
  'instead_of',
  'batch',
  'group_id',
  'held_for',
  'rest',
] as const satisfies readonly (keyof DeliveryRow)[];

export const ATTEMPT_COLUMNS = [
  'delivery_id',
  'number',
  'started_at',
  'duration_ms',
  'outcome',
  'http_status',
  'reason',
  'answer',
] as const satisfies readonly (keyof AttemptRow)[];

export const MESSAGE_COLUMNS = [
  'severity',
  'title',
  'text',
  'time',
  'group_name',
  'metadata',
  'id',
] as const satisfies readonly (keyof MessageRow)[];

export const KEPT_TARGET_COLUMNS = [
  'id',
  'sealed',
  'paused_until',
] as const satisfies readonly (keyof KeptTargetRow)[];

export const GROUP_COLUMNS = ['id', 'rests_until'] as const satisfies readonly (keyof GroupRow)[];

export const SECRET_COLUMNS = [
  'name',
  'sealed',
  'created_at',
  'updated_at',
  'updated_by',
] as const satisfies readonly (keyof SecretRow)[];

export const INGEST_TOKEN_COLUMNS = [
  'id',
  'pipeline',
  'description',
  'enabled',
  'created_at',
  'expires_at',
  'last_used_at',
  'digest',
  'issued_at',
  'former_digest',
  'former_ends_at',
] as const satisfies readonly (keyof IngestTokenRow)[];

export const DOCUMENT_COLUMNS = [
  'revision',
  'sealed',
  'updated_at',
] as const satisfies readonly (keyof DocumentRow)[];

export const AUDIT_COLUMNS = [
  'id',
  'created_at',
  'actor',
  'action',
  'target',
  'result',
  'reason',
  'address',
  'request_id',
  'count',
] as const satisfies readonly (keyof AuditRow)[];

/** All but the files, which may be large. */
export const VERSION_FACTS = [
  'id',
  'author',
  'door',
  'message',
  'created_at',
] as const satisfies readonly (keyof ConfigVersionRow)[];
