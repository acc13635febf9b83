import type { CredentialStore, CredentialTransaction } from './credential-store.ts';
import type { FlushOperation, GroupStore } from './group-store.ts';
import type { Lease, LeaseStore } from './lease-store.ts';
import type { NodeRow, NodeStore } from './node-store.ts';
import type { OrganizationStore, OrganizationTransaction } from './organization-store.ts';
import type { Page, PageRequest } from './page.ts';
import type { SessionStore, SessionTransaction } from './session-store.ts';
import type {
  AttemptTable,
  AuditTable,
  ConfigVersionTable,
  DeliveryState,
  DeliveryTable,
  DocumentTable,
  EventTable,
  IncidentState,
  IncidentTable,
  KeptTargetTable,
  KeyTable,
  MessageTable,
  RevokedTokenTable,
  SecretTable,
  UserTable,
} from './tables.ts';
import type { UserStore } from './user-store.ts';

export type { Lease, LeaseStore, NodeRow, NodeStore, Page, PageRequest, UserStore };

type Scoped<Row> = Omit<Row, 'workspace'>;
export type IncidentRow = Scoped<IncidentTable>;
export type EventRow = Scoped<EventTable>;
export type DeliveryRow = Scoped<DeliveryTable>;
export type AttemptRow = Scoped<AttemptTable>;
export type MessageRow = Scoped<MessageTable>;
export type AuditRow = Scoped<AuditTable>;
export type SecretRow = Scoped<SecretTable>;
export type KeptTargetRow = Scoped<KeptTargetTable>;
export type DocumentRow = Scoped<DocumentTable>;
export type ConfigVersionRow = Scoped<ConfigVersionTable>;
/** A version without its files. */
export type ConfigVersionFacts = Omit<ConfigVersionRow, 'files'>;
export type KeyRow = KeyTable;
export type UserRow = UserTable;
type RevokedTokenRow = RevokedTokenTable;

/**
 * Writes an incident's transition or repeat with all that follows from it, or nothing at all.
 * Refused with `conflict` when `expectedSeq` (0 to open) is not the incident's present one, or when another incident
 * of the same notification and subject is open.
 */
export interface TransitionOperation {
  readonly kind: 'transition';
  readonly workspace: string;
  readonly expectedSeq: number;
  readonly incident: IncidentRow;
  readonly event: EventRow;
  readonly deliveries: readonly DeliveryRow[];
  readonly message: MessageRow;
  /** Ids of deliveries that wait in a group and are not to be told any more; conflicts with one that was let go. */
  readonly dropped?: readonly string[];
}

/**
 * Books what an attempt brought. Refused with `conflict` when the delivery is settled already, when it was not sent and a
 * person has put it back since the attempt began, and when it is to be skipped and an alarm before it was put back.
 */
export interface SettleOperation {
  readonly kind: 'settle';
  readonly workspace: string;
  readonly deliveryId: string;
  readonly state: Exclude<DeliveryState, 'grouped'>;
  readonly attempts: number;
  readonly nextAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly settledAt: number | null;
  /** `retried_at` of the delivery when the attempt began. */
  readonly retriedAt: number | null;
  /**
   * Books the same of a delivery that was put back since, and of no other: it waits to be tried at once, as if that had been
   * asked for a moment later. False when left out.
   */
  readonly isOvertaken?: boolean;
  /** Written for failures and retries only: a first-try success lives in the delivery. */
  readonly attempt: AttemptRow | null;
  /** What it goes on travelling in, null for alone. */
  readonly batch: string | null;
  /** Kept beside the settings of the target that asked for it, where these are kept. Left out, nobody asked. */
  readonly pause?: TargetPause;
  /** Deliveries of the same event to other targets; nothing happens where such a target has one already. */
  readonly handOver: readonly DeliveryRow[];
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

/** Says what was done or refused. */
export interface AuditOperation {
  readonly kind: 'audit';
  readonly workspace: string;
  readonly row: AuditRow;
}

/** Hot writes are data, from this closed list. */
export type Operation =
  | TransitionOperation
  | FlushOperation
  | SettleOperation
  | BatchOperation
  | AuditOperation;

export interface IncidentStore {
  /** Every open incident; the engine reads them once at start. */
  open(): Promise<readonly IncidentRow[]>;
  get(id: string): Promise<IncidentRow | undefined>;
  /** Newest first. */
  list(
    filter: { state?: IncidentState; notification?: string },
    page: PageRequest,
  ): Promise<Page<IncidentRow>>;
  /** How many are open of each condition; conditions without any are left out. */
  openByCondition(): Promise<readonly { readonly condition: string; readonly count: number }[]>;
}

export interface EventStore {
  get(id: string): Promise<EventRow | undefined>;
  /** In the order of their ids; unknown ids are left out. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly EventRow[]>;
}

export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly target?: string;
  readonly notification?: string;
  readonly incident?: string;
  /** Epoch ms: made then or later. */
  readonly since?: number;
  /** Epoch ms: made before. */
  readonly until?: number;
}

/** Who has been told the firing events of an incident that were meant for one target. */
export interface Told {
  /** Whether one has reached the target itself. */
  readonly isReached: boolean;
  /** Ids of the targets that got one in its place, or are to get it, each once. */
  readonly standIns: readonly string[];
}

export interface DeliveryStore {
  get(id: string): Promise<DeliveryRow | undefined>;
  /** Newest first. */
  list(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>>;
  /** The target's waiting deliveries with an id after `after`, oldest first. */
  waiting(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** Those of them that tell an end, but for those whose alarm waits before them. */
  waitingEnds(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** What waits for each target, and since when the oldest does (epoch ms); targets without any are left out. */
  waitingByTarget(): Promise<
    readonly { readonly target: string; readonly count: number; readonly oldest: number }[]
  >;
  /** Who has been told of the incident where it was to be told to the target. */
  told(incidentId: string, target: string): Promise<Told>;
  /** Whether the target has got a later event of the incident than `seq`. */
  overtaken(incidentId: string, target: string, seq: number): Promise<boolean>;
  /** Targets that stand in for others in incidents of which somebody is still owed the end, each once. */
  standIns(): Promise<readonly string[]>;
  /** The waiting deliveries that travel together, in the order of their ids. */
  inBatch(batch: string): Promise<readonly DeliveryRow[]>;
  attempts(deliveryId: string): Promise<readonly AttemptRow[]>;
}

/** Which deliveries are put back into the queue. */
export interface RequeueFilter extends Omit<DeliveryFilter, 'state'> {
  readonly states: readonly DeliveryState[];
  readonly id?: string;
}

export interface Requeued {
  /** Those that wait again, resolutions that were skipped among them. */
  readonly rows: readonly Pick<DeliveryRow, 'id' | 'target'>[];
  /** How many were left alone, because their target has got a later event of the incident since. */
  readonly overtaken: number;
  /** Where to go on; undefined when all have been looked at. */
  readonly next: string | undefined;
}

export interface KeptTargetStore {
  list(): Promise<readonly KeptTargetRow[]>;
}

export interface MessageStore {
  get(id: string): Promise<MessageRow | undefined>;
  /** Newest first. */
  list(page: PageRequest): Promise<Page<MessageRow>>;
}

export interface SecretsStore {
  /** All of them, by name. */
  list(): Promise<readonly SecretRow[]>;
}

/** The configuration of a workspace that has no files. */
export interface DocumentStore {
  get(): Promise<DocumentRow | undefined>;
}

/** The configurations that took effect. */
export interface VersionStore {
  /** Newest first. */
  list(page: PageRequest): Promise<Page<ConfigVersionFacts>>;
  get(id: string): Promise<ConfigVersionRow | undefined>;
  /** The newest. */
  last(): Promise<ConfigVersionRow | undefined>;
  count(): Promise<number>;
}

export interface AuditFilter {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly result?: AuditRow['result'];
  /** Epoch ms: then or later. */
  readonly since?: number;
  /** Epoch ms: before. */
  readonly until?: number;
}

/** What was done and refused. There is no way to change it. */
export interface AuditStore {
  /** Newest first. */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>>;
}

/** What is kept for a time only; `deliveries` with their attempts. */
export type Ageing = 'deliveries' | 'events' | 'incidents' | 'versions' | 'messages' | 'audit';

export interface AgeingStore {
  /**
   * Looks at the next `limit` rows after the id `after`, '' for the first. Answers the ids of those that are older than
   * `before` (epoch ms) and needed by nothing, and where to go on; `next` is undefined when all have been looked at.
   */
  find(
    kind: Ageing,
    range: { readonly before: number; readonly after: string; readonly limit: number },
  ): Promise<{ readonly ids: readonly string[]; readonly next: string | undefined }>;
}

/** What one workspace keeps. */
export interface WorkspaceStorage {
  readonly incidents: IncidentStore;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly groups: GroupStore;
  readonly keptTargets: KeptTargetStore;
  readonly messages: MessageStore;
  readonly secrets: SecretsStore;
  readonly document: DocumentStore;
  readonly versions: VersionStore;
  readonly audit: AuditStore;
  readonly ageing: AgeingStore;
}

export const FACT_NOUNS = [
  'incidents',
  'deliveries',
  'messages',
  'secrets',
  'documents',
  'versions',
  'leases',
  'users',
  'tokens',
  'sessions',
  'organizations',
  'members',
  'credentials',
] as const;

/**
 * Something that was committed. `id` is '*' for many, or for any that may have been missed; `workspace` is '*' for any
 * of them, and for all nouns from leases on, which belong to the whole installation.
 */
export interface Fact {
  readonly workspace: string;
  readonly noun: (typeof FACT_NOUNS)[number];
  readonly id: string;
}

/** What a transaction does in one workspace. */
export interface WorkspaceTransaction {
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
  ): Promise<Requeued>;
  /** Adds the target's settings or replaces them. */
  keepTarget(row: KeptTargetRow): Promise<void>;
  dropTarget(id: string): Promise<void>;
  /** Refused with `conflict` when the id exists. */
  addMessage(row: MessageRow): Promise<void>;
  /** Answers what it removed. A notification's message comes back with its next transition. */
  removeMessage(id: string): Promise<MessageRow | undefined>;
  /** Removes those of the rows that are still old and needed by nothing. Answers how many these were. */
  removeOld(kind: Ageing, before: number, ids: readonly string[]): Promise<number>;
}

/** Reads and writes inside one transaction: all of it happens or none. */
export interface Transaction extends SessionTransaction, OrganizationTransaction, CredentialTransaction {
  in(workspace: string): WorkspaceTransaction;
  countUsers(): Promise<number>;
  /**
   * Numbers a change of users, members, organizations or credentials, which every change of them begins with: it keeps
   * other processes from changing them until this transaction has ended, so that what is read afterwards still holds then.
   */
  numberUserChange(): Promise<number>;
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
  turnKey(kid: string, change: Pick<KeyRow, 'state' | 'since' | 'ends_at'>): Promise<void>;
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
  holdsSealed(): Promise<boolean>;
  /**
   * Writes one operation, in a batch with whatever else is waiting: no linger, the next batch starts when the last is
   * on disk. When a batch fails, each of its operations is tried alone and only the bad one is refused.
   * Rejects with `conflict` as the operation says, with `unavailable` when the disk refuses. Under a lease it also
   * rejects with an error of which `isLeaseLost` is true unless the lease is in force in the very transaction.
   */
  commit(operation: Operation, lease?: Lease): Promise<void>;
  /** For administration; shares the one writer with `commit`. Under a lease it is refused as `commit` is. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, lease?: Lease): Promise<Result>;
  readonly leases: LeaseStore;
  readonly nodes: NodeStore;
  /**
   * Hands on what this process commits, after the commit, and on PostgreSQL what others do. Facts may be lost or come
   * twice, so whoever relies on them also looks from time to time. The answer ends it.
   */
  subscribe(listener: (fact: Fact) => void): () => void;
  /** What the database takes on its disk, in bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}
