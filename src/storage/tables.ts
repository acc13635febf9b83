/**
 * Rows as they lie in the database. Times are epoch milliseconds UTC, JSON is text, booleans are 0 and 1.
 * Every key starts with the workspace; `instance`, `keys` and `users` belong to the whole installation.
 */
export interface InstanceTable {
  name: string;
  value: string;
}

export interface KeyTable {
  kid: string;
  algorithm: string;
  /** The private key as PKCS #8 PEM, encrypted by the key ring. */
  private_key: string;
  /** The public key as JSON (RFC 7517). */
  public_key: string;
  created_at: number;
}

export interface UserTable {
  id: string;
  /** Trimmed, lower case, NFC; unique. */
  username: string;
  /** PHC string of argon2id. */
  password: string;
  force_password_change: number;
  role: string;
  created_at: number;
}

export type IncidentState = 'open' | 'closed';

export interface IncidentTable {
  workspace: string;
  id: string;
  notification: string;
  condition: string;
  subject: string;
  state: IncidentState;
  /** 1 when opened, one more with each transition or repeat. */
  seq: number;
  opened_at: number;
  closed_at: number | null;
  close_reason: string | null;
  severity: string;
  text: string;
  /** Fingerprint of condition and conf: a change of either closes the incident. */
  rule: string;
  /** JSON list of the ids of the targets that were sent a firing event. */
  told: string;
  last_event_at: number;
}

export interface EventTable {
  workspace: string;
  id: string;
  incident_id: string;
  /** The event as JSON, without system fields. */
  body: string;
  created_at: number;
}

export const DELIVERY_STATES = ['waiting', 'sent', 'refused', 'exhausted', 'skipped'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
export type EventStatus = 'ALARM' | 'OK';

export interface DeliveryTable {
  workspace: string;
  id: string;
  target: string;
  notification: string;
  subject: string;
  incident_id: string;
  event_id: string;
  seq: number;
  status: EventStatus;
  state: DeliveryState;
  attempts: number;
  next_at: number | null;
  /** HTTP status of the last attempt, null when there was no answer. */
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  settled_at: number | null;
}

export interface AttemptTable {
  workspace: string;
  delivery_id: string;
  number: number;
  started_at: number;
  duration_ms: number;
  outcome: 'sent' | 'retry' | 'refused';
  http_status: number | null;
  reason: string | null;
  /** First 2 KB of the answer, secrets masked. */
  answer: string | null;
}

/** One row of the bulletin, kept per notification; `hidden` until the next transition once somebody cleared it. */
export interface MessageTable {
  workspace: string;
  id: string;
  severity: string;
  title: string;
  text: string;
  time: number;
  hidden: number;
}

export interface Database {
  instance: InstanceTable;
  keys: KeyTable;
  users: UserTable;
  incidents: IncidentTable;
  events: EventTable;
  deliveries: DeliveryTable;
  attempts: AttemptTable;
  messages: MessageTable;
}
