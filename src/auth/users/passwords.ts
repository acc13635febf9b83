import { randomBytes, randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import * as argon2 from '@node-rs/argon2';
import { createConcurrencyLimit } from '../../lib/concurrency.ts';
import { AppError } from '../../lib/errors.ts';

/** argon2id with the least cost that OWASP's password storage page allows (19 MiB, 2 passes, 1 thread). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
const LONGEST_CODE_POINTS = 256;
const RETRY_AFTER_SECONDS = 2;

/** Stands before the PHC string of a normalized password. A hash without it may be one of the text as it was sent. */
const NORMALIZED_MARK = 'nfc';
/** Code units of one code point before normalization: at most four of two units each become one. */
const MOST_UNITS = 8;

export interface Passwords {
  /**
   * A marked PHC string of the normalized password: its spelling does not matter at a later login. Throws `unavailable`
   * when too many hashes are waiting.
   */
  hash(password: string): Promise<string>;
  /**
   * False for an unknown user (`hash` undefined) too, at the same cost. A hash without the mark is right for the
   * password as it was sent as well. Throws `unavailable` like `hash`.
   */
  verify(password: string, hash: string | undefined): Promise<boolean>;
  /** True for a hash that was made at a lower cost than the present one, or before passwords were normalized. */
  isOutdated(hash: string): boolean;
}

/**
 * The one spelling of a password: keyboards and systems write the same letters composed or in parts (NFC; NIST SP
 * 800-63B-4 section 3.1.1.2). It is trimmed nowhere, and stays as it is in everything else.
 */
export const normalizedPassword = (password: string): string => password.normalize('NFC');

/** A presented password must be 1 to 256 code points once it is normalized; no other rule applies to it. */
export const isPasswordLength = (password: string): boolean =>
  password !== '' &&
  password.length <= MOST_UNITS * LONGEST_CODE_POINTS &&
  isAtMost(normalizedPassword(password), LONGEST_CODE_POINTS);

/** Counts code points no further than needed. */
export const isAtMost = (text: string, count: number): boolean =>
  text.length <= 2 * count && [...text].length <= count;

/**
 * At most `concurrent` hashes run and `waiting` wait: each takes 19 MiB and a whole core, so a flood of logins may
 * neither eat the memory nor the core that serves everybody else.
 */
export function createPasswords(
  limits: { concurrent: number; waiting: number } = {
    concurrent: Math.max(1, availableParallelism() - 1),
    waiting: 32,
  },
): Passwords {
  const withPermit = createConcurrencyLimit({
    ...limits,
    refuse: () =>
      new AppError('unavailable', 'Too many logins at once; try again shortly', {
        isForCaller: true,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  });
  const dummyHash = makeDummyHash();

  /** A password that is not normalized costs two hashes, whatever hash there is: the time must not reveal the kind. */
  async function verify(password: string, known: string | undefined): Promise<boolean> {
    const { hash, isMarked } = known === undefined ? { hash: dummyHash, isMarked: true } : unmarked(known);
    const normalized = normalizedPassword(password);
    const isRight = await argon2.verify(hash, normalized);
    if (normalized === password) return isRight;
    const isRawRight = await argon2.verify(isMarked ? dummyHash : hash, password);
    return isRight || isRawRight;
  }

  return {
    hash: password =>
      withPermit(async () => NORMALIZED_MARK + (await argon2.hash(normalizedPassword(password), COST))),
    verify: (password, hash) => withPermit(() => verify(password, hash)),
    isOutdated: known => {
      const { hash, isMarked } = unmarked(known);
      return !isMarked || !isCurrentCost(hash);
    },
  };
}

/** The PHC string of a stored hash, and whether its password was normalized. */
function unmarked(stored: string): { readonly hash: string; readonly isMarked: boolean } {
  const isMarked = stored.startsWith(NORMALIZED_MARK);
  return { hash: isMarked ? stored.slice(NORMALIZED_MARK.length) : stored, isMarked };
}

function isCurrentCost(hash: string): boolean {
  const [memory, time, threads] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$/.exec(hash)?.slice(1).map(Number) ?? [];
  const { memoryCost, timeCost, parallelism } = COST;
  return (memory ?? 0) >= memoryCost && (time ?? 0) >= timeCost && (threads ?? 0) >= parallelism;
}

/** A hash of the same cost that matches no password: its digest is random. */
function makeDummyHash(): string {
  const [salt, digest] = [16, 32].map(bytes => randomBytes(bytes).toString('base64').replace(/=+$/, ''));
  return `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${salt}$${digest}`;
}

/** 100 bits in four groups, without letters and digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 5;

/** A one-time password that is easy to type off a screen. */
export const generatePassword = (): string => Array.from({ length: GROUPS }, group).join('-');

const group = (): string =>
  Array.from({ length: GROUP_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
