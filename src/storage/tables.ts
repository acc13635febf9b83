/**
 * Rows as they lie in the database. Times are epoch milliseconds UTC, JSON is text, booleans are 0 and 1.
 * Every key starts with the workspace; `instance`, `keys`, `users`, `revoked_tokens`, `sessions`, `used_states`, `leases`,
 * `nodes` and the tables of tenants belong to the whole installation.
 */
interface InstanceTable {
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
  /** `next` is known and does not sign yet, `retiring` signs no more. */
  state: 'next' | 'active' | 'retiring';
  /** Since when it is in that state. */
  since: number;
  /** When the last token that it signed is over; null before it retires. */
  ends_at: number | null;
}

export interface UserTable {
  id: string;
  /** The organization that the account belongs to; '' for a user of the installation itself. */
  organization: string;
  /** Trimmed, lower case, NFC; unique in the organization. */
  username: string;
  /** PHC string of argon2id; '' for a user that came from an identity provider. */
  password: string;
  force_password_change: number;
  role: string;
  created_at: number;
  updated_at: number;
  email: string;
  first: string;
  last: string;
  disabled: number;
  kind: 'person' | 'machine';
  /** Number of the change of users that last ended this one's tokens; a token of another number is over. */
  version: number;
  /** The last password that an admin chose, as `password`; the user may not go back to it. */
  initial_password: string | null;
  /** The identity provider of the user and its name for the user, unique in the organization; null without one. */
  issuer: string | null;
  subject: string | null;
}

/** A token that was revoked before its end. */
export interface RevokedTokenTable {
  /** Its `jti`. */
  id: string;
  /** When it would have ended anyway. */
  expires_at: number;
}

/** Somebody signed in with a browser. */
export interface SessionTable {
  /** SHA-256 of what the cookie holds, in base64url: a reader of the table cannot go on with the session. */
  id: string;
  user_id: string;
  /** Version of the user at the sign-in: what ends the tokens of the user ends the session too. */
  user_version: number;
  method: 'password' | 'sso';
  created_at: number;
  /** When somebody last did something, to the minute. */
  seen_at: number;
  /** When it is over whatever happens. */
  ends_at: number;
  /** The identity provider's token of the user, encrypted by the key ring; null for a sign-in by password. */
  id_token: string | null;
}

/** A sign-in with the identity provider that came to its end, kept until it could not be repeated anyway. */
interface UsedStateTable {
  /** SHA-256 of its state, in base64url. */
  id: string;
  ends_at: number;
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
  notified: string;
  last_event_at: number;
  /** When it went to further targets, as nobody had acknowledged it; null when it did not. */
  escalated_at: number | null;
  /** How often its targets were reminded of it. */
  reminders: number;
  /** The group that its messages were sent with; null when they were never grouped. */
  group_id: string | null;
  /** The incident for whose sake alarms of it were last held back; null when none ever was. */
  inhibited_by: string | null;
  /** The state of its subject that the last event reported, such as `exhausted` for a target; null when it reported none. */
  reported_state: string | null;
  /** Observed time at which its condition ceased to be met while it stays open; null while it is met. */
  unmet_since: number | null;
  /** How often its condition changed since it began to flap; null while it does not flap. */
  flapping_changes: number | null;
  /** JSON list of the observed times at which its condition changed last; null where nobody looks for flapping. */
  last_changes: string | null;
}

/** Somebody has seen the incident and looks after it. */
export interface AcknowledgementTable {
  workspace: string;
  incident: string;
  /** 0 where it was taken back. */
  acknowledged: number;
  /** When it was acknowledged or that was taken back, in epoch ms. */
  changed_at: number;
  changed_by: string;
  note: string;
}

/** An alarm of the incident waited for the end of the silence, as an incident may for several, one after the other. */
interface SilencedIncidentTable {
  workspace: string;
  silence: string;
  incident: string;
}

/** An external event that changed nothing, which is in no other table. */
export interface ReceivedEventTable {
  workspace: string;
  id: string;
  /** Id that the event would have for a notification. */
  event: string;
}

export interface EventTable {
  workspace: string;
  id: string;
  incident_id: string;
  /** The event as JSON, without system fields. */
  body: string;
  created_at: number;
}

export const DELIVERY_STATES = [
  'waiting',
  'grouped',
  'sent',
  'unknown',
  'refused',
  'exhausted',
  'skipped',
] as const;
/** States of what has reached its target, or may have: its end follows, and nothing older is sent after it. */
export const REACHED_STATES = ['sent', 'unknown'] as const satisfies readonly DeliveryState[];
export type DeliveryState = (typeof DELIVERY_STATES)[number];
/** What a delivery was given up for: its target, itself, or that its target was removed before it was sent. */
export type DeliveryFault = 'target' | 'message' | 'removed';
type EventStatus = 'ALARM' | 'OK';

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
  /** Attempts that were sent and brought no answer: it may have arrived by each of them. */
  unknown_attempts: number;
  next_at: number | null;
  /** HTTP status of the last attempt, null when there was no answer. */
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  settled_at: number | null;
  /** Attempts that were made when it was last put back into the queue: its schedule counts from there. */
  retried_from: number;
  /** When it was put back into the queue; null when it never was. */
  retried_at: number | null;
  /** The target whose fallback this delivery's target is; null when it was meant from the beginning. */
  fallback_for: string | null;
  /** The batch that it is sent with in each attempt; null when it is sent alone. */
  batch: string | null;
  /**
   * The group that it is sent with; null when it is sent by itself. While the state is `grouped` the group waits for more, until
   * `next_at`.
   */
  group_id: string | null;
  /** The unreachable pipeline whose incident inhibited it; null when it never was inhibited. */
  inhibited_for: string | null;
  /** The silence for whose end it waits, or last waited; null when it never did. */
  silenced_by: string | null;
  /** The inhibition of the configuration that holds it back, or last did; null when none ever did. */
  inhibition: string | null;
  /** The incident that it waits, or last waited, for by that inhibition. */
  inhibited_by: string | null;
  /** When its group was sent, in epoch ms; null when it never waited for one. */
  released_at: number | null;
  /** What it was given up for; null while it was not, and of one that is skipped for another reason. */
  fault: DeliveryFault | null;
  /** How often it went again because its target was well again. */
  redelivered: number;
  /** The receivers that are still to get it once part of them have it, in a form its target knows; null before. */
  remainder: string | null;
}

/** A group that was sent, and waits for the end of its interval before it is sent again. */
export interface DeliveryGroupTable {
  workspace: string;
  /** Hash of the notification and the values its events agree in. */
  id: string;
  interval_ends_at: number;
}

export interface AttemptTable {
  workspace: string;
  delivery_id: string;
  number: number;
  started_at: number;
  duration_ms: number;
  outcome: 'sent' | 'retry' | 'unknown' | 'refused';
  http_status: number | null;
  reason: string | null;
  /** First 2 KB of the answer, secrets masked. */
  answer: string | null;
}

/** A span of time in which alarms that its matchers fit are sent to nobody. */
export interface SilenceTable {
  workspace: string;
  id: string;
  /** JSON list of name, operator and value. */
  matchers: string;
  starts_at: number;
  /** When it is over: it may be extended until then, and is kept for a while after it. */
  ends_at: number;
  /** 1 where it ends before that with the last incident that it held back. */
  until_resolved: number;
  comment: string;
  /** Who made it. */
  created_by: string;
  created_at: number;
}

/** One row of the bulletin: a notification's, which each of its transitions writes anew, or one made by a person. */
export interface MessageTable {
  workspace: string;
  id: string;
  severity: string;
  title: string;
  text: string;
  time: number;
  /** Only on messages made by people. */
  group_name: string | null;
  /** JSON; only on messages made by people. */
  metadata: string | null;
}

/** The last settings of a target, and those before its destination changed: by them alarms are closed that were opened by them. */
export interface RemovedTargetTable {
  workspace: string;
  /** Of the last settings, the id of the target. */
  id: string;
  target: string;
  /** Its settings as JSON, encrypted by the key ring. */
  sealed: string;
  /** When they were replaced, or the target was removed; null of the present ones. */
  replaced_at: number | null;
  /** Until when its receiver, by these settings, requested that nothing is sent; null when it never did. */
  paused_until: number | null;
}

/** Is there while a process sends for the workspace, and after one that ended without having said so. */
interface SendingTable {
  workspace: string;
  /** Deliveries that were due then may have been sent. */
  until: number;
}

export interface SecretTable {
  workspace: string;
  name: string;
  /** The value, encrypted by the key ring. */
  sealed: string;
  created_at: number;
  updated_at: number;
  updated_by: string;
}

/** Authenticates a sender of a pipeline's metrics. */
/** A group that was made by itself; others are only named by what is in them. */
export interface ComponentGroupTable {
  workspace: string;
  id: string;
  name: string;
  description: string;
  created_at: number;
}

export interface IngestTokenTable {
  workspace: string;
  id: string;
  /** Id of the pipeline it is for. */
  pipeline: string;
  description: string;
  enabled: number;
  created_at: number;
  expires_at: number | null;
  /** To the minute. */
  last_used_at: number | null;
  /** HMAC-SHA-256 of the secret with the pepper, in base64url. */
  digest: string;
  /** When that secret was made. */
  issued_at: number;
  /** Digest of the secret before, which is valid until `former_ends_at`; both null when there is none. */
  former_digest: string | null;
  former_ends_at: number | null;
}

/** The id that an input or output was given. It is never given to another one. */
export interface ComponentTable {
  workspace: string;
  /** A hash of its pipeline, kind, type and the engine's id, which it is known by. */
  identity: string;
  kind: 'input' | 'output';
  /** Unique among those of its kind. */
  id: string;
  pipeline: string;
  /** When it was last there, to a day. */
  seen_at: number;
}

/** A part of what is known of the components of a workspace, which the next process that leads it goes on from. */
export interface SnapshotTable {
  workspace: string;
  /** Of the snapshot that it is a part of. */
  id: string;
  /** 0 for its summary. */
  part: number;
  data: string;
}

/** The minutes of one component in one hour. */
export interface MinutesTable {
  workspace: string;
  /** The hour and a hash of the component: grows with time. */
  id: string;
  /** Epoch ms of its beginning. */
  hour: number;
  /** Records of minutes, one behind the other. */
  data: string;
  /** 1 when the hours of the component hold all of it. */
  in_hours: number;
}

/** 240 hours of one component. */
export interface HoursTable {
  workspace: string;
  /** The first of the hours and a hash of the component: grows with time. */
  id: string;
  /** Epoch ms of its beginning. */
  start: number;
  /** Hours by their number within the row, packed. */
  data: Uint8Array;
}

/** The configuration of a workspace that has no files. */
export interface DocumentTable {
  workspace: string;
  /** 1 at first, one more with each change. */
  revision: number;
  /** The texts of its files by their names, as JSON, encrypted by the key ring. */
  sealed: string;
  updated_at: number;
}

/** A configuration that took effect. */
export interface ConfigVersionTable {
  workspace: string;
  /** Time-ordered. */
  id: string;
  author: string;
  source: 'api' | 'cli' | 'page' | 'file';
  message: string | null;
  created_at: number;
  /** JSON: each file's name with its text, secrets masked. */
  files: string;
}

/** Something that was done, or that was refused so often from one address in a minute. Rows are never changed. */
export interface AuditTable {
  workspace: string;
  /** Time-ordered. */
  id: string;
  created_at: number;
  /** Name of the actor; '' when it is not known. */
  actor: string;
  /** The operation, as in `users.update`. */
  action: string;
  /** Id or name of what it was done to; '' for none. */
  target: string;
  result: 'ok' | 'refused';
  /** The change, or why it was refused; '' for nothing more to say. */
  reason: string;
  address: string;
  /** Id of the first request of them. */
  request_id: string;
  count: number;
}

/** `until` is a time of the database's own clock, here and below; 0 once it is over. */
interface LeaseTable {
  name: string;
  owner: string;
  epoch: number;
  until: number;
}

/** A running process. */
export interface NodeTable {
  id: string;
  /** Where other processes reach it. */
  url: string;
  version: string;
  started_at: number;
  until: number;
}

export interface Database extends TenantTables {
  instance: InstanceTable;
  keys: KeyTable;
  users: UserTable;
  revoked_tokens: RevokedTokenTable;
  incidents: IncidentTable;
  events: EventTable;
  received_events: ReceivedEventTable;
  deliveries: DeliveryTable;
  attempts: AttemptTable;
  groups: DeliveryGroupTable;
  messages: MessageTable;
  acknowledgements: AcknowledgementTable;
  silences: SilenceTable;
  silenced_incidents: SilencedIncidentTable;
  removed_targets: RemovedTargetTable;
  sending: SendingTable;
  secrets: SecretTable;
  ingest_tokens: IngestTokenTable;
  components: ComponentTable;
  component_groups: ComponentGroupTable;
  snapshots: SnapshotTable;
  minutes: MinutesTable;
  hours: HoursTable;
  config_versions: ConfigVersionTable;
  config_documents: DocumentTable;
  sessions: SessionTable;
  used_states: UsedStateTable;
  audit: AuditTable;
  leases: LeaseTable;
  nodes: NodeTable;
}

/** Roles of members and credentials in an organization. */
export const ORGANIZATION_ROLES = ['owner', 'admin', 'user'] as const;
export type OrganizationRole = (typeof ORGANIZATION_ROLES)[number];

type WorkspaceState = 'Provisioning' | 'Active' | 'Inactive' | 'Failed' | 'Deprovisioning';

/** A customer of the hosted deployment. */
export interface OrganizationTable {
  id: string;
  name: string;
  /** 0 where the plan has no role selector: every token has the role Admin then. */
  role_selector: number;
  created_at: number;
  updated_at: number;
}

export interface WorkspaceTable {
  organization: string;
  /** Unique in the organization. */
  id: string;
  alias: string;
  description: string;
  region: string;
  /** JSON list of texts. */
  tags: string;
  state: WorkspaceState;
  created_at: number;
  updated_at: number;
}

/** A user who belongs to an organization. */
export interface MemberTable {
  organization: string;
  user_id: string;
  role: OrganizationRole;
  created_by: string;
  created_at: number;
  updated_by: string;
  updated_at: number;
}

/** The role of a member in one workspace, for members of the role `user`. */
export interface MemberRoleTable {
  organization: string;
  user_id: string;
  /** Its id in the organization. */
  workspace: string;
  role: string;
}

/** A program that calls in an organization's name (API credential). */
export interface CredentialTable {
  client_id: string;
  organization: string;
  /** Unique among those of the organization that are not deleted. */
  name: string;
  description: string;
  enabled: number;
  organization_role: OrganizationRole;
  /** JSON list of addresses and CIDR ranges; empty for any address. */
  ip_allowlist: string;
  /** Number of the change of users that last ended this one's tokens; a token of another number is over. */
  version: number;
  /** From then on no token is issued or taken; null for never. */
  expires_at: number | null;
  created_by: string;
  created_at: number;
  updated_by: string;
  updated_at: number;
  last_used_at: number | null;
  /** Null while it is there: what is deleted stays for readers of the audit. */
  deleted_at: number | null;
}

/** One of the secrets of a credential, which has two for as long as one replaces the other. */
export interface CredentialSecretTable {
  id: string;
  client_id: string;
  /** HMAC-SHA-256 with the pepper of the installation, in base64url. */
  hash: string;
  created_at: number;
  /** From then on it is refused; null for never. */
  not_after: number | null;
  last_used_at: number | null;
}

/** The role of a credential in one workspace, for credentials of the role `user`. */
export interface CredentialRoleTable {
  client_id: string;
  /** Its id in the organization. */
  workspace: string;
  role: string;
}

interface TenantTables {
  organizations: OrganizationTable;
  workspaces: WorkspaceTable;
  members: MemberTable;
  member_roles: MemberRoleTable;
  credentials: CredentialTable;
  credential_secrets: CredentialSecretTable;
  credential_roles: CredentialRoleTable;
}
