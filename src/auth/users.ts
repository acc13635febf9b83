import { AppError } from '../lib/errors.ts';

const LONGEST_USERNAME = 254;
/** Control characters and halves of a surrogate pair: never part of a name, and they garble a log. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

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

const invalidField = (path: string, message: string): AppError =>
  new AppError('invalid-request', `${path} ${message}`, { problems: [{ path, message }] });
