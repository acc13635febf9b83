import { isAtMost, isPasswordLength, normalizedPassword } from './passwords.ts';
import { invalidField } from './user.ts';

/** NIST SP 800-63B-4: 15 characters where the password is the only factor. */
export const SHORTEST_PASSWORD = 15;

/** Counts code points of the normalized password. */
export const isShortPassword = (password: string): boolean =>
  isAtMost(normalizedPassword(password), SHORTEST_PASSWORD - 1);

/** Shorter names occur in many words by chance. */
const SHORTEST_NAME = 3;

/**
 * Throws `invalid-request` unless it may become a password: 15 to 256 code points when normalized, none of the common ones, without
 * the user's name in it. Its composition does not matter (NIST SP 800-63B-4 section 3.1.1.2).
 */
export function assertGoodPassword(password: string, username: string): void {
  if (/\p{Surrogate}/u.test(password)) throw invalidField('password', 'must be well-formed Unicode text');
  // The length comes first: a long text is not worth normalizing.
  if (password !== '' && !isPasswordLength(password))
    throw invalidField('password', 'must be at most 256 characters');
  if (isShortPassword(password))
    throw invalidField('password', `must be at least ${SHORTEST_PASSWORD} characters`);
  if (nameOf(username).some(name => normalizedPassword(password).toLowerCase().includes(name)))
    throw invalidField('password', 'must not contain the user name');
  if (isCommonPassword(password))
    throw invalidField('password', 'is too common: it is made of what is tried first; choose another one');
}

/** The name, and for an e-mail address the part before the @ as well. */
const nameOf = (username: string): string[] =>
  [username, username.split('@', 1)[0] ?? ''].filter(name => name.length >= SHORTEST_NAME);

/**
 * True for a password that attackers try first. A list of whole passwords says little about ones of 15 characters:
 * hardly any in public lists is so long. People lengthen a common one instead, so this holds the pieces such passwords
 * are made of, and the rule how they are put together: words followed by digits and years, in capitals, with letters
 * written as digits, runs over the keyboard, the alphabet or the digits, and one piece repeated. A text of nothing but
 * up to three different pieces is common; so the words here, with their endings, stand for millions of passwords.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.normalize('NFKC').toLowerCase();
  const bare = text.replaceAll(FILLING, '');
  return new Set(bare).size <= MOST_PIECES || isRepeated(bare) || fewestPieces(text) <= MOST_PIECES;
}

const MOST_PIECES = 3;
/** A longer piece is examined in parts. */
const LONGEST_PIECE = 32;
const SHORTEST_RUN = 3;

/** Separators between pieces, which make guessing no harder; signs of other scripts are none. */
const FILLING = /[\s!-/:-@[-`{-~]/g;

const WRITTEN_AS: ReadonlyMap<string, string> = new Map([
  ['0', 'o'],
  ['1', 'i'],
  ['3', 'e'],
  ['4', 'a'],
  ['5', 's'],
  ['7', 't'],
  ['8', 'b'],
  ['@', 'a'],
  ['$', 's'],
  ['!', 'i'],
  ['+', 't'],
]);

const PRODUCT =
  'headgate pipeline vector syslog rsyslog fluentbit otel collector notification webhook control plane';
const WORK = `password passwort passwd pass word admin administrator root user username guest login logon signin welcome
  letmein changeme change secret private access security secure system server service account database network
  computer internet company office default temp temporary test testing tester demo example sample master super
  operator manager support backup production staging development local public`;
const LIFE = `dragon monkey shadow sunshine princess football baseball basketball hockey soccer superman batman
  starwars iloveyou love lovely trustno hello hallo freedom whatever michael jordan hunter killer thomas robert daniel
  andrew charlie jessica ashley michelle jennifer summer winter spring autumn flower cookie cheese orange banana
  chocolate purple yellow silver golden diamond angel ginger pepper tiger mustang harley maggie buster butterfly
  liverpool chelsea arsenal pokemon samsung google facebook linkedin ninja phoenix matrix merlin money family`;
const TIME = `january february march april may june july august september october november december monday tuesday
  wednesday thursday friday saturday sunday today tomorrow`;
const SMALL = 'the and for you your my our is it this that with to of in on at new i a me';

const WORDS: ReadonlySet<string> = new Set([PRODUCT, WORK, LIFE, TIME].flatMap(text => text.split(/\s+/)));

const FILLERS: ReadonlySet<string> = new Set(SMALL.split(' '));

/** Neighbours on a keyboard, in the alphabet and among digits; runs go either way. */
const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'qsdfghjklm',
  'zxcvbnm',
  'yxcvbnm',
  '1q2w3e4r5t6y7u8i9o0p',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
  'qazwsxedcrfvtgbyhnujm',
].flatMap(row => [row, [...row].reverse().join('')]);

const isRepeated = (text: string): boolean => /^(.+?)\1+$/u.test(text);

/** How many pieces cover the text, infinite when none do. One that comes again right behind itself counts once. */
function fewestPieces(text: string): number {
  const fewest: number[] = [0];
  const ends: string[] = [''];
  for (let end = 1; end <= text.length; end++) {
    fewest[end] = Number.POSITIVE_INFINITY;
    for (let start = Math.max(0, end - LONGEST_PIECE); start < end; start++) {
      const piece = text.slice(start, end);
      const count = (fewest[start] ?? 0) + (ends[start] === piece ? 0 : costOf(piece));
      if (count >= (fewest[end] ?? 0)) continue;
      fewest[end] = count;
      ends[end] = piece;
    }
  }
  return fewest[text.length] ?? Number.POSITIVE_INFINITY;
}

/** The cost of a piece: 0 for a filler, infinite for a text that is no known piece. */
function costOf(text: string): number {
  if (FILLERS.has(text) || /^[\s!-/:-@[-`{-~]$/.test(text)) return 0;
  const spelled = [...text].map(character => WRITTEN_AS.get(character) ?? character).join('');
  if (WORDS.has(text) || WORDS.has(spelled) || /^\d{1,8}$/.test(text) || /^(.)\1*$/u.test(text)) return 1;
  const isRun = text.length >= SHORTEST_RUN && ROWS.some(row => row.includes(text));
  return isRun ? 1 : Number.POSITIVE_INFINITY;
}
