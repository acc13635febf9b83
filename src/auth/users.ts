import { AppError } from '../lib/errors.ts';
import type { UserRow } from '../storage/storage.ts';
import { isRole, type Role } from './permissions.ts';

const LONGEST_USERNAME = 254;
/** Control characters and halves of a surrogate pair: never part of a name, and they garble a log. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/** What may be told of a user; never the password or its hash. Times are epoch ms. */
export interface UserFacts {
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
export const factsOf = (row: UserRow): UserFacts => ({
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

/** A user as the store first has them: a person about whom nothing is known but what is given. */
export const newUserRow = (
  facts: Pick<UserRow, 'id' | 'username' | 'password' | 'role' | 'created_at' | 'version'> & Partial<UserRow>,
): UserRow => ({
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

/** Of the user's password; undefined for whoever has none here. */
export const hashOf = ({ password }: Pick<UserRow, 'password'>): string | undefined =>
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
