import type { Kysely } from 'kysely';
import { orConflict } from './conflicts.ts';
import { countOf } from './counting.ts';
import type { OfInstallation } from './facts.ts';
import type {
  MemberRow,
  OrganizationStore,
  OrganizationTransaction,
  WorkspaceRoleRow,
} from './organization-store.ts';
import type { Database } from './tables.ts';

const organizationById = (db: Kysely<Database>, id: string) =>
  db.selectFrom('organizations').where('id', '=', id).selectAll().executeTakeFirst();

const workspacesOf = (db: Kysely<Database>, organization: string) =>
  db.selectFrom('workspaces').where('organization', '=', organization);

const workspaceById = (db: Kysely<Database>, organization: string, id: string) =>
  workspacesOf(db, organization).where('id', '=', id).selectAll().executeTakeFirst();

const membersOf = (db: Kysely<Database>, organization: string) =>
  db.selectFrom('members').where('organization', '=', organization);

const memberById = (db: Kysely<Database>, organization: string, userId: string) =>
  membersOf(db, organization).where('user_id', '=', userId).selectAll().executeTakeFirst();

const membershipsOf = (db: Kysely<Database>, userId: string) =>
  db.selectFrom('members').where('user_id', '=', userId).selectAll().orderBy('organization').execute();

export const organizationStore = (db: Kysely<Database>): OrganizationStore => ({
  get: id => organizationById(db, id),
  async list({ offset, limit }) {
    const all = db.selectFrom('organizations');
    const [rows, total] = await Promise.all([
      all.selectAll().orderBy('id').offset(offset).limit(limit).execute(),
      countOf(all),
    ]);
    return { rows, total };
  },
  workspace: (organization, id) => workspaceById(db, organization, id),
  workspaces: organization => workspacesOf(db, organization).selectAll().orderBy('id').execute(),
  allWorkspaces: () =>
    db.selectFrom('workspaces').selectAll().orderBy('organization').orderBy('id').execute(),
  member: (organization, userId) => memberById(db, organization, userId),
  async members(organization, { offset, limit }) {
    const all = membersOf(db, organization);
    const ordered = all.selectAll().orderBy('created_at').orderBy('user_id');
    const [rows, total] = await Promise.all([ordered.offset(offset).limit(limit).execute(), countOf(all)]);
    return { rows, total };
  },
  membershipsOf: userId => membershipsOf(db, userId),
  async memberRoles(organization, userIds) {
    if (userIds.length === 0) return [];
    return db
      .selectFrom('member_roles')
      .where('organization', '=', organization)
      .where('user_id', 'in', userIds)
      .selectAll()
      .orderBy('user_id')
      .orderBy('workspace')
      .execute();
  },
});

export function organizationTransaction(
  db: Kysely<Database>,
  ofInstallation: OfInstallation,
): OrganizationTransaction {
  const organizationTold = (id: string, written: Promise<void>) =>
    ofInstallation('organizations', id, written);
  const memberTold = (userId: string, written: Promise<void>) => ofInstallation('members', userId, written);
  return {
    organization: id => organizationById(db, id),
    addOrganization: row =>
      organizationTold(
        row.id,
        orConflict(
          db.insertInto('organizations').values(row).execute(),
          `organization '${row.id}' exists already; choose another id`,
        ),
      ),
    updateOrganization: ({ id, ...columns }) =>
      organizationTold(id, done(db.updateTable('organizations').set(columns).where('id', '=', id).execute())),
    workspace: (organization, id) => workspaceById(db, organization, id),
    countWorkspaces: organization => countOf(workspacesOf(db, organization)),
    addWorkspace: row =>
      organizationTold(
        row.organization,
        orConflict(
          db.insertInto('workspaces').values(row).execute(),
          `organization '${row.organization}' has a workspace '${row.id}' already; choose another id`,
        ),
      ),
    updateWorkspace: ({ organization, id, ...columns }) =>
      organizationTold(
        organization,
        done(
          db
            .updateTable('workspaces')
            .set(columns)
            .where('organization', '=', organization)
            .where('id', '=', id)
            .execute(),
        ),
      ),
    removeWorkspace: (organization, id) =>
      organizationTold(organization, removeWorkspace(db, organization, id)),
    member: (organization, userId) => memberById(db, organization, userId),
    membershipsOf: userId => membershipsOf(db, userId),
    countMembers: organization => countOf(membersOf(db, organization)),
    countEnabledOwners: organization =>
      countOf(
        membersOf(db, organization)
          .where('members.role', '=', 'owner')
          .where(where =>
            where.exists(
              where
                .selectFrom('users')
                .whereRef('users.id', '=', 'members.user_id')
                .where('disabled', '=', 0)
                .select('users.id'),
            ),
          ),
      ),
    addMember: row => memberTold(row.user_id, addMember(db, row)),
    updateMember: ({ organization, user_id, ...columns }) =>
      memberTold(
        user_id,
        done(
          db
            .updateTable('members')
            .set(columns)
            .where('organization', '=', organization)
            .where('user_id', '=', user_id)
            .execute(),
        ),
      ),
    removeMember: (organization, userId) => memberTold(userId, removeMember(db, organization, userId)),
    setMemberRoles: (organization, userId, roles) =>
      memberTold(userId, setMemberRoles(db, { organization, user_id: userId }, roles)),
  };
}

async function done(written: Promise<unknown>): Promise<void> {
  await written;
}

const addMember = (db: Kysely<Database>, row: MemberRow): Promise<void> =>
  orConflict(
    db.insertInto('members').values(row).execute(),
    `the user is a member of organization '${row.organization}' already`,
  );

async function removeWorkspace(db: Kysely<Database>, organization: string, id: string): Promise<void> {
  await db.deleteFrom('workspaces').where('organization', '=', organization).where('id', '=', id).execute();
  await db
    .deleteFrom('member_roles')
    .where('organization', '=', organization)
    .where('workspace', '=', id)
    .execute();
  await db
    .deleteFrom('credential_roles')
    .where('workspace', '=', id)
    .where('client_id', 'in', credentials =>
      credentials.selectFrom('credentials').where('organization', '=', organization).select('client_id'),
    )
    .execute();
}

async function removeMember(db: Kysely<Database>, organization: string, userId: string): Promise<void> {
  await removeRoles(db, organization, userId);
  await db
    .deleteFrom('members')
    .where('organization', '=', organization)
    .where('user_id', '=', userId)
    .execute();
}

async function removeRoles(db: Kysely<Database>, organization: string, userId: string): Promise<void> {
  await db
    .deleteFrom('member_roles')
    .where('organization', '=', organization)
    .where('user_id', '=', userId)
    .execute();
}

async function setMemberRoles(
  db: Kysely<Database>,
  member: Pick<MemberRow, 'organization' | 'user_id'>,
  roles: readonly WorkspaceRoleRow[],
): Promise<void> {
  await removeRoles(db, member.organization, member.user_id);
  const rows = roles.map(({ workspace, role }) => ({ ...member, workspace, role }));
  if (rows.length > 0) await db.insertInto('member_roles').values(rows).execute();
}
