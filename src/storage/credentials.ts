import { type Kysely, sql } from 'kysely';
import { orConflict } from './conflicts.ts';
import { countOf } from './counting.ts';
import type {
  CredentialRow,
  CredentialSecretRow,
  CredentialStore,
  CredentialTransaction,
  SecretUse,
} from './credential-store.ts';
import type { OfInstallation } from './facts.ts';
import type { WorkspaceRoleRow } from './organization-store.ts';
import type { Database } from './tables.ts';

const byId = (db: Kysely<Database>, clientId: string) =>
  db.selectFrom('credentials').where('client_id', '=', clientId).selectAll().executeTakeFirst();

/** Those that are not deleted. */
const presentOf = (db: Kysely<Database>, organization: string) =>
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
  get: clientId => byId(db, clientId),
  async list(organization, { offset, limit }) {
    const all = presentOf(db, organization);
    const [rows, total] = await Promise.all([
      all.selectAll().orderBy('name').offset(offset).limit(limit).execute(),
      countOf(all),
    ]);
    return { rows, total };
  },
  ending: (organization, most) =>
    presentOf(db, organization)
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
  ofInstallation: OfInstallation,
): CredentialTransaction {
  const told = (clientId: string, written: Promise<void>) => ofInstallation('credentials', clientId, written);
  return {
    credential: clientId => byId(db, clientId),
    credentialByName: (organization, name) =>
      presentOf(db, organization).where('name', '=', name).selectAll().executeTakeFirst(),
    countCredentials: organization => countOf(presentOf(db, organization)),
    addCredential: row =>
      told(row.client_id, orTaken(db.insertInto('credentials').values(row).execute(), row)),
    updateCredential: row => told(row.client_id, updateCredential(db, row)),
    credentialRoles: clientId => rolesOf(db, [clientId]),
    setCredentialRoles: (clientId, roles) => told(clientId, setRoles(db, clientId, roles)),
    credentialSecrets: clientId => secretsOf(db, clientId),
    addCredentialSecret: row => told(row.client_id, addSecret(db, row)),
    endCredentialSecret: (clientId, id, notAfter) =>
      told(clientId, endSecret(db, { clientId, id, notAfter })),
    removeCredentialSecret: (clientId, id) => told(clientId, removeSecret(db, clientId, id)),
    noteUses: uses => noteUses(db, uses),
  };
}

const orTaken = (written: Promise<unknown>, { organization, name }: CredentialRow): Promise<void> =>
  orConflict(
    written,
    `organization '${organization}' has a credential '${name}' already; choose another name`,
  );

function updateCredential(db: Kysely<Database>, row: CredentialRow): Promise<void> {
  const { client_id, last_used_at: _, ...columns } = row;
  return orTaken(
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

async function noteUses(db: Kysely<Database>, uses: readonly SecretUse[]): Promise<void> {
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
