import { monotonicIds } from '../../src/lib/ids.ts';
import type { SettleOperation } from '../../src/storage/operations/settle.ts';
import type { TransitionOperation } from '../../src/storage/operations/transition.ts';
import type { AuditRow } from '../../src/storage/stores/audit.ts';
import type { ComponentRow } from '../../src/storage/stores/components.ts';
import type { ConfigVersionRow } from '../../src/storage/stores/configuration.ts';
import { type AttemptRow, type DeliveryRow, newDelivery } from '../../src/storage/stores/deliveries.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import type { IngestTokenRow } from '../../src/storage/stores/ingest-tokens.ts';
import type { KeyRow } from '../../src/storage/stores/instance.ts';
import type { MessageRow } from '../../src/storage/stores/messages.ts';
import type { SecretRow } from '../../src/storage/stores/secrets.ts';
import type { UserRow } from '../../src/storage/stores/users.ts';
import { testClock } from '../helpers/clock.ts';

const ids = monotonicIds(testClock());
const TIME = Date.UTC(2026, 0, 1);

export function incidentRow(facts: Partial<IncidentRow> = {}): IncidentRow {
  return {
    id: ids.next(),
    notification: 'app_silent',
    condition: 'no-data',
    subject: 'syslog:app',
    state: 'open',
    seq: 1,
    opened_at: TIME,
    closed_at: null,
    close_reason: null,
    severity: 'warn',
    text: "input 'syslog:app' is silent",
    rule: 'f00d',
    notified: '["hook"]',
    last_event_at: TIME,
    group_id: null,
    escalated_at: null,
    inhibited_by: null,
    reported_state: null,
    unmet_since: null,
    flapping_changes: null,
    last_changes: null,
    reminders: 0,
    ...facts,
  };
}

interface TransitionFacts {
  readonly workspace?: string;
  readonly targets?: readonly string[];
  readonly body?: string;
}

/** An operation that brings the incident to the state it is given in, with one delivery a target. */
export function transition(incident: IncidentRow, facts: TransitionFacts = {}): TransitionOperation {
  const { workspace = 'default', targets = ['hook'], body = '{"status":"ALARM"}' } = facts;
  const eventId = ids.next();
  return {
    kind: 'transition',
    workspace,
    expectedSeq: incident.seq - 1,
    incident,
    event: { id: eventId, incident_id: incident.id, body, created_at: TIME + incident.seq },
    deliveries: targets.map(target => deliveryRow(incident, eventId, target)),
    message: {
      id: incident.notification,
      severity: incident.severity,
      title: incident.subject,
      text: incident.text,
      time: TIME + incident.seq,
      group_name: null,
      metadata: null,
    },
  };
}

function deliveryRow(incident: IncidentRow, eventId: string, target: string): DeliveryRow {
  return newDelivery({
    id: ids.next(),
    target,
    notification: incident.notification,
    subject: incident.subject,
    incident_id: incident.id,
    event_id: eventId,
    seq: incident.seq,
    status: incident.state === 'open' ? 'ALARM' : 'OK',
    created_at: TIME,
  });
}

/** The same incident one step on. */
export const repeated = (incident: IncidentRow): IncidentRow => ({
  ...incident,
  seq: incident.seq + 1,
  last_event_at: incident.last_event_at + 60_000,
});

export const closed = (incident: IncidentRow): IncidentRow => ({
  ...repeated(incident),
  state: 'closed',
  closed_at: TIME + 90_000,
  close_reason: 'resolved',
});

export function settle(deliveryId: string, facts: Partial<SettleOperation> = {}): SettleOperation {
  return {
    kind: 'settle',
    workspace: 'default',
    deliveryId,
    state: 'sent',
    attempts: 1,
    unknownAttempts: 0,
    fault: null,
    nextAt: null,
    lastStatus: 200,
    lastError: null,
    settledAt: TIME + 5,
    retriedAt: null,
    attempt: null,
    batch: null,
    fallbackDeliveries: [],
    ...facts,
  };
}

export function attemptRow(deliveryId: string, number: number): AttemptRow {
  return {
    delivery_id: deliveryId,
    number,
    started_at: TIME + number,
    duration_ms: 12,
    outcome: 'retry',
    http_status: 503,
    reason: 'the target answered 503',
    answer: 'try later',
  };
}

export const userRow = (username: string): UserRow => ({
  id: ids.next(),
  organization: '',
  username,
  password: '$argon2id$',
  force_password_change: 0,
  role: 'admin',
  created_at: TIME,
  issuer: null,
  subject: null,
  updated_at: TIME,
  email: '',
  first: '',
  last: '',
  disabled: 0,
  kind: 'person',
  version: 1,
  initial_password: null,
});

export const keyRow = (kid: string, createdAt: number): KeyRow => ({
  kid,
  algorithm: 'ES256',
  private_key: 'encrypted',
  public_key: '{}',
  created_at: createdAt,
  state: 'active',
  since: createdAt,
  ends_at: null,
});

export const messageRow = (id: string, facts: Partial<MessageRow> = {}): MessageRow => ({
  id,
  severity: 'info',
  title: 'Maintenance',
  text: 'the collectors restart at noon',
  time: TIME,
  group_name: 'default',
  metadata: '{"ticket":17}',
  ...facts,
});

export const secretRow = (name: string, facts: Partial<SecretRow> = {}): SecretRow => ({
  name,
  sealed: 'v1.key.nonce.text.tag',
  created_at: TIME,
  updated_at: TIME,
  updated_by: 'admin',
  ...facts,
});

export const ingestTokenRow = (id: string, facts: Partial<IngestTokenRow> = {}): IngestTokenRow => ({
  id,
  pipeline: 'edge',
  description: '',
  enabled: 1,
  created_at: TIME,
  expires_at: null,
  last_used_at: null,
  digest: `digest of ${id}`,
  issued_at: TIME,
  former_digest: null,
  former_ends_at: null,
  ...facts,
});

export const versionRow = (facts: Partial<ConfigVersionRow> = {}): ConfigVersionRow => ({
  id: ids.next(),
  author: 'admin',
  source: 'api',
  message: null,
  created_at: TIME,
  files: '{"notifications.yml":"targets: []\\n"}',
  ...facts,
});

export const componentRow = (identity: string, facts: Partial<ComponentRow> = {}): ComponentRow => ({
  identity,
  kind: 'input',
  id: identity,
  pipeline: 'edge',
  seen_at: TIME,
  ...facts,
});

export const auditRow = (facts: Partial<AuditRow> = {}): AuditRow => ({
  id: ids.next(),
  created_at: TIME,
  actor: 'admin',
  action: 'users.update',
  target: 'ann',
  result: 'ok',
  reason: '',
  address: '192.0.2.1',
  request_id: 'r1',
  count: 1,
  ...facts,
});

/** The id of an operation's only delivery. */
export function deliveryOf(operation: TransitionOperation): string {
  const [delivery] = operation.deliveries;
  if (delivery === undefined) throw new Error('the operation has no delivery');
  return delivery.id;
}
