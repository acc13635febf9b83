import type { StorageOperation } from './operations/operation.ts';
import type { AuditStore } from './stores/audit.ts';
import type { ConfigVersionRow, DocumentRow, DocumentStore, VersionStore } from './stores/configuration.ts';
import type { CredentialStore, CredentialTransaction } from './stores/credentials.ts';
import type { DeliveryStore, RequeueFilter, RequeueResult } from './stores/deliveries.ts';
import type { EventStore } from './stores/events.ts';
import type { GroupStore } from './stores/groups.ts';
import type { IncidentStore } from './stores/incidents.ts';
import type { IngestTokenStore, IngestTokenTransaction } from './stores/ingest-tokens.ts';
import type { KeyRow } from './stores/instance.ts';
import type { Lease, LeaseStore } from './stores/leases.ts';
import type { MessageRow, MessageStore } from './stores/messages.ts';
import type { MinuteStore, MinuteTransaction } from './stores/minutes.ts';
import type { NodeStore } from './stores/nodes.ts';
import type { OrganizationStore, OrganizationTransaction } from './stores/organizations.ts';
import type { RemovedTargetRow, RemovedTargetStore } from './stores/removed-targets.ts';
import type { RetentionKind, RetentionStore } from './stores/retention.ts';
import type { SecretRow, SecretsStore } from './stores/secrets.ts';
import type { SessionStore, SessionTransaction } from './stores/sessions.ts';
import type { UserRow, UserStore } from './stores/users.ts';
import type { RevokedTokenTable } from './tables.ts';
import type { CommittedChange } from './types.ts';

type RevokedTokenRow = RevokedTokenTable;

/** What one workspace keeps. */
export interface WorkspaceStorage {
  readonly incidents: IncidentStore;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly groups: GroupStore;
  readonly removedTargets: RemovedTargetStore;
  readonly messages: MessageStore;
  readonly secrets: SecretsStore;
  readonly ingestTokens: IngestTokenStore;
  readonly minutes: MinuteStore;
  readonly document: DocumentStore;
  readonly versions: VersionStore;
  readonly audit: AuditStore;
  readonly retention: RetentionStore;
}

/** What a transaction does in one workspace. */
export interface WorkspaceTransaction extends IngestTokenTransaction, MinuteTransaction {
  /** Adds the secret or replaces it, in which case it keeps its `created_at`. Answers the row as it is now. */
  putSecret(row: SecretRow): Promise<SecretRow>;
  /** Whether it was there. */
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
  /** Adds the target's settings or replaces them. */
  putRemovedTarget(row: RemovedTargetRow): Promise<void>;
  deleteRemovedTarget(id: string): Promise<void>;
  /** Refused with `conflict` when the id exists. */
  addMessage(row: MessageRow): Promise<void>;
  /** Answers what it removed. A notification's message comes back with its next transition. */
  removeMessage(id: string): Promise<MessageRow | undefined>;
  /** Removes those of the rows that are still old and needed by nothing. Answers how many these were. */
  removeExpired(kind: RetentionKind, before: number, ids: readonly string[]): Promise<number>;
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
  userByName(username: string): Promise<UserRow | undefined>;
  countEnabledAdmins(): Promise<number>;
  /** Refused with `conflict` when the name or the id is taken. */
  addUser(user: UserRow): Promise<void>;
  /** Replaces the row of that id. */
  updateUser(user: UserRow): Promise<void>;
  removeUser(id: string): Promise<void>;
  /** Keeps a token in mind until it is over; forgets those that are over at `now` (epoch ms). */
  revokeToken(token: RevokedTokenRow, now: number): Promise<void>;
  userByIdentity(issuer: string, subject: string): Promise<UserRow | undefined>;
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
  /** Whether it holds anything that the key ring encrypted, which a new key ring could not read. */
  hasSealedValues(): Promise<boolean>;
  /**
   * Writes one operation, in a batch with whatever else is waiting: no linger, the next batch starts when the last is
   * on disk. When a batch fails, each of its operations is tried alone and only the bad one is refused.
   * Rejects with `conflict` as the operation says, with `unavailable` when the disk refuses. Under a lease it also
   * rejects with an error of which `isLeaseLost` is true unless the lease is in force in the very transaction.
   */
  commit(operation: StorageOperation, lease?: Lease): Promise<void>;
  /** For administration; shares the one writer with `commit`. Under a lease it is refused as `commit` is. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, lease?: Lease): Promise<Result>;
  readonly leases: LeaseStore;
  readonly nodes: NodeStore;
  /**
   * Hands on what this process commits, after the commit, and on PostgreSQL what others do. Facts may be lost or come
   * twice, so whoever relies on them also looks from time to time. The answer ends it.
   */
  subscribe(listener: (fact: CommittedChange) => void): () => void;
  /** What the database takes on its disk, in bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}
