import type { Kysely } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import { countRows, refuseDuplicate } from '../queries.ts';
import type { Database, MemberRoleTable, MemberTable, OrganizationTable, WorkspaceTable } from '../tables.ts';
import type { Page, PageRequest, RecordChange } from '../types.ts';

export type OrganizationRow = OrganizationTable;
export type WorkspaceRow = WorkspaceTable;
export type MemberRow = MemberTable;
/** A role in a workspace of the organization. */
export type WorkspaceRoleRow = Pick<MemberRoleTable, 'workspace' | 'role'>;
type MemberRoleRow = MemberRoleTable;

/** The customers of the hosted deployment, what they have, and who belongs to them. */
export interface OrganizationStore {
  get(id: string): Promise<OrganizationRow | undefined>;
  /** By id. */
  list(page: PageRequest): Promise<Page<OrganizationRow>>;
  workspace(organization: string, id: string): Promise<WorkspaceRow | undefined>;
  /** Those of the organization, by id. */
  readonly workspaces: (organization: string) => Promise<readonly WorkspaceRow[]>;
  /** Those of all organizations, by organization and id. */
  allWorkspaces(): Promise<readonly WorkspaceRow[]>;
  /** Those of which something may be left. */
  removedWorkspaces(): Promise<readonly WorkspaceRow[]>;
  member(organization: string, userId: string): Promise<MemberRow | undefined>;
  /** In the order they became members. */
  members(organization: string, page: PageRequest): Promise<Page<MemberRow>>;
  /** The memberships of the user, by organization. */
  readonly membershipsOf: (userId: string) => Promise<readonly MemberRow[]>;
  /** The roles of these members, by user and workspace. At most 500 ids a call. */
  memberRoles(organization: string, userIds: readonly string[]): Promise<readonly MemberRoleRow[]>;
}

/** Each change is to begin with `incrementUserChanges`. */
export interface OrganizationTransaction {
  organization(id: string): Promise<OrganizationRow | undefined>;
  /** Refused with `conflict` when the id exists. */
  addOrganization(row: OrganizationRow): Promise<void>;
  /** Replaces the row of that id. */
  updateOrganization(row: OrganizationRow): Promise<void>;
  workspace(organization: string, id: string): Promise<WorkspaceRow | undefined>;
  countWorkspaces(organization: string): Promise<number>;
  /** Refused with `conflict` when the organization has one of that id. */
  addWorkspace(row: WorkspaceRow): Promise<void>;
  /** Replaces the row of that id. */
  updateWorkspace(row: WorkspaceRow): Promise<void>;
  /**
   * With the roles that members and credentials have in it. Its id stays taken until `forgetWorkspace`, and what it keeps
   * until `WorkspaceTransaction.clear`. `now` is in epoch ms.
   */
  removeWorkspace(organization: string, id: string, now: number): Promise<void>;
  /** Frees the id of a removed workspace. */
  forgetWorkspace(organization: string, id: string): Promise<void>;
  member(organization: string, userId: string): Promise<MemberRow | undefined>;
  /** The memberships of the user, by organization. */
  membershipsOf(userId: string): Promise<readonly MemberRow[]>;
  countMembers(organization: string): Promise<number>;
  /** Owners of the organization who can sign in. */
  countEnabledOwners(organization: string): Promise<number>;
  /** Refused with `conflict` when the user is a member already. */
  addMember(row: MemberRow): Promise<void>;
  /** Replaces the row of that user. */
  updateMember(row: MemberRow): Promise<void>;
  /** With the roles in workspaces. */
  removeMember(organization: string, userId: string): Promise<void>;
  /** Replaces all roles of the member. */
  setMemberRoles(organization: string, userId: string, roles: readonly WorkspaceRoleRow[]): Promise<void>;
}

const organizationById = (db: Kysely<Database>, id: string) =>
  db.selectFrom('organizations').where('id', '=', id).selectAll().executeTakeFirst();

/** Removed, with what is left of it. */
const REMOVED = 'Deprovisioning';

const presentWorkspaces = (db: Kysely<Database>) => db.selectFrom('workspaces').where('state', '<>', REMOVED);

const workspacesOf = (db: Kysely<Database>, organization: string) =>
  presentWorkspaces(db).where('organization', '=', organization);

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
      countRows(all),
    ]);
    return { rows, total };
  },
  workspace: (organization, id) => workspaceById(db, organization, id),
  workspaces: organization => workspacesOf(db, organization).selectAll().orderBy('id').execute(),
  allWorkspaces: () => presentWorkspaces(db).selectAll().orderBy('organization').orderBy('id').execute(),
  removedWorkspaces: () =>
    db
      .selectFrom('workspaces')
      .where('state', '=', REMOVED)
      .selectAll()
      .orderBy('organization')
      .orderBy('id')
      .execute(),
  member: (organization, userId) => memberById(db, organization, userId),
  async members(organization, { offset, limit }) {
    const all = membersOf(db, organization);
    const ordered = all.selectAll().orderBy('created_at').orderBy('user_id');
    const [rows, total] = await Promise.all([ordered.offset(offset).limit(limit).execute(), countRows(all)]);
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

export const organizationTransaction = (
  db: Kysely<Database>,
  recordChange: RecordChange,
): OrganizationTransaction => ({
  organization: id => organizationById(db, id),
  addOrganization: row => recordChange('organizations', row.id, addOrganization(db, row)),
  updateOrganization: row => recordChange('organizations', row.id, updateOrganization(db, row)),
  workspace: (organization, id) => workspaceById(db, organization, id),
  countWorkspaces: organization => countRows(workspacesOf(db, organization)),
  addWorkspace: row => recordChange('organizations', row.organization, addWorkspace(db, row)),
  updateWorkspace: row => recordChange('organizations', row.organization, updateWorkspace(db, row)),
  removeWorkspace: (organization, id, now) =>
    recordChange('organizations', organization, removeWorkspace(db, { organization, id, now })),
  forgetWorkspace: (organization, id) =>
    recordChange('organizations', organization, forgetWorkspace(db, organization, id)),
  member: (organization, userId) => memberById(db, organization, userId),
  membershipsOf: userId => membershipsOf(db, userId),
  countMembers: organization => countRows(membersOf(db, organization)),
  countEnabledOwners: organization => countEnabledOwners(db, organization),
  addMember: row => recordChange('members', row.user_id, addMember(db, row)),
  updateMember: row => recordChange('members', row.user_id, updateMember(db, row)),
  removeMember: (organization, userId) =>
    recordChange('members', userId, removeMember(db, organization, userId)),
  setMemberRoles: (organization, userId, roles) =>
    recordChange('members', userId, setMemberRoles(db, { organization, user_id: userId }, roles)),
});

const addOrganization = (db: Kysely<Database>, row: OrganizationRow): Promise<void> =>
  refuseDuplicate(db.insertInto('organizations').values(row).execute(), `organization '${row.id}'`);

async function updateOrganization(db: Kysely<Database>, { id, ...columns }: OrganizationRow): Promise<void> {
  await db.updateTable('organizations').set(columns).where('id', '=', id).execute();
}

async function addWorkspace(db: Kysely<Database>, row: WorkspaceRow): Promise<void> {
  const removed = await db
    .selectFrom('workspaces')
    .where('organization', '=', row.organization)
    .where('id', '=', row.id)
    .where('state', '=', REMOVED)
    .select('id')
    .executeTakeFirst();
  if (removed !== undefined)
    throw new AppError(
      'conflict',
      `workspace '${row.id}' was removed a moment ago, and what it kept is being removed: its id is free again ten minutes after that`,
    );
  await refuseDuplicate(
    db.insertInto('workspaces').values(row).execute(),
    `workspace '${row.id}' of organization '${row.organization}'`,
  );
}

async function updateWorkspace(
  db: Kysely<Database>,
  { organization, id, ...columns }: WorkspaceRow,
): Promise<void> {
  await db
    .updateTable('workspaces')
    .set(columns)
    .where('organization', '=', organization)
    .where('id', '=', id)
    .execute();
}

const countEnabledOwners = (db: Kysely<Database>, organization: string): Promise<number> =>
  countRows(
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
  );

async function updateMember(
  db: Kysely<Database>,
  { organization, user_id, ...columns }: MemberRow,
): Promise<void> {
  await db
    .updateTable('members')
    .set(columns)
    .where('organization', '=', organization)
    .where('user_id', '=', user_id)
    .execute();
}

const addMember = (db: Kysely<Database>, row: MemberRow): Promise<void> =>
  refuseDuplicate(
    db.insertInto('members').values(row).execute(),
    `the user's membership of organization '${row.organization}'`,
    'change it',
  );

async function forgetWorkspace(db: Kysely<Database>, organization: string, id: string): Promise<void> {
  await db
    .deleteFrom('workspaces')
    .where('organization', '=', organization)
    .where('id', '=', id)
    .where('state', '=', REMOVED)
    .execute();
}

async function removeWorkspace(
  db: Kysely<Database>,
  { organization, id, now }: { readonly organization: string; readonly id: string; readonly now: number },
): Promise<void> {
  await db
    .updateTable('workspaces')
    .set({ state: REMOVED, alias: '', description: '', region: '', tags: '[]', updated_at: now })
    .where('organization', '=', organization)
    .where('id', '=', id)
    .execute();
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
