import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage } from '../../storage/storage.ts';
import { SignInRefused } from './refusal.ts';

/** A sign-in that was sent to the provider, kept by the browser until it returns. */
const requestSchema = z.strictObject({
  issuer: z.string(),
  state: z.string(),
  nonce: z.string(),
  /** The PKCE code verifier (RFC 7636). */
  verifier: z.string(),
  returnTo: z.string(),
  /** Epoch ms. */
  endsAt: z.number(),
});
export type AuthorizationRequest = z.infer<typeof requestSchema>;

export const AUTHORIZATION_REQUEST_MS = 600_000;
const RANDOM_BYTES = 32;
const PLACE = 'cookie|sso';

/** Generates state, nonce and verifier. */
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

/** Seals it for the browser's cookie: the browser cannot read it, and the store keeps nothing for strangers. */
export const sealAuthorizationRequest = (
  request: AuthorizationRequest,
  keyRing: Pick<KeyRing, 'encrypt'>,
): string => keyRing.encrypt(JSON.stringify(request), PLACE);

/** Undefined for a text that this installation has not sealed. */
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
 * Opens the request that the browser brings back from the issuer. Each is accepted once, in whichever process it comes
 * back. Throws `SignInRefused`.
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

/** A path of this server as it is, `/` for anything else: a sign-in must not redirect to another site. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > LONGEST_PATH || MISREAD.test(text)) return '/';
  if (!text.startsWith('/') || text.startsWith('//') || !URL.canParse(text, SENTINEL)) return '/';
  const url = new URL(text, SENTINEL);
  const path = url.pathname + url.search + url.hash;
  // The parsed path may begin with two slashes again.
  return url.origin === SENTINEL && !path.startsWith('//') ? path : '/';
}
