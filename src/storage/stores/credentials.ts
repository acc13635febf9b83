import { type Kysely, sql } from 'kysely';
import { countRows, refuseDuplicate } from '../queries.ts';
import type { CredentialRoleTable, CredentialSecretTable, CredentialTable, Database } from '../tables.ts';
import type { Page, PageRequest, RecordChange } from '../types.ts';
import type { WorkspaceRoleRow } from './organizations.ts';

export type CredentialRow = CredentialTable;
export type CredentialSecretRow = CredentialSecretTable;
type CredentialRoleRow = CredentialRoleTable;

/** The programs that may call; those that were deleted are not seen but by `get`. */
export interface CredentialStore {
  /** Finds deleted ones, too. */
  get(clientId: string): Promise<CredentialRow | undefined>;
  /** By name. */
  list(organization: string, page: PageRequest): Promise<Page<CredentialRow>>;
  /** Those that are enabled and expire or have expired, the first to end first; at most `most`. */
  expiring(organization: string, most: number): Promise<readonly CredentialRow[]>;
  /** Oldest first. */
  secrets(clientId: string): Promise<readonly CredentialSecretRow[]>;
  /** By credential and workspace. At most 1,000 ids a call. */
  roles(clientIds: readonly string[]): Promise<readonly CredentialRoleRow[]>;
}

/** When a secret was last used, epoch ms. */
interface SecretUse {
  readonly id: string;
  readonly at: number;
}

/** Each change but `recordSecretUses` is to begin with `incrementUserChanges`. */
export interface CredentialTransaction {
  credential(clientId: string): Promise<CredentialRow | undefined>;
  /** The one of that name that is not deleted. */
  credentialByName(organization: string, name: string): Promise<CredentialRow | undefined>;
  /** Those that are not deleted. */
  countCredentials(organization: string): Promise<number>;
  /** Refused with `conflict` when the client id exists, or the name among those that are not deleted. */
  addCredential(row: CredentialRow): Promise<void>;
  /** Replaces the row of that client id but for when it was last used. Refused with `conflict` as `addCredential`. */
  updateCredential(row: CredentialRow): Promise<void>;
  credentialRoles(clientId: string): Promise<readonly CredentialRoleRow[]>;
  /** Replaces all roles of the credential. */
  setCredentialRoles(clientId: string, roles: readonly WorkspaceRoleRow[]): Promise<void>;
  /** Oldest first. */
  credentialSecrets(clientId: string): Promise<readonly CredentialSecretRow[]>;
  addCredentialSecret(row: CredentialSecretRow): Promise<void>;
  /** Refuses it from `notAfter` (epoch ms) on. */
  endCredentialSecret(clientId: string, id: string, notAfter: number): Promise<void>;
  removeCredentialSecret(clientId: string, id: string): Promise<void>;
  /** Keeps the latest for each secret and its credential. Publishes no change, as access stays the same. */
  recordSecretUses(uses: readonly SecretUse[]): Promise<void>;
}

const credentialById = (db: Kysely<Database>, clientId: string) =>
  db.selectFrom('credentials').where('client_id', '=', clientId).selectAll().executeTakeFirst();

/** Those that are not deleted. */
const selectPresent = (db: Kysely<Database>, organization: string) =>
  db.selectFrom('credentials').where('organization', '=', organization).where('deleted_at', 'is', null);

const secretsOf = (db: Kysely<Database>, clientId: string) =>
  db
    .selectFrom('credential_secrets')
    .where('client_id', '=', clientId)
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .execute();

const rolesOf = (db: Kysely<Database>, clientIds: readonly string[]) =>
  db
    .selectFrom('credential_roles')
    .where('client_id', 'in', clientIds)
    .selectAll()
    .orderBy('client_id')
    .orderBy('workspace')
    .execute();

export const credentialStore = (db: Kysely<Database>): CredentialStore => ({
  get: clientId => credentialById(db, clientId),
  async list(organization, { offset, limit }) {
    const all = selectPresent(db, organization);
    const [rows, total] = await Promise.all([
      all.selectAll().orderBy('name').offset(offset).limit(limit).execute(),
      countRows(all),
    ]);
    return { rows, total };
  },
  expiring: (organization, most) =>
    selectPresent(db, organization)
      .where('enabled', '=', 1)
      .where('expires_at', 'is not', null)
      .selectAll()
      .orderBy('expires_at')
      .orderBy('client_id')
      .limit(most)
      .execute(),
  secrets: clientId => secretsOf(db, clientId),
  roles: async clientIds => (clientIds.length === 0 ? [] : rolesOf(db, clientIds)),
});

export function credentialTransaction(
  db: Kysely<Database>,
  recordChange: RecordChange,
): CredentialTransaction {
  const recordCredentialChange = (clientId: string, written: Promise<void>) =>
    recordChange('credentials', clientId, written);
  return {
    credential: clientId => credentialById(db, clientId),
    credentialByName: (organization, name) =>
      selectPresent(db, organization).where('name', '=', name).selectAll().executeTakeFirst(),
    countCredentials: organization => countRows(selectPresent(db, organization)),
    addCredential: row =>
      recordCredentialChange(
        row.client_id,
        refuseDuplicateName(db.insertInto('credentials').values(row).execute(), row),
      ),
    updateCredential: row => recordCredentialChange(row.client_id, updateCredential(db, row)),
    credentialRoles: clientId => rolesOf(db, [clientId]),
    setCredentialRoles: (clientId, roles) => recordCredentialChange(clientId, setRoles(db, clientId, roles)),
    credentialSecrets: clientId => secretsOf(db, clientId),
    addCredentialSecret: row => recordCredentialChange(row.client_id, addSecret(db, row)),
    endCredentialSecret: (clientId, id, notAfter) =>
      recordCredentialChange(clientId, endSecret(db, { clientId, id, notAfter })),
    removeCredentialSecret: (clientId, id) =>
      recordCredentialChange(clientId, removeSecret(db, clientId, id)),
    recordSecretUses: uses => recordSecretUses(db, uses),
  };
}

const refuseDuplicateName = (
  written: Promise<unknown>,
  { organization, name }: CredentialRow,
): Promise<void> =>
  refuseDuplicate(written, `credential '${name}' of organization '${organization}'`, 'choose another name');

function updateCredential(db: Kysely<Database>, row: CredentialRow): Promise<void> {
  const { client_id, last_used_at: _, ...columns } = row;
  return refuseDuplicateName(
    db.updateTable('credentials').set(columns).where('client_id', '=', client_id).execute(),
    row,
  );
}

async function setRoles(
  db: Kysely<Database>,
  clientId: string,
  roles: readonly WorkspaceRoleRow[],
): Promise<void> {
  await db.deleteFrom('credential_roles').where('client_id', '=', clientId).execute();
  const rows = roles.map(({ workspace, role }) => ({ client_id: clientId, workspace, role }));
  if (rows.length > 0) await db.insertInto('credential_roles').values(rows).execute();
}

async function addSecret(db: Kysely<Database>, row: CredentialSecretRow): Promise<void> {
  await db.insertInto('credential_secrets').values(row).execute();
}

async function endSecret(
  db: Kysely<Database>,
  { clientId, id, notAfter }: { readonly clientId: string; readonly id: string; readonly notAfter: number },
): Promise<void> {
  await db
    .updateTable('credential_secrets')
    .set({ not_after: notAfter })
    .where('client_id', '=', clientId)
    .where('id', '=', id)
    .execute();
}

async function removeSecret(db: Kysely<Database>, clientId: string, id: string): Promise<void> {
  await db.deleteFrom('credential_secrets').where('client_id', '=', clientId).where('id', '=', id).execute();
}

async function recordSecretUses(db: Kysely<Database>, uses: readonly SecretUse[]): Promise<void> {
  for (const { id, at } of uses) {
    const later = sql<boolean>`coalesce(last_used_at, 0) < ${at}`;
    await db
      .updateTable('credential_secrets')
      .set({ last_used_at: at })
      .where('id', '=', id)
      .where(later)
      .execute();
    await db
      .updateTable('credentials')
      .set({ last_used_at: at })
      .where('client_id', 'in', owner =>
        owner.selectFrom('credential_secrets').where('id', '=', id).select('client_id'),
      )
      .where(later)
      .execute();
  }
}
