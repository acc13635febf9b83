import { randomBytes, randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import * as argon2 from '@node-rs/argon2';
import { AppError } from '../../lib/errors.ts';

/** argon2id with the least cost that OWASP's password storage page allows (19 MiB, 2 passes, 1 thread). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
const LONGEST_CODE_POINTS = 256;
const RETRY_AFTER_SECONDS = 2;

export interface Passwords {
  /** A PHC string. Throws `unavailable` when too many hashes are waiting. */
  hash(password: string): Promise<string>;
  /** False for an unknown user (`hash` undefined) too, at the same cost. Throws `unavailable` like `hash`. */
  verify(password: string, hash: string | undefined): Promise<boolean>;
  /** True for a hash that was made at a lower cost than the present one. */
  isOutdated(hash: string): boolean;
}

/** A presented password must be 1 to 256 code points; no other rule applies to it. */
export const isPasswordLength = (password: string): boolean =>
  password !== '' && isAtMost(password, LONGEST_CODE_POINTS);

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
  const withPermit = createConcurrencyLimit(limits);
  const dummyHash = makeDummyHash();
  return {
    hash: password => withPermit(() => argon2.hash(password, COST)),
    verify: (password, hash) => withPermit(() => argon2.verify(hash ?? dummyHash, password)),
    isOutdated: hash => !isCurrentCost(hash),
  };
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

function createConcurrencyLimit(limits: { concurrent: number; waiting: number }) {
  let running = 0;
  const queue: (() => void)[] = [];

  async function acquire(): Promise<void> {
    if (running < limits.concurrent) {
      running += 1;
      return;
    }
    if (queue.length >= limits.waiting)
      throw new AppError('unavailable', 'Too many logins at once; try again shortly', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    await new Promise<void>(resolve => queue.push(resolve));
  }

  /** Hands the permit to the next one waiting without freeing it, so that no other call can take it. */
  function release(): void {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await acquire();
    try {
      return await work();
    } finally {
      release();
    }
  };
}

/** 100 bits in four groups, without letters and digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 5;

/** A one-time password that is easy to type off a screen. */
export const generatePassword = (): string => Array.from({ length: GROUPS }, group).join('-');

const group = (): string =>
  Array.from({ length: GROUP_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
