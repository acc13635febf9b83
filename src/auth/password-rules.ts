import { isCommonPassword } from './common-passwords.ts';
import { isAtMost, isPasswordLength } from './passwords.ts';
import { invalidField } from './users.ts';

/** NIST SP 800-63B-4: 15 characters where the password is the only factor. */
export const SHORTEST_PASSWORD = 15;
/** Shorter names are in many words by chance. */
const SHORTEST_NAME = 3;

/**
 * Throws `invalid-request` unless it may become a password: 15 to 256 code points, none of the common ones, without
 * the user's name in it. What it is composed of does not matter (NIST SP 800-63B-4 section 3.1.1.2).
 */
export function assertGoodPassword(password: string, username: string): void {
  if (/\p{Surrogate}/u.test(password)) throw invalidField('password', 'must be well-formed Unicode text');
  if (isAtMost(password, SHORTEST_PASSWORD - 1))
    throw invalidField('password', `must be at least ${SHORTEST_PASSWORD} characters`);
  if (!isPasswordLength(password)) throw invalidField('password', 'must be at most 256 characters');
  if (nameOf(username).some(name => password.normalize('NFC').toLowerCase().includes(name)))
    throw invalidField('password', 'must not contain the user name');
  if (isCommonPassword(password))
    throw invalidField('password', 'is too common: it is made of what is tried first; choose another one');
}

/** Of an address the part before the mark as well. */
const nameOf = (username: string): string[] =>
  [username, username.split('@', 1)[0] ?? ''].filter(name => name.length >= SHORTEST_NAME);
