import type { Clock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Transaction, UserRow } from '../storage/storage.ts';
import type { Role } from './permissions.ts';
import { invalidField, newUserRow, parseUsername } from './users.ts';

/** More would not fit into what a process remembers. */
const MOST_USERS = 10_000;

/** What an admin says of a user to be. */
export interface NewUser {
  /** Left out, one is made. */
  readonly id?: string | undefined;
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

/** What an admin changes of a user; what is left out stays. */
export interface UserChange {
  readonly email?: string | undefined;
  readonly first?: string | undefined;
  readonly last?: string | undefined;
  readonly role?: Role | undefined;
  readonly disabled?: boolean | undefined;
  readonly mustChangePassword?: boolean | undefined;
}

/** A password as the store has it; `isInitial` when somebody else than its user chose it. */
export interface NewPassword {
  readonly hash: string;
  readonly isInitial: boolean;
}

/** Throws `conflict` for a user of an identity provider. */
export function assertHasPassword({ username, password }: UserRow): void {
  if (password === '')
    throw new AppError('conflict', `user '${username}' signs in elsewhere and has no password here`);
}

/** By id, else by name. */
export async function findUser(
  users: Pick<Transaction, 'userById' | 'userByName'>,
  reference: string,
): Promise<UserRow | undefined> {
  return (await users.userById(reference)) ?? (await users.userByName(spelled(reference)));
}

function spelled(reference: string): string {
  try {
    return parseUsername(reference);
  } catch {
    return '';
  }
}

export async function userIn(tx: Transaction, reference: string): Promise<UserRow> {
  const user = await findUser(tx, reference);
  if (user === undefined) throw notFound('user', reference);
  return user;
}

/** Throws `conflict` when the name or the id is another user's already, or there are 10,000 users. */
export async function addNewUser(
  tx: Transaction,
  { clock, ids }: { readonly clock: Pick<Clock, 'now'>; readonly ids: Ids },
  user: NewUser & { readonly username: string; readonly hash: string },
): Promise<UserRow> {
  const version = await tx.numberUserChange();
  const { id = ids.next(), username, hash, kind } = user;
  for (const reference of [id, username])
    if ((await findUser(tx, reference)) !== undefined)
      throw new AppError('conflict', `user '${reference}' exists already; choose another name`);
  if ((await tx.countUsers()) >= MOST_USERS)
    throw new AppError('conflict', `there are ${MOST_USERS} users already; remove one first`);
  const mustChange = user.mustChangePassword ?? kind === 'person';
  assertMayBeAsked(kind, mustChange);
  const { email = '', first = '', last = '', role } = user;
  const row = newUserRow({
    id,
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

interface ChangeRequest extends UserChange {
  readonly now: number;
  readonly password?: NewPassword | undefined;
  /** Whether the user is still what the change was decided on. */
  readonly isStill?: (user: UserRow) => boolean;
}

/**
 * Changes a user, with a new number when that ends tokens: at another role or password, and when disabled or enabled.
 * Throws `conflict` when no admin could log in afterwards.
 */
export async function changeUser(
  tx: Transaction,
  reference: string,
  { now, password, isStill = () => true, ...change }: ChangeRequest,
): Promise<{ readonly before: UserRow; readonly after: UserRow }> {
  const number = await tx.numberUserChange();
  const user = await userIn(tx, reference);
  if (!isStill(user))
    throw new AppError('conflict', 'the password was changed by somebody else meanwhile; log in again');
  const isInitial = password?.isInitial === true && user.kind === 'person';
  const mustChange =
    change.mustChangePassword ?? (password === undefined ? user.force_password_change === 1 : isInitial);
  assertMayBeAsked(user.kind, mustChange);
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
  await assertAdminLeft(tx, user);
  return { before: user, after: row };
}

/** Answers what it removed. Throws `conflict` when no admin could log in afterwards. */
export async function dropUser(tx: Transaction, reference: string): Promise<UserRow> {
  await tx.numberUserChange();
  const user = await userIn(tx, reference);
  await tx.removeUser(user.id);
  await assertAdminLeft(tx, user);
  return user;
}

/** Asked after the change: what throws takes it back. */
async function assertAdminLeft(tx: Transaction, before: UserRow): Promise<void> {
  if (before.role !== 'admin' || before.disabled === 1) return;
  if ((await tx.countEnabledAdmins()) === 0)
    throw new AppError(
      'conflict',
      `user '${before.username}' is the last admin who can log in; make another one first`,
    );
}

function assertMayBeAsked(kind: UserRow['kind'], mustChange: boolean): void {
  if (kind === 'machine' && mustChange)
    throw invalidField('forcePasswordChange', 'must be false for a machine, which nobody can ask');
}
