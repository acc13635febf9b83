import { hash, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { compactVerify } from 'jose';
import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { parseJsonBytes } from '../../lib/json.ts';
import { createLru } from '../../lib/lru.ts';
import type { Algorithm } from './algorithms.ts';
import type { TokenKeys, VerifyingKey } from './keys.ts';

const LONGEST_TOKEN = 4096;
/** How far in the future a token may have been issued: the clock may have been set back since. */
const MOST_AHEAD_SECONDS = 60;
const REMEMBERED_TOKENS = 10_000;

/** The claims of every token; times are seconds since the epoch. */
export interface TimedClaims {
  readonly iat: number;
  readonly exp: number;
}

/**
 * A kind of token. Two kinds share no type, so that one never passes for the other (RFC 8725, section 3.11).
 */
export interface JwtProfile<Claims extends TimedClaims> {
  /** Accepted values of the header's `typ`; the first is written. */
  readonly types: readonly [string, ...string[]];
  /** Accepts exactly the claims that are written. */
  readonly claims: z.ZodType<Claims>;
  readonly longestSeconds: number;
}

type VerificationFailure = 'malformed' | 'unknown-key' | 'bad-signature' | 'wrong-claims' | 'expired';
export type Verification<Claims> =
  | { readonly kind: 'valid'; readonly claims: Claims }
  | { readonly kind: 'refused'; readonly reason: VerificationFailure };

/** Signs and verifies tokens (RFC 7519) of one kind. */
export interface Jwts<Claims extends TimedClaims> {
  sign(claims: Claims): Promise<string>;
  /** Never throws for a bad token. Accepts nothing that `sign` would not have written (RFC 8725). */
  readonly verify: (token: string) => Promise<Verification<Claims>>;
}

/** Both algorithms sign this digest; the signature of ES256 is its two numbers, one after the other (RFC 7518, section 3.4). */
const DIGEST = 'sha256';
const DSA_ENCODING = 'ieee-p1363';

/** On Node's thread pool. */
const signAsync = promisify(sign);

const SEGMENT = /^[A-Za-z0-9_-]+$/;

const refused = (
  reason: VerificationFailure,
): { readonly kind: 'refused'; readonly reason: VerificationFailure } => ({
  kind: 'refused',
  reason,
});

export function createJwts<Claims extends TimedClaims>(
  profile: JwtProfile<Claims>,
  { keys, clock }: { readonly keys: TokenKeys; readonly clock: Pick<Clock, 'now'> },
): Jwts<Claims> {
  const headerSchema = z.strictObject({
    alg: z.string(),
    typ: z.enum(profile.types),
    kid: z.string().min(1).max(64),
  });
  /** By SHA-256 of the whole token: no part of it identifies it. */
  const verified = createLru<string, { readonly kid: string; readonly claims: Claims }>(REMEMBERED_TOKENS);

  function validateTimes(claims: Claims): Verification<Claims> {
    const now = epochSeconds(clock);
    const lifetime = claims.exp - claims.iat;
    if (lifetime <= 0 || lifetime > profile.longestSeconds) return refused('wrong-claims');
    if (claims.iat > now + MOST_AHEAD_SECONDS) return refused('wrong-claims');
    return claims.exp <= now ? refused('expired') : { kind: 'valid', claims };
  }

  return {
    async sign(claims) {
      const { algorithm, kid, privateKey } = keys.signing;
      const header = base64url(JSON.stringify({ alg: algorithm, typ: profile.types[0], kid }));
      const signed = `${header}.${base64url(asciiJson(claims))}`;
      const signature = await signatureOf(signed, algorithm, privateKey);
      return `${signed}.${signature.toString('base64url')}`;
    },

    async verify(token) {
      if (token.length > LONGEST_TOKEN) return refused('malformed');
      const digest = hash('sha256', token, 'base64');
      const remembered = verified.get(digest);
      if (remembered !== undefined)
        return keys.verifying.has(remembered.kid) ? validateTimes(remembered.claims) : refused('unknown-key');

      const header = headerSchema.safeParse(tokenHeader(token));
      if (!header.success) return refused('malformed');
      if (!keys.verifying.has(header.data.kid)) await keys.refresh();
      const key = keys.verifying.get(header.data.kid);
      if (key === undefined || key.algorithm !== header.data.alg) return refused('unknown-key');
      const payload = await verifySignature(token, key);
      if (payload === undefined) return refused('bad-signature');
      const claims = profile.claims.safeParse(readPart(payload));
      if (!claims.success) return refused('wrong-claims');
      const verdict = validateTimes(claims.data);
      if (verdict.kind === 'valid') verified.set(digest, { kid: key.kid, claims: claims.data });
      return verdict;
    },
  };
}

/**
 * Signing by Web Crypto, as jose does, costs as much again as an ES256 signature itself. Waking another thread does so,
 * too: only RS256, which takes ten times as long, goes there.
 */
function signatureOf(text: string, algorithm: Algorithm, key: KeyObject): Buffer | Promise<Buffer> {
  const [data, input] = [Buffer.from(text), { key, dsaEncoding: DSA_ENCODING } as const];
  return algorithm === 'ES256' ? sign(DIGEST, data, input) : signAsync(DIGEST, data, input);
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

export const epochSeconds = (clock: Pick<Clock, 'now'>): number => Math.floor(clock.now() / 1000);

/** Undefined unless the token is three segments of canonical base64url. */
function segmentsOf(token: string): readonly [string, string, string] | undefined {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.', 4);
  const segments = [header, payload, signature] as const;
  return rest.length === 0 && segments.every(isCanonical) ? segments : undefined;
}

/** The header, read without a check of the signature; undefined unless it is JSON that has one meaning. */
export function tokenHeader(token: string): unknown {
  const segments = segmentsOf(token);
  return segments && readPart(Buffer.from(segments[0], 'base64url'));
}

const issuedClaims = z.looseObject({ iss: z.url() });

/** The issuer of a token whose signature was checked when it came; undefined for anything but an address. */
export function issuerOf(token: string): string | undefined {
  const claims = issuedClaims.safeParse(tokenClaims(token));
  return claims.success ? claims.data.iss : undefined;
}

/** The claims as `tokenHeader`. */
function tokenClaims(token: string): unknown {
  const segments = segmentsOf(token);
  return segments && readPart(Buffer.from(segments[1], 'base64url'));
}

/**
 * True when header and claims are JSON that every reader understands alike. Libraries keep the last of two members of
 * one name (RFC 7519 section 4; RFC 8725 section 2.6).
 */
export const isUnambiguousToken = (token: string): boolean =>
  tokenHeader(token) !== undefined && tokenClaims(token) !== undefined;

/** Refuses unused bits in the last letter, which would give one token many spellings. */
const isCanonical = (segment: string): boolean =>
  SEGMENT.test(segment) && Buffer.from(segment, 'base64url').toString('base64url') === segment;

async function verifySignature(token: string, key: VerifyingKey): Promise<Uint8Array | undefined> {
  try {
    return (await compactVerify(token, key.publicKey, { algorithms: [key.algorithm] })).payload;
  } catch {
    return undefined;
  }
}

function readPart(bytes: Uint8Array): unknown {
  try {
    return parseJsonBytes(bytes);
  } catch {
    return undefined;
  }
}

const UNSAFE = /[^ -=@-}]/g;

/**
 * JSON whose base64url holds neither `-` nor `_`, so that callers who decode a token's payload with plain base64
 * (`atob`) can. Those two letters stand for the six bits 62 and 63, which ASCII text yields only where a byte ends
 * in them: `>`, `?`, `~` and DEL. They and all that is not ASCII are written as `\uXXXX`.
 */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * `/auth/login` returns a token that begins with `Bearer`, so documented callers send the word twice, which RFC 6750
 * does not allow. One repeat is accepted, never more.
 */
const BEARER = /^Bearer[ \t]+(?:Bearer[ \t]+)?([A-Za-z0-9_.-]{16,4096})$/i;

/** The bare token of an Authorization header, undefined when the header does not carry one. */
export function bearerToken(authorization: string): string | undefined {
  return BEARER.exec(authorization)?.[1];
}

/** Remedies that name the place where this kind of token comes from. */
interface TokenRemedies {
  readonly missing: string;
  readonly invalid: string;
}

/** The claims of the token in an Authorization header. Throws `unauthenticated`, naming the remedy. */
export async function verifyBearer<Claims>(
  authorization: string | undefined,
  tokens: { verify(token: string): Promise<Verification<Claims>> },
  { missing, invalid }: TokenRemedies,
): Promise<Claims> {
  if (authorization === undefined)
    throw unauthenticated(`No token was sent; ${missing} and send "Authorization: Bearer <token>"`);
  const token = bearerToken(authorization);
  if (token === undefined)
    throw unauthenticated('The Authorization header is not of the form "Bearer <token>"');
  const verified = await tokens.verify(token);
  if (verified.kind === 'valid') return verified.claims;
  throw unauthenticated(
    verified.reason === 'expired'
      ? `The token has expired; ${invalid}`
      : `The token is not valid here; ${invalid}`,
  );
}

export const unauthenticated = (message: string): AppError => new AppError('unauthenticated', message);
