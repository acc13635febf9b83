import type { Kysely } from 'kysely';
import type { StorageOperation } from './operations/operation.ts';
import {
  type AcknowledgementStore,
  type AcknowledgementTransaction,
  acknowledgementStore,
  acknowledgementTransaction,
} from './stores/acknowledgements.ts';
import { type AuditStore, auditStore } from './stores/audit.ts';
import {
  type ComponentStore,
  type ComponentTransaction,
  componentStore,
  componentTransaction,
} from './stores/components.ts';
import {
  addVersion,
  type ConfigVersionRow,
  type DocumentRow,
  type DocumentStore,
  documentStore,
  lastVersion,
  putDocument,
  type VersionStore,
  versionStore,
} from './stores/configuration.ts';
import {
  type CredentialStore,
  type CredentialTransaction,
  credentialStore,
  credentialTransaction,
} from './stores/credentials.ts';
import {
  type DeliveryStore,
  deliveryStore,
  type RecoverRequest,
  type RecoverResult,
  type RequeueFilter,
  type RequeueResult,
  recover,
  requeue,
} from './stores/deliveries.ts';
import { type EventStore, eventStore } from './stores/events.ts';
import { type GroupStore, groupStore } from './stores/groups.ts';
import { type HourStore, type HourTransaction, hourStore, hourTransaction } from './stores/hours.ts';
import { type IncidentStore, incidentStore } from './stores/incidents.ts';
import {
  type IngestTokenStore,
  type IngestTokenTransaction,
  ingestTokenStore,
  ingestTokenTransaction,
} from './stores/ingest-tokens.ts';
import {
  hasSealedValues,
  type KeyRow,
  readInstanceValue,
  readKeys,
  writeInstanceValue,
} from './stores/instance.ts';
import { type Lease, type LeaseStore, type SendingTransaction, sendingTransaction } from './stores/leases.ts';
import {
  addMessage,
  type MessageRow,
  type MessageStore,
  messageStore,
  removeMessage,
} from './stores/messages.ts';
import {
  type MinuteStore,
  type MinuteTransaction,
  minuteStore,
  minuteTransaction,
} from './stores/minutes.ts';
import type { NodeStore } from './stores/nodes.ts';
import {
  type OrganizationStore,
  type OrganizationTransaction,
  organizationStore,
  organizationTransaction,
} from './stores/organizations.ts';
import {
  deleteRemovedTarget,
  putRemovedTarget,
  type RemovedTargetRow,
  type RemovedTargetStore,
  removedTargetStore,
  replaceRemovedTarget,
} from './stores/removed-targets.ts';
import { type ReportStore, reportStore } from './stores/report.ts';
import {
  clearWorkspace,
  type RetentionKind,
  type RetentionStore,
  removeExpired,
  retentionStore,
} from './stores/retention.ts';
import {
  countSecrets,
  putSecret,
  removeSecret,
  type SecretRow,
  type SecretsStore,
  secretsStore,
} from './stores/secrets.ts';
import {
  addSession,
  consumeLoginState,
  removeExpiredSessions,
  removeSession,
  type SessionStore,
  type SessionTransaction,
  sessionStore,
  touchSession,
} from './stores/sessions.ts';
import {
  type SilenceStore,
  type SilenceTransaction,
  silenceStore,
  silenceTransaction,
} from './stores/silences.ts';
import {
  type SnapshotStore,
  type SnapshotTransaction,
  snapshotStore,
  snapshotTransaction,
} from './stores/snapshots.ts';
import {
  addUser,
  countEnabledAdmins,
  incrementUserChanges,
  removeUser,
  revokeToken,
  type UserRow,
  type UserStore,
  updateUser,
  userStore,
} from './stores/users.ts';
import type { Database, RevokedTokenTable } from './tables.ts';
import { type CommittedChange, MANY, type RecordChange } from './types.ts';

/** The stores of one workspace. */
export interface WorkspaceStorage {
  readonly incidents: IncidentStore;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly groups: GroupStore;
  readonly removedTargets: RemovedTargetStore;
  readonly messages: MessageStore;
  readonly silences: SilenceStore;
  readonly acknowledgements: AcknowledgementStore;
  readonly secrets: SecretsStore;
  readonly ingestTokens: IngestTokenStore;
  readonly components: ComponentStore;
  readonly snapshots: SnapshotStore;
  readonly minutes: MinuteStore;
  readonly hours: HourStore;
  readonly report: ReportStore;
  readonly document: DocumentStore;
  readonly versions: VersionStore;
  readonly audit: AuditStore;
  readonly retention: RetentionStore;
}

/** Reads and writes of a transaction in one workspace. */
export interface WorkspaceTransaction
  extends IngestTokenTransaction,
    ComponentTransaction,
    SnapshotTransaction,
    SendingTransaction,
    MinuteTransaction,
    SilenceTransaction,
    HourTransaction,
    AcknowledgementTransaction {
  /** Adds the secret or replaces it, in which case it keeps its `created_at`. Answers the row as it is now. */
  putSecret(row: SecretRow): Promise<SecretRow>;
  /** True when it was there. */
  removeSecret(name: string): Promise<boolean>;
  countSecrets(): Promise<number>;
  /** Writes the revision that follows the present one, 1 where there is none; refused with `conflict` otherwise. */
  putDocument(row: DocumentRow): Promise<void>;
  /** The newest. */
  lastVersion(): Promise<ConfigVersionRow | undefined>;
  /** Refused with `conflict` when the id exists. */
  addVersion(row: ConfigVersionRow): Promise<void>;
  /**
   * Puts up to `limit` deliveries with an id after `after` back into the queue, to be tried at once and then by the
   * schedule from its beginning, and with each the later resolutions of its incident that were skipped for its sake.
   */
  requeue(
    filter: RequeueFilter,
    range: { readonly now: number; readonly after: string; readonly limit: number },
  ): Promise<RequeueResult>;
  /**
   * Makes up to `limit` deliveries that wait for their next attempt at the target due at once, and puts alarms that were
   * given up for it back into the queue, or into the group that holds them back: of those that `DeliveryStore.givenUp` still
   * finds. Each goes three times in all.
   */
  recover(request: RecoverRequest): Promise<RecoverResult>;
  /** Adds the target's settings or replaces them. */
  putRemovedTarget(row: RemovedTargetRow): Promise<void>;
  replaceRemovedTarget(row: Pick<RemovedTargetRow, 'id' | 'replaced_at'>): Promise<void>;
  deleteRemovedTarget(id: string): Promise<void>;
  /** Refused with `conflict` when the id exists. */
  addMessage(row: MessageRow): Promise<void>;
  /** Answers what it removed. A notification's message comes back with its next transition. */
  removeMessage(id: string): Promise<MessageRow | undefined>;
  /** Removes those of the rows that are still old and needed by nothing. Answers how many these were. */
  removeExpired(kind: RetentionKind, before: number, ids: readonly string[]): Promise<number>;
  /** Removes about `limit` rows of whatever the workspace keeps; true when nothing is left. */
  clear(limit: number): Promise<boolean>;
}

/** Reads and writes inside one transaction: all of it happens or none. */
export interface Transaction extends SessionTransaction, OrganizationTransaction, CredentialTransaction {
  in(workspace: string): WorkspaceTransaction;
  countUsers(): Promise<number>;
  /**
   * Numbers a change of users, members, organizations or credentials, which every change of them begins with: it keeps
   * other processes from changing them until this transaction has ended, so that what is read afterwards still holds then.
   */
  incrementUserChanges(): Promise<number>;
  userById(id: string): Promise<UserRow | undefined>;
  /** As `UserStore.byName`. */
  userByName(username: string, organization?: string): Promise<UserRow | undefined>;
  /** As `UserStore.accountsNamed`. */
  accountsNamed(username: string, most?: number): Promise<readonly UserRow[]>;
  countEnabledAdmins(): Promise<number>;
  /** Refused with `conflict` when the id, or the name in the organization, is taken. */
  addUser(user: UserRow): Promise<void>;
  /** Replaces the row of that id. */
  updateUser(user: UserRow): Promise<void>;
  removeUser(id: string): Promise<void>;
  /** Keeps a token in mind until it is over; forgets those that are over at `now` (epoch ms). */
  revokeToken(token: RevokedTokenTable, now: number): Promise<void>;
  /** As `UserStore.byIdentity`. */
  userByIdentity(issuer: string, subject: string): Promise<UserRow | undefined>;
  /** As `UserStore.accountsOf`. */
  accountsOf(issuer: string, subject: string): Promise<readonly UserRow[]>;
  addKey(key: KeyRow): Promise<void>;
  updateKey(kid: string, change: Pick<KeyRow, 'state' | 'since' | 'ends_at'>): Promise<void>;
  removeKey(kid: string): Promise<void>;
  keys(): Promise<readonly KeyRow[]>;
  instanceValue(name: string): Promise<string | undefined>;
  setInstanceValue(name: string, value: string): Promise<void>;
}

/** The storage interface. Whatever is answered without an error is on disk. */
export interface Storage {
  /** The stores of one workspace; there is no way to read rows without naming it. */
  in(workspace: string): WorkspaceStorage;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly organizations: OrganizationStore;
  readonly credentials: CredentialStore;
  /** Signing keys, oldest first. */
  keys(): Promise<readonly KeyRow[]>;
  instanceValue(name: string): Promise<string | undefined>;
  /** True when anything is stored that the key ring encrypted, which a new key ring could not read. */
  hasSealedValues(): Promise<boolean>;
  /**
   * Writes one operation, in a batch with whatever else is waiting: no linger, the next batch starts when the last is
   * on disk. When a batch fails, each of its operations is tried alone and only the bad one is refused.
   * Rejects with `conflict` as the operation says, with `unavailable` when the disk refuses. Under a lease it also
   * rejects with an error of which `isLeaseLost` is true unless the lease is held in the very transaction.
   */
  commit(operation: StorageOperation, lease?: Lease): Promise<void>;
  /** For administration; shares the one writer with `commit`. Under a lease it is refused as `commit` is. */
  readonly transaction: <Result>(
    work: (tx: Transaction) => Promise<Result>,
    lease?: Lease,
  ) => Promise<Result>;
  readonly leases: LeaseStore;
  readonly nodes: NodeStore;
  /**
   * Publishes what this process commits, after the commit, and on PostgreSQL what others do. Changes may be lost or come
   * twice, so listeners that rely on them also poll. The answer ends the subscription.
   */
  subscribe(listener: (change: CommittedChange) => void): () => void;
  /** Bytes that the database takes on its disk. */
  size(): Promise<number>;
  close(): Promise<void>;
}

export const workspaceStorage = (reader: Kysely<Database>, workspace: string): WorkspaceStorage => ({
  incidents: incidentStore(reader, workspace),
  events: eventStore(reader, workspace),
  deliveries: deliveryStore(reader, workspace),
  groups: groupStore(reader, workspace),
  removedTargets: removedTargetStore(reader, workspace),
  messages: messageStore(reader, workspace),
  silences: silenceStore(reader, workspace),
  acknowledgements: acknowledgementStore(reader, workspace),
  secrets: secretsStore(reader, workspace),
  ingestTokens: ingestTokenStore(reader, workspace),
  components: componentStore(reader, workspace),
  snapshots: snapshotStore(reader, workspace),
  minutes: minuteStore(reader, workspace),
  hours: hourStore(reader, workspace),
  report: reportStore(reader, workspace),
  document: documentStore(reader, workspace),
  versions: versionStore(reader, workspace),
  audit: auditStore(reader, workspace),
  retention: retentionStore(reader, workspace),
});

/** The stores of the whole installation. */
export const installationStorage = (reader: Kysely<Database>) => ({
  users: userStore(reader),
  organizations: organizationStore(reader),
  credentials: credentialStore(reader),
  sessions: sessionStore(reader),
  keys: () => readKeys(reader),
  instanceValue: (name: string) => readInstanceValue(reader, name),
  hasSealedValues: () => hasSealedValues(reader),
});

type OnChange = (change: CommittedChange) => void;

function workspaceTransaction(
  db: Kysely<Database>,
  workspace: string,
  onChange: OnChange,
): WorkspaceTransaction {
  const recorded: RecordChange = (resource, id, written) => {
    onChange({ workspace, resource, id });
    return written;
  };
  return {
    putSecret: row => recorded('secrets', row.name, putSecret(db, workspace, row)),
    removeSecret: name => recorded('secrets', name, removeSecret(db, workspace, name)),
    countSecrets: () => countSecrets(db, workspace),
    ...ingestTokenTransaction(db, workspace, recorded),
    ...componentTransaction(db, workspace),
    ...snapshotTransaction(db, workspace),
    ...sendingTransaction(db, workspace),
    ...minuteTransaction(db, workspace),
    ...hourTransaction(db, workspace),
    ...silenceTransaction(db, workspace, recorded),
    ...acknowledgementTransaction(db, workspace, recorded),
    putDocument: row => recorded('documents', String(row.revision), putDocument(db, workspace, row)),
    lastVersion: () => lastVersion(db, workspace),
    addVersion: row => recorded('versions', row.id, addVersion(db, workspace, row)),
    async requeue(filter, range) {
      const requeued = await requeue(db, workspace, filter, range);
      for (const { id } of requeued.rows) onChange({ workspace, resource: 'deliveries', id });
      return requeued;
    },
    async recover(request) {
      const recovered = await recover(db, workspace, request);
      for (const id of recovered.redelivered) onChange({ workspace, resource: 'deliveries', id });
      return recovered;
    },
    putRemovedTarget: row => putRemovedTarget(db, workspace, row),
    replaceRemovedTarget: row => replaceRemovedTarget(db, workspace, row),
    deleteRemovedTarget: id => deleteRemovedTarget(db, workspace, id),
    addMessage: row => recorded('messages', row.id, addMessage(db, workspace, row)),
    removeMessage: id => recorded('messages', id, removeMessage(db, workspace, id)),
    removeExpired: (kind, before, ids) => removeExpired(db, workspace, { kind, before, ids }),
    clear: limit => clearWorkspace(db, workspace, limit),
  };
}

/** The transaction that is open on `db`; `onChange` is called with all that it writes. */
export function createTransaction(db: Kysely<Database>, onChange: OnChange): Transaction {
  const recordChange: RecordChange = (resource, id, written) => {
    onChange({ workspace: '*', resource, id });
    return written;
  };
  const users = userStore(db);
  return {
    ...organizationTransaction(db, recordChange),
    ...credentialTransaction(db, recordChange),
    in: workspace => workspaceTransaction(db, workspace, onChange),
    countUsers: () => users.count(),
    incrementUserChanges: () => incrementUserChanges(db),
    userById: id => users.byId(id),
    userByName: (username, organization) => users.byName(username, organization),
    accountsNamed: (username, most) => users.accountsNamed(username, most),
    userByIdentity: (issuer, subject) => users.byIdentity(issuer, subject),
    accountsOf: (issuer, subject) => users.accountsOf(issuer, subject),
    countEnabledAdmins: () => countEnabledAdmins(db),
    addUser: user => recordChange('users', user.id, addUser(db, user)),
    updateUser: user => recordChange('users', user.id, updateUser(db, user)),
    removeUser: id => recordChange('users', id, removeUser(db, id)),
    revokeToken: (token, now) => recordChange('tokens', token.id, revokeToken(db, token, now)),
    async addSession(session, most) {
      for (const id of await addSession(db, session, most))
        onChange({ workspace: '*', resource: 'sessions', id });
    },
    touchSession: (id, seenAt) => touchSession(db, id, seenAt),
    removeSession: id => recordChange('sessions', id, removeSession(db, id)),
    removeExpiredSessions: (now, idleBefore) =>
      recordChange('sessions', MANY, removeExpiredSessions(db, now, idleBefore)),
    consumeLoginState: (id, endsAt) => consumeLoginState(db, id, endsAt),
    async addKey(key) {
      await db.insertInto('keys').values(key).execute();
    },
    async updateKey(kid, change) {
      await db.updateTable('keys').set(change).where('kid', '=', kid).execute();
    },
    async removeKey(kid) {
      await db.deleteFrom('keys').where('kid', '=', kid).execute();
    },
    keys: () => readKeys(db),
    instanceValue: name => readInstanceValue(db, name),
    setInstanceValue: (name, value) => writeInstanceValue(db, name, value),
  };
}
