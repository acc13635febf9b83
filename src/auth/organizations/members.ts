import type { Clock } from '../../lib/clock.ts';
import { AppError, alreadyExists, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import { Secret } from '../../lib/secret.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { MemberRow } from '../../storage/stores/organizations.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import type { Page, PageRequest } from '../../storage/types.ts';
import { assertManagesOrganization, assertMayActOn, type OrganizationActor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { isRole, type Role } from '../permissions.ts';
import { generatePassword, type Passwords } from '../users/passwords.ts';
import {
  addNewUser,
  assertHasPassword,
  changeUser,
  invalidField,
  parseUsername,
  requireUser,
} from '../users/user.ts';

interface WorkspaceRole {
  /** Its id in the organization. */
  readonly workspace: string;
  readonly role: Role;
}

/** The role in the organization, and for the role `user` those in single workspaces. */
export interface MemberRoles {
  readonly organizationRole: OrganizationRole;
  readonly workspaces: readonly WorkspaceRole[];
}

/** A person of an organization. Times are epoch ms. */
export interface OrganizationMember extends MemberRoles {
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

/** The members of an organization. All throw `not-found` for a user who is none, and `forbidden` as `assertMayActOn`. */
export interface Members {
  list(organization: string, page: PageRequest): Promise<Page<OrganizationMember>>;
  get(organization: string, userId: string): Promise<OrganizationMember>;
  /**
   * Adds a person, with an account of their own in this organization and a password for the first sign-in, returned this
   * once: all of it is the same whether or not another organization knows the address. Throws `conflict` for a member,
   * and `invalid-request` for a malformed e-mail address or an unknown workspace.
   */
  add(
    actor: OrganizationActor,
    email: string,
    roles: MemberRoles,
  ): Promise<{ readonly member: OrganizationMember; readonly initialPassword: Secret }>;
  /** Ends the tokens of the member. Throws `conflict` when no owner would be left who can sign in. */
  setRoles(actor: OrganizationActor, userId: string, roles: MemberRoles): Promise<OrganizationMember>;
  /**
   * Gives the account another password for the next sign-in, returned this once; it ends the sessions and tokens of the
   * member. Throws `conflict` for a member who signs in by the identity provider, and `forbidden` for the actor's own
   * account, whose password takes the present one.
   */
  resetPassword(
    actor: OrganizationActor,
    userId: string,
  ): Promise<{ readonly member: OrganizationMember; readonly initialPassword: Secret }>;
  /** Throws as `setRoles`. The account is deleted and its tokens end: a person who is added again has a new one. */
  remove(actor: OrganizationActor, userId: string): Promise<void>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'organizations' | 'users' | 'transaction'>;
  readonly passwords: Pick<Passwords, 'hash'>;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Far below the limit of the installation, so that no organization can use it up. */
const MOST_MEMBERS = 1000;

export const createMembers = (dependencies: Dependencies): Members => new MemberService(dependencies);

class MemberService implements Members {
  readonly #storage: Dependencies['storage'];
  readonly #passwords: Dependencies['passwords'];
  readonly #feed: Dependencies['feed'];
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor({ storage, passwords, feed, clock, ids }: Dependencies) {
    this.#storage = storage;
    this.#passwords = passwords;
    this.#feed = feed;
    this.#clock = clock;
    this.#ids = ids;
  }

  async list(organization: string, page: PageRequest): Promise<Page<OrganizationMember>> {
    const { rows, total } = await this.#storage.organizations.members(organization, page);
    return { rows: await this.#describe(organization, rows), total };
  }

  async get(organization: string, userId: string): Promise<OrganizationMember> {
    const row = await this.#storage.organizations.member(organization, userId);
    const [member] = row === undefined ? [] : await this.#describe(organization, [row]);
    if (member === undefined) throw notFound('member', userId);
    return member;
  }

  async add(actor: OrganizationActor, email: string, roles: MemberRoles): ReturnType<Members['add']> {
    assertMayActOn(actor, roles.organizationRole);
    const username = parseEmail(email);
    const password = generatePassword();
    const hash = await this.#passwords.hash(password);
    const { organization } = actor;
    const [clock, ids] = [this.#clock, this.#ids];
    const user = await this.#storage.transaction(async tx => {
      const added = await addAccount(tx, { clock, ids }, { organization, username, hash });
      await addMember(tx, { organization, by: actor.name, user: added, roles, clock });
      return added;
    });
    return { member: await this.get(organization, user.id), initialPassword: new Secret(password) };
  }

  async setRoles(actor: OrganizationActor, userId: string, roles: MemberRoles): Promise<OrganizationMember> {
    const { organization } = actor;
    await this.#storage.transaction(async tx => {
      const { row, number } = await requireMember(tx, organization, userId);
      assertMayActOn(actor, row.role, roles.organizationRole);
      await assertWorkspacesExist(tx, organization, roles);
      const { organizationRole: role } = roles;
      await tx.updateMember({ ...row, role, updated_by: actor.name, updated_at: this.#clock.now() });
      await tx.setMemberRoles(organization, userId, roles.workspaces);
      await assertOwnerRemains(tx, organization);
      await endTokens(tx, { userId, number });
    });
    await this.#feed.waitForPropagation();
    return this.get(organization, userId);
  }

  async resetPassword(actor: OrganizationActor, userId: string): ReturnType<Members['resetPassword']> {
    assertManagesOrganization(actor);
    if (actor.kind === 'member' && actor.id === userId) throw ownPassword();
    const { organization } = actor;
    const password = generatePassword();
    const hash = await this.#passwords.hash(password);
    await this.#storage.transaction(async tx => {
      const { row } = await requireMember(tx, organization, userId);
      assertMayActOn(actor, row.role);
      assertHasPassword(await requireUser(tx, userId));
      await changeUser(tx, userId, { now: this.#clock.now(), password: { hash, isInitial: true } });
    });
    await this.#feed.waitForPropagation();
    return { member: await this.get(organization, userId), initialPassword: new Secret(password) };
  }

  async remove(actor: OrganizationActor, userId: string): Promise<void> {
    assertManagesOrganization(actor);
    const { organization } = actor;
    await this.#storage.transaction(async tx => {
      const { row } = await requireMember(tx, organization, userId);
      assertMayActOn(actor, row.role);
      await tx.removeMember(organization, userId);
      await assertOwnerRemains(tx, organization);
      await tx.removeUser(userId);
    });
    await this.#feed.waitForPropagation();
  }

  async #describe(organization: string, rows: readonly MemberRow[]): Promise<OrganizationMember[]> {
    const roles = await this.#storage.organizations.memberRoles(
      organization,
      rows.map(row => row.user_id),
    );
    const users = await Promise.all(rows.map(row => this.#storage.users.byId(row.user_id)));
    return rows.flatMap((row, index) => {
      const user = users[index];
      if (user === undefined) return [];
      const workspaceRoles = roles.flatMap(({ user_id, workspace, role }) =>
        user_id === row.user_id && isRole(role) ? [{ workspace, role }] : [],
      );
      return [memberDetails(row, user, workspaceRoles)];
    });
  }
}

/** A stolen token must not be enough for a new password. */
const ownPassword = (): AppError =>
  new AppError(
    'forbidden',
    'This is your own account; sign in at the login service with newPassword and the present password',
  );

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
  await tx.incrementUserChanges();
  await assertWorkspacesExist(tx, organization, roles);
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

const memberDetails = (
  row: MemberRow,
  user: UserRow,
  workspaces: readonly WorkspaceRole[],
): OrganizationMember => ({
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
async function requireMember(
  tx: Transaction,
  organization: string,
  userId: string,
): Promise<{ readonly row: MemberRow; readonly number: number }> {
  const number = await tx.incrementUserChanges();
  const row = await tx.member(organization, userId);
  if (row === undefined) throw notFound('member', userId);
  return { row, number };
}

/** Throws `invalid-request` naming a workspace that the organization does not have. */
async function assertWorkspacesExist(
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

async function assertOwnerRemains(tx: Transaction, organization: string): Promise<void> {
  if ((await tx.countEnabledOwners(organization)) === 0)
    throw new AppError('conflict', 'this is the last owner who can sign in; make another one first');
}

async function endTokens(
  tx: Transaction,
  { userId, number: version }: { readonly userId: string; readonly number: number },
): Promise<void> {
  const user = await tx.userById(userId);
  if (user !== undefined) await tx.updateUser({ ...user, version });
}

/**
 * Adds the account of a person in an organization, with a one-time password whose hash is given. It is looked for in
 * that organization alone: nobody learns who belongs to another one, and no organization keeps an address from others.
 * Throws `conflict` when the organization has an account of that name.
 */
export async function addAccount(
  tx: Transaction,
  { clock, ids }: { readonly clock: Pick<Clock, 'now'>; readonly ids: Ids },
  { organization, username, hash }: Readonly<Record<'organization' | 'username' | 'hash', string>>,
): Promise<UserRow> {
  if ((await tx.userByName(username, organization)) !== undefined)
    throw alreadyExists(
      `member '${username}' of organization '${organization}'`,
      'change the roles of that one',
    );
  const person = { organization, username, email: username, hash, password: '', role: 'user' } as const;
  return addNewUser(tx, { clock, ids }, { ...person, disabled: false, kind: 'person' });
}
