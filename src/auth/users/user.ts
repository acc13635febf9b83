import type { Clock } from '../../lib/clock.ts';
import { AppError, alreadyExists, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Transaction } from '../../storage/storage.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import { isRole, type Role } from '../permissions.ts';

const LONGEST_USERNAME = 254;
/** Control characters and halves of a surrogate pair: never part of a name, and they garble a log. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/** A user without the password and its hash. Times are epoch ms. */
export interface UserDetails {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly first: string;
  readonly last: string;
  readonly role: Role;
  readonly disabled: boolean;
  /** A machine is never asked for another password. */
  readonly kind: 'person' | 'machine';
  readonly mustChangePassword: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Throws `internal` for a role that this version does not know. */
export const userDetails = (row: UserRow): UserDetails => ({
  id: row.id,
  username: row.username,
  email: row.email,
  first: row.first,
  last: row.last,
  role: roleOf(row),
  disabled: row.disabled === 1,
  kind: row.kind,
  mustChangePassword: row.force_password_change === 1,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

export function roleOf({ username, role }: Pick<UserRow, 'username' | 'role'>): Role {
  if (isRole(role)) return role;
  throw new AppError('internal', `User '${username}' has the unknown role '${role}' in the store`);
}

/** The row of a new user: a person, with defaults for everything that is not given. */
export const newUserRow = (
  facts: Pick<UserRow, 'id' | 'username' | 'password' | 'role' | 'created_at' | 'version'> & Partial<UserRow>,
): UserRow => ({
  organization: '',
  force_password_change: 0,
  updated_at: facts.created_at,
  email: '',
  first: '',
  last: '',
  disabled: 0,
  kind: 'person',
  initial_password: null,
  issuer: null,
  subject: null,
  ...facts,
});

/** The one name of an account in the whole installation, by which failed logins are counted. */
export const accountName = ({
  organization,
  username,
}: Pick<UserRow, 'organization' | 'username'>): string =>
  organization === '' ? username : `${organization} ${username}`;

/** Undefined for a user without a password here. */
export const passwordHashOf = ({ password }: Pick<UserRow, 'password'>): string | undefined =>
  password === '' ? undefined : password;

/**
 * The one spelling of a user name: trimmed, lower case, NFC.
 * Throws `invalid-request` when it is over 254 characters or holds control characters.
 */
export function parseUsername(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length > LONGEST_USERNAME)
    throw invalidField('username', `must be at most ${LONGEST_USERNAME} characters`);
  if (UNPRINTABLE.test(trimmed)) throw invalidField('username', 'must not hold control characters');
  // Lower case may take a letter apart ('İ'), so the composition comes last.
  return trimmed.normalize('NFC').toLowerCase().normalize('NFC');
}

export const invalidField = (path: string, message: string): AppError =>
  new AppError('invalid-request', `${path} ${message}`, { problems: [{ path, message }] });

/** More would not fit into the caches of a process. */
const MOST_USERS = 10_000;

/** The fields of a new user. */
export interface NewUser {
  /** Generated when left out. */
  readonly id?: string | undefined;
  /** The organization that the account belongs to; none when left out. */
  readonly organization?: string | undefined;
  readonly username: string;
  readonly password: string;
  readonly email?: string | undefined;
  readonly first?: string | undefined;
  readonly last?: string | undefined;
  readonly role: Role;
  readonly disabled: boolean;
  readonly kind: UserRow['kind'];
  /** Left out, a person must change the password at the first login. */
  readonly mustChangePassword?: boolean | undefined;
}

/** The changed fields of a user; the others stay. */
export interface UserChange {
  readonly email?: string | undefined;
  readonly first?: string | undefined;
  readonly last?: string | undefined;
  readonly role?: Role | undefined;
  readonly disabled?: boolean | undefined;
  readonly mustChangePassword?: boolean | undefined;
}

/** A hashed password; `isInitial` when somebody other than its user chose it. */
export interface NewPassword {
  readonly hash: string;
  readonly isInitial: boolean;
}

/** Throws `conflict` for a user of an identity provider. */
export function assertHasPassword({ username, password }: UserRow): void {
  if (password === '')
    throw new AppError('conflict', `user '${username}' signs in elsewhere and has no password here`);
}

type UserReaders = Pick<Transaction, 'userById' | 'userByName' | 'accountsNamed'>;

/** Shown of the accounts among which an operator has to choose. */
const MOST_SHOWN = 5;

/**
 * Finds a user by id, else by name: a user of the installation itself, else the one account of that name in an
 * organization. Throws `conflict` when several organizations have one.
 */
export async function findUser(users: UserReaders, reference: string): Promise<UserRow | undefined> {
  const username = normalizedUsername(reference);
  const known = (await users.userById(reference)) ?? (await users.userByName(username));
  if (known !== undefined) return known;
  const accounts = await users.accountsNamed(username, MOST_SHOWN);
  if (accounts.length < 2) return accounts[0];
  const shown = accounts.map(({ id, organization }) => `${id} in ${organization}`).join(', ');
  throw new AppError(
    'conflict',
    `several organizations have an account '${username}'; give its id: ${shown}`,
  );
}

function normalizedUsername(reference: string): string {
  try {
    return parseUsername(reference);
  } catch {
    return '';
  }
}

export async function requireUser(tx: Transaction, reference: string): Promise<UserRow> {
  const user = await findUser(tx, reference);
  if (user === undefined) throw notFound('user', reference);
  return user;
}

/**
 * Throws `conflict` when the name or the id is another user's already, or there are 10,000 users. In an organization
 * only its own accounts count.
 */
export async function addNewUser(
  tx: Transaction,
  { clock, ids }: { readonly clock: Pick<Clock, 'now'>; readonly ids: Ids },
  user: NewUser & { readonly username: string; readonly hash: string },
): Promise<UserRow> {
  const version = await tx.incrementUserChanges();
  const { id = ids.next(), username, hash, kind } = user;
  const { organization = '' } = user;
  if (organization === '') await assertMayAddUser(tx, [id, username]);
  const mustChange = user.mustChangePassword ?? kind === 'person';
  assertCanRequirePasswordChange(kind, mustChange);
  const { email = '', first = '', last = '', role } = user;
  const row = newUserRow({
    id,
    organization,
    username,
    password: hash,
    initial_password: hash,
    force_password_change: mustChange ? 1 : 0,
    role,
    created_at: clock.now(),
    email,
    first,
    last,
    disabled: user.disabled ? 1 : 0,
    kind,
    version,
  });
  await tx.addUser(row);
  return row;
}

async function assertMayAddUser(tx: Transaction, references: readonly string[]): Promise<void> {
  for (const reference of references)
    if ((await findUser(tx, reference)) !== undefined)
      throw alreadyExists(`user '${reference}'`, 'choose another name');
  if ((await tx.countUsers()) >= MOST_USERS)
    throw new AppError('conflict', `there are ${MOST_USERS} users already; remove one first`);
}

interface ChangeRequest extends UserChange {
  readonly now: number;
  readonly password?: NewPassword | undefined;
  /** False when the user has changed since the change was decided. */
  readonly isUnchanged?: (user: UserRow) => boolean;
}

/**
 * Changes a user, with a new number when that ends tokens: at another role or password, and when disabled or enabled.
 * Throws `conflict` when no admin could log in afterwards.
 */
export async function changeUser(
  tx: Transaction,
  reference: string,
  { now, password, isUnchanged = () => true, ...change }: ChangeRequest,
): Promise<{ readonly before: UserRow; readonly after: UserRow }> {
  const number = await tx.incrementUserChanges();
  const user = await requireUser(tx, reference);
  if (!isUnchanged(user))
    throw new AppError('conflict', 'the password was changed by somebody else meanwhile; log in again');
  const isInitial = password?.isInitial === true && user.kind === 'person';
  const mustChange =
    change.mustChangePassword ?? (password === undefined ? user.force_password_change === 1 : isInitial);
  assertCanRequirePasswordChange(user.kind, mustChange);
  const disabled = change.disabled ?? user.disabled === 1;
  const { email = user.email, first = user.first, last = user.last, role = user.role } = change;
  const endsTokens = password !== undefined || role !== user.role || disabled !== (user.disabled === 1);
  const row: UserRow = {
    ...user,
    email,
    first,
    last,
    role,
    disabled: disabled ? 1 : 0,
    force_password_change: mustChange ? 1 : 0,
    version: endsTokens ? number : user.version,
    updated_at: now,
    ...(password !== undefined && { password: password.hash }),
    ...(password?.isInitial === true && { initial_password: password.hash }),
  };
  await tx.updateUser(row);
  await assertAdminRemains(tx, user);
  return { before: user, after: row };
}

/** Returns the removed user. Throws `conflict` when no admin could log in afterwards. */
export async function removeUser(tx: Transaction, reference: string): Promise<UserRow> {
  await tx.incrementUserChanges();
  const user = await requireUser(tx, reference);
  await tx.removeUser(user.id);
  await assertAdminRemains(tx, user);
  return user;
}

/** Runs after the change: throwing rolls it back. */
async function assertAdminRemains(tx: Transaction, before: UserRow): Promise<void> {
  if (before.role !== 'admin' || before.disabled === 1) return;
  if ((await tx.countEnabledAdmins()) === 0)
    throw new AppError(
      'conflict',
      `user '${before.username}' is the last admin who can log in; make another one first`,
    );
}

function assertCanRequirePasswordChange(kind: UserRow['kind'], mustChange: boolean): void {
  if (kind === 'machine' && mustChange)
    throw invalidField('forcePasswordChange', 'must be false for a machine, which nobody can ask');
}
