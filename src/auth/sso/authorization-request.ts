import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage } from '../../storage/storage.ts';
import { SignInRefused } from './refusal.ts';

/** A sign-in that has gone to the provider and is awaited back, by the browser that holds it. */
const requestSchema = z.strictObject({
  issuer: z.string(),
  state: z.string(),
  nonce: z.string(),
  /** RFC 7636: what proves to the provider that whoever asks for the tokens has begun the sign-in. */
  verifier: z.string(),
  returnTo: z.string(),
  /** Epoch ms. */
  endsAt: z.number(),
});
export type AuthorizationRequest = z.infer<typeof requestSchema>;

export const AUTHORIZATION_REQUEST_MS = 600_000;
const RANDOM_BYTES = 32;
const PLACE = 'cookie|sso';

/** With values that nobody can guess. */
export function newAuthorizationRequest(facts: {
  issuer: string;
  returnTo: string;
  now: number;
}): AuthorizationRequest {
  const [state = '', nonce = '', verifier = ''] = Array.from({ length: 3 }, () =>
    randomBytes(RANDOM_BYTES).toString('base64url'),
  );
  const { issuer, returnTo, now } = facts;
  return { issuer, state, nonce, verifier, returnTo, endsAt: now + AUTHORIZATION_REQUEST_MS };
}

/** What the browser holds meanwhile: nothing it can read, and nothing the store has to keep for strangers. */
export const sealAuthorizationRequest = (
  request: AuthorizationRequest,
  keyRing: Pick<KeyRing, 'encrypt'>,
): string => keyRing.encrypt(JSON.stringify(request), PLACE);

/** Undefined for what this installation has not sealed. */
function unsealAuthorizationRequest(
  sealed: string,
  keyRing: Pick<KeyRing, 'decrypt'>,
): AuthorizationRequest | undefined {
  try {
    return requestSchema.parse(JSON.parse(keyRing.decrypt(sealed, PLACE)));
  } catch {
    return undefined;
  }
}

/**
 * The sign-in that comes back in the browser that has begun it with the issuer: each counts once, in whichever process
 * it comes back. Throws `SignInRefused`.
 */
export async function consumeAuthorizationRequest(
  given: { readonly search: string; readonly cookie: string | undefined; readonly issuer: string },
  {
    storage,
    keyRing,
    clock,
  }: {
    readonly storage: Pick<Storage, 'transaction'>;
    readonly keyRing: Pick<KeyRing, 'decrypt'>;
    readonly clock: Pick<Clock, 'now'>;
  },
): Promise<AuthorizationRequest> {
  const { search, cookie, issuer } = given;
  const request = cookie === undefined ? undefined : unsealAuthorizationRequest(cookie, keyRing);
  const state = new URLSearchParams(search).get('state') ?? '';
  const isValid =
    request !== undefined &&
    request.issuer === issuer &&
    request.endsAt > clock.now() &&
    isSameDigest(digestOf(request.state), digestOf(state));
  if (!isValid) throw new SignInRefused('expired');
  const id = createHash('sha256').update(request.state).digest('base64url');
  const isFirst = await storage.transaction(tx => tx.consumeLoginState(id, request.endsAt));
  if (!isFirst) throw new SignInRefused('expired');
  return request;
}

const SENTINEL = 'http://headgate.invalid';
const LONGEST_PATH = 1024;
/** Control characters, which browsers drop, and backslashes, which they read as slashes. */
const MISREAD = /[\p{Cc}\\]/u;

/** A path of this very server that was asked for, `/` for anything else: nobody may be led elsewhere by a sign-in. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > LONGEST_PATH || MISREAD.test(text)) return '/';
  if (!text.startsWith('/') || text.startsWith('//') || !URL.canParse(text, SENTINEL)) return '/';
  const url = new URL(text, SENTINEL);
  const path = url.pathname + url.search + url.hash;
  // What the parser resolves may begin with two slashes again.
  return url.origin === SENTINEL && !path.startsWith('//') ? path : '/';
}
