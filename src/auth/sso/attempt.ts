import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { KeyRing } from '../../lib/keyring.ts';

/** A sign-in that has gone to the provider and is awaited back, by the browser that holds it. */
const schema = z.strictObject({
  issuer: z.string(),
  state: z.string(),
  nonce: z.string(),
  /** RFC 7636: what proves to the provider that whoever asks for the tokens has begun the sign-in. */
  verifier: z.string(),
  returnTo: z.string(),
  /** Epoch ms. */
  endsAt: z.number(),
});
export type Attempt = z.infer<typeof schema>;

export const ATTEMPT_MS = 600_000;
const RANDOM_BYTES = 32;
const PLACE = 'cookie|sso';

/** With values that nobody can guess. */
export function newAttempt(facts: { issuer: string; returnTo: string; now: number }): Attempt {
  const [state = '', nonce = '', verifier = ''] = Array.from({ length: 3 }, () =>
    randomBytes(RANDOM_BYTES).toString('base64url'),
  );
  const { issuer, returnTo, now } = facts;
  return { issuer, state, nonce, verifier, returnTo, endsAt: now + ATTEMPT_MS };
}

/** What the browser holds meanwhile: nothing it can read, and nothing the store has to keep for strangers. */
export const sealAttempt = (attempt: Attempt, keyRing: Pick<KeyRing, 'encrypt'>): string =>
  keyRing.encrypt(JSON.stringify(attempt), PLACE);

/** Undefined for what this installation has not sealed. */
export function openAttempt(sealed: string, keyRing: Pick<KeyRing, 'decrypt'>): Attempt | undefined {
  try {
    return schema.parse(JSON.parse(keyRing.decrypt(sealed, PLACE)));
  } catch {
    return undefined;
  }
}
