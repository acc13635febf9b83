import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
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
import { addNewUser, changeUser, invalidField, parseUsername } from '../users/user.ts';

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
   * Adds a person; a new user gets a password for the first sign-in, returned this once. Throws `conflict` for a member
   * and for a user with the password of another organization, and `invalid-request` for a malformed e-mail address or
   * an unknown workspace.
   */
  add(
    actor: OrganizationActor,
    email: string,
    roles: MemberRoles,
  ): Promise<{ readonly member: OrganizationMember; readonly initialPassword?: Secret }>;
  /** Ends the tokens of a member of no other organization. Throws `conflict` when no owner would be left who can sign in. */
  setRoles(actor: OrganizationActor, userId: string, roles: MemberRoles): Promise<OrganizationMember>;
  /**
   * Throws as `setRoles`. A user who is then a member of no organization is deleted, and their tokens end: added again,
   * they are new.
   */
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

/** The organization that handed out the first password may have kept it, and must not come in to another one with it. */
const PASSWORD_OF_ANOTHER_ORGANIZATION =
  'somebody of this address has the password of another organization; add them by another address';

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
    const provisioned = await this.#storage.transaction(async tx => {
      const found = await provisionUser(tx, { clock, ids }, { username, hash });
      const { user } = found;
      if (found.password === 'kept' && (await tx.member(organization, user.id)) === undefined)
        throw new AppError('conflict', PASSWORD_OF_ANOTHER_ORGANIZATION);
      await addMember(tx, { organization, by: actor.name, user, roles, clock });
      return found;
    });
    if (provisioned.password === 'another') await this.#feed.waitForPropagation();
    const member = await this.get(organization, provisioned.user.id);
    const isNew = provisioned.password === 'first' || provisioned.password === 'another';
    return { member, ...(isNew && { initialPassword: new Secret(password) }) };
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
      await endTokens(tx, organization, { userId, number });
    });
    await this.#feed.waitForPropagation();
    return this.get(organization, userId);
  }

  async remove(actor: OrganizationActor, userId: string): Promise<void> {
    assertManagesOrganization(actor);
    const { organization } = actor;
    await this.#storage.transaction(async tx => {
      const { row } = await requireMember(tx, organization, userId);
      assertMayActOn(actor, row.role);
      await tx.removeMember(organization, userId);
      await assertOwnerRemains(tx, organization);
      if ((await tx.membershipsOf(userId)).length === 0) await tx.removeUser(userId);
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

/**
 * A member of other organizations too keeps the tokens: the new roles count for the next call, and no organization
 * signs people out of another one.
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

/** A user who is to become a member. */
interface ProvisionedUser {
  readonly user: UserRow;
  /**
   * `first`: the one-time password of the call is now theirs. `another`: it took the place of a former one, which ended
   * their tokens. `kept`: they keep the one of an organization. `none`: an identity provider signs them in.
   */
  readonly password: 'first' | 'another' | 'kept' | 'none';
}

interface ProvisioningRequest {
  readonly username: string;
  /** Hash of the one-time password of the call. */
  readonly hash: string;
  /** It takes the place of one that another organization may know. */
  readonly replaces?: boolean;
}

/**
 * Finds or adds the user of a name. A user who belongs to no organization gets the password of the call: the one who
 * added them before has seen the former one, and might still sign in with it.
 */
export async function provisionUser(
  tx: Transaction,
  { clock, ids }: { readonly clock: Pick<Clock, 'now'>; readonly ids: Ids },
  { username, hash, replaces = false }: ProvisioningRequest,
): Promise<ProvisionedUser> {
  const known = await tx.userByName(username);
  if (known === undefined) {
    const user = await addNewUser(tx, { clock, ids }, newPerson(username, hash));
    return { user, password: 'first' };
  }
  const isMember = (await tx.membershipsOf(known.id)).length > 0;
  if (known.password === '' && (isMember || known.issuer !== null)) return { user: known, password: 'none' };
  if (isMember && !replaces) return { user: known, password: 'kept' };
  const password = { hash, isInitial: true };
  const { after } = await changeUser(tx, known.id, { now: clock.now(), password });
  return { user: after, password: 'another' };
}

/** A person who must choose a password of their own at the first sign-in. */
const newPerson = (username: string, hash: string) =>
  ({ username, email: username, hash, password: '', role: 'user', disabled: false, kind: 'person' }) as const;
