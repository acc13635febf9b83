import type { Clock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import { Secret } from '../lib/secret.ts';
import type { MemberRow } from '../storage/organization-store.ts';
import type { Page, PageRequest, Storage, Transaction, UserRow } from '../storage/storage.ts';
import type { OrganizationRole } from '../storage/tenant-tables.ts';
import type { ChangeFeed } from './change-feed.ts';
import { generatePassword } from './generated-password.ts';
import { joining } from './joining.ts';
import { assertManages, assertMayGive, type Manager } from './managers.ts';
import type { Passwords } from './passwords.ts';
import { isRole, type Role } from './permissions.ts';
import { invalidField, parseUsername } from './users.ts';

interface WorkspaceRole {
  /** Its id in the organization. */
  readonly workspace: string;
  readonly role: Role;
}

/** What somebody may do: in the organization, and for the role `user` in single workspaces. */
export interface MemberRoles {
  readonly organizationRole: OrganizationRole;
  readonly workspaces: readonly WorkspaceRole[];
}

/** A person of an organization. Times are epoch ms. */
export interface Member extends MemberRoles {
  readonly userId: string;
  readonly email: string;
  readonly first: string;
  readonly last: string;
  readonly enabled: boolean;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedBy: string;
  readonly updatedAt: number;
}

/** Who belongs to an organization. All throw `not-found` for whoever does not, and `forbidden` as `assertMayGive`. */
export interface Members {
  list(organization: string, page: PageRequest): Promise<Page<Member>>;
  get(organization: string, userId: string): Promise<Member>;
  /**
   * Adds a person; whoever is new gets a password for the first sign-in, told once. Throws `conflict` for a member and
   * for whoever has the password of another organization, and `invalid-request` for what is no e-mail address or a
   * workspace that is not there.
   */
  add(
    manager: Manager,
    email: string,
    roles: MemberRoles,
  ): Promise<{ readonly member: Member; readonly initialPassword?: Secret }>;
  /** Ends the tokens of a member of no other organization. Throws `conflict` when no owner would be left who can sign in. */
  setRoles(manager: Manager, userId: string, roles: MemberRoles): Promise<Member>;
  /**
   * Throws as `setRoles`. Whoever is no member of any organization then is no user any more, and their tokens end:
   * added again, they are new.
   */
  remove(manager: Manager, userId: string): Promise<void>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'organizations' | 'users' | 'transaction'>;
  readonly passwords: Pick<Passwords, 'hash'>;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Far below what the installation may have, so that none keeps the others from having any. */
const MOST_MEMBERS = 1000;

/** Whoever gave out the first password of an account may have kept it, and must not come in to what is others'. */
const ELSEWHERE =
  'somebody of this address has the password of another organization; add them by another address';

export function createMembers(dependencies: Dependencies): Members {
  const { storage, passwords, feed, clock, ids } = dependencies;

  async function described(organization: string, rows: readonly MemberRow[]): Promise<Member[]> {
    const roles = await storage.organizations.memberRoles(
      organization,
      rows.map(row => row.user_id),
    );
    const users = await Promise.all(rows.map(row => storage.users.byId(row.user_id)));
    return rows.flatMap((row, index) => {
      const user = users[index];
      if (user === undefined) return [];
      const own = roles.flatMap(({ user_id, workspace, role }) =>
        user_id === row.user_id && isRole(role) ? [{ workspace, role }] : [],
      );
      return [memberOf(row, user, own)];
    });
  }

  async function get(organization: string, userId: string): Promise<Member> {
    const row = await storage.organizations.member(organization, userId);
    const [member] = row === undefined ? [] : await described(organization, [row]);
    if (member === undefined) throw notFound('member', userId);
    return member;
  }

  return {
    async list(organization, page) {
      const { rows, total } = await storage.organizations.members(organization, page);
      return { rows: await described(organization, rows), total };
    },
    get,

    async add(manager, email, roles) {
      assertMayGive(manager, roles.organizationRole);
      const username = parseEmail(email);
      const password = generatePassword();
      const hash = await passwords.hash(password);
      const { organization } = manager;
      const joined = await storage.transaction(async tx => {
        const found = await joining(tx, { clock, ids }, { username, hash });
        const { user } = found;
        if (found.password === 'kept' && (await tx.member(organization, user.id)) === undefined)
          throw new AppError('conflict', ELSEWHERE);
        await addMember(tx, { organization, by: manager.name, user, roles, clock });
        return found;
      });
      if (joined.password === 'another') await feed.takenOver();
      const member = await get(organization, joined.user.id);
      const isGiven = joined.password === 'first' || joined.password === 'another';
      return { member, ...(isGiven && { initialPassword: new Secret(password) }) };
    },

    async setRoles(manager, userId, roles) {
      const { organization } = manager;
      await storage.transaction(async tx => {
        const { row, number } = await memberIn(tx, organization, userId);
        assertMayGive(manager, row.role, roles.organizationRole);
        await assertWorkspaces(tx, organization, roles);
        const now = clock.now();
        const { organizationRole: role } = roles;
        await tx.updateMember({ ...row, role, updated_by: manager.name, updated_at: now });
        await tx.setMemberRoles(organization, userId, roles.workspaces);
        await assertOwnerLeft(tx, organization);
        await endTokens(tx, organization, { userId, number });
      });
      await feed.takenOver();
      return get(organization, userId);
    },

    async remove(manager, userId) {
      assertManages(manager);
      const { organization } = manager;
      await storage.transaction(async tx => {
        const { row } = await memberIn(tx, organization, userId);
        assertMayGive(manager, row.role);
        await tx.removeMember(organization, userId);
        await assertOwnerLeft(tx, organization);
        if ((await tx.membershipsOf(userId)).length === 0) await tx.removeUser(userId);
      });
      await feed.takenOver();
    },
  };
}

/** Throws `conflict` for a member, `unprocessable` when there are very many, `invalid-request` as `Members.add`. */
export async function addMember(
  tx: Transaction,
  options: {
    readonly organization: string;
    readonly by: string;
    readonly user: Pick<UserRow, 'id'>;
    readonly roles: MemberRoles;
    readonly clock: Pick<Clock, 'now'>;
  },
): Promise<void> {
  const { organization, by, user, roles, clock } = options;
  await tx.numberUserChange();
  await assertWorkspaces(tx, organization, roles);
  if ((await tx.countMembers(organization)) >= MOST_MEMBERS)
    throw new AppError(
      'unprocessable',
      `the organization has ${MOST_MEMBERS} members already; remove one first`,
    );
  const now = clock.now();
  await tx.addMember({
    ...{ organization, user_id: user.id, role: roles.organizationRole },
    ...{ created_by: by, created_at: now, updated_by: by, updated_at: now },
  });
  await tx.setMemberRoles(organization, user.id, roles.workspaces);
}

/** As a user name: trimmed, lower case. Throws `invalid-request`. */
export function parseEmail(text: string): string {
  const email = parseUsername(text);
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw invalidField('email', 'must be an e-mail address');
  return email;
}

const memberOf = (row: MemberRow, user: UserRow, workspaces: readonly WorkspaceRole[]): Member => ({
  userId: user.id,
  email: user.username,
  first: user.first,
  last: user.last,
  enabled: user.disabled === 0,
  organizationRole: row.role,
  workspaces,
  createdBy: row.created_by,
  createdAt: row.created_at,
  updatedBy: row.updated_by,
  updatedAt: row.updated_at,
});

/** The member, and the number of the change that is made. */
async function memberIn(
  tx: Transaction,
  organization: string,
  userId: string,
): Promise<{ readonly row: MemberRow; readonly number: number }> {
  const number = await tx.numberUserChange();
  const row = await tx.member(organization, userId);
  if (row === undefined) throw notFound('member', userId);
  return { row, number };
}

/** Throws `invalid-request` naming a workspace that the organization does not have. */
async function assertWorkspaces(
  tx: Pick<Transaction, 'workspace'>,
  organization: string,
  { workspaces }: MemberRoles,
): Promise<void> {
  for (const [index, { workspace }] of workspaces.entries())
    if ((await tx.workspace(organization, workspace)) === undefined)
      throw invalidField(
        `roles.workspaces[${index}].workspaceId`,
        `'${workspace}' is no workspace of the organization`,
      );
}

async function assertOwnerLeft(tx: Transaction, organization: string): Promise<void> {
  if ((await tx.countEnabledOwners(organization)) === 0)
    throw new AppError('conflict', 'this is the last owner who can sign in; make another one first');
}

/**
 * Of whoever belongs to other organizations too the roles alone change, which count for the next call: nobody signs
 * people out of what is others'.
 */
async function endTokens(
  tx: Transaction,
  organization: string,
  { userId, number: version }: { readonly userId: string; readonly number: number },
): Promise<void> {
  const memberships = await tx.membershipsOf(userId);
  if (memberships.some(one => one.organization !== organization)) return;
  const user = await tx.userById(userId);
  if (user !== undefined) await tx.updateUser({ ...user, version });
}
