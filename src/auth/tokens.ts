import { hash } from 'node:crypto';
import { CompactSign, compactVerify } from 'jose';
import * as z from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { createLru } from '../lib/lru.ts';
import { asciiJson } from './ascii-json.ts';
import type { TokenKeys, VerifyingKey } from './keys.ts';
import { MAX_TOKEN_TTL_SECONDS } from './token-ttl.ts';

const TYPE = 'session+jwt';
const AUDIENCE = 'headgate-api';
const LONGEST_TOKEN = 4096;
/** How far in the future a token may have been issued: the clock may have been set back since. */
const MOST_AHEAD_SECONDS = 60;
const REMEMBERED_TOKENS = 10_000;

/** What a token says. Permissions are looked up at each call and never stand in it. */
interface Claims {
  readonly iss: string;
  readonly aud: string;
  /** The user's id. */
  readonly sub: string;
  /** Seconds since the epoch. */
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  /** The number of the change that last ended the user's tokens: one of another number is over. */
  readonly ver: number;
  /** Id of the browser's session with which the token ends. */
  readonly sid?: string | undefined;
}

type TokenRefusal = 'malformed' | 'unknown-key' | 'bad-signature' | 'wrong-claims' | 'expired';
type Verification =
  | { readonly kind: 'valid'; readonly claims: Claims }
  | { readonly kind: 'refused'; readonly reason: TokenRefusal };

export interface Tokens {
  /** A signed token (RFC 7519) that lives `ttlSeconds`, at most MAX_TOKEN_TTL_SECONDS, and no longer than `session`. */
  issue(subject: string, ttlSeconds: number, version: number, session?: string): Promise<string>;
  /** Never throws for a bad token. Accepts nothing that `issue` would not have written (RFC 8725). */
  verify(token: string): Promise<Verification>;
}

const SEGMENT = /^[A-Za-z0-9_-]+$/;
const headerSchema = z.strictObject({
  alg: z.string(),
  typ: z.literal(TYPE),
  kid: z.string().min(1).max(64),
});

const refused = (reason: TokenRefusal): Verification => ({ kind: 'refused', reason });

export function createTokens(options: { keys: TokenKeys; clock: Clock; ids: Ids }): Tokens {
  const { keys, clock, ids } = options;
  const issuer = `headgate:${keys.instanceId}`;
  const claimsSchema = z.strictObject({
    iss: z.literal(issuer),
    aud: z.literal(AUDIENCE),
    sub: z.string().min(1),
    iat: z.int().positive(),
    exp: z.int().positive(),
    jti: z.string().min(1),
    ver: z.int().nonnegative(),
    sid: z.string().min(1).optional(),
  });
  /** By SHA-256 of the whole token: nothing shorter stands for it. */
  const verified = createLru<string, { readonly kid: string; readonly claims: Claims }>(REMEMBERED_TOKENS);
  const nowSeconds = (): number => Math.floor(clock.now() / 1000);

  function judgeTimes(claims: Claims): Verification {
    const now = nowSeconds();
    const lifetime = claims.exp - claims.iat;
    if (lifetime <= 0 || lifetime > MAX_TOKEN_TTL_SECONDS) return refused('wrong-claims');
    if (claims.iat > now + MOST_AHEAD_SECONDS) return refused('wrong-claims');
    return claims.exp <= now ? refused('expired') : { kind: 'valid', claims };
  }

  return {
    async issue(subject, ttlSeconds, version, session) {
      const iat = nowSeconds();
      const exp = iat + Math.min(ttlSeconds, MAX_TOKEN_TTL_SECONDS);
      const claims = {
        ...{ iss: issuer, aud: AUDIENCE, sub: subject, iat, exp, jti: ids.next(), ver: version },
        ...(session !== undefined && { sid: session }),
      };
      const { algorithm, kid, privateKey } = keys.signing;
      return await new CompactSign(Buffer.from(asciiJson(claims)))
        .setProtectedHeader({ alg: algorithm, typ: TYPE, kid })
        .sign(privateKey);
    },

    async verify(token) {
      if (token.length > LONGEST_TOKEN) return refused('malformed');
      const digest = hash('sha256', token, 'base64');
      const remembered = verified.get(digest);
      if (remembered !== undefined)
        return keys.verifying.has(remembered.kid) ? judgeTimes(remembered.claims) : refused('unknown-key');

      const header = headerSchema.safeParse(readHeader(token));
      if (!header.success) return refused('malformed');
      const key = keys.verifying.get(header.data.kid);
      if (key === undefined || key.algorithm !== header.data.alg) return refused('unknown-key');
      const payload = await readSigned(token, key);
      if (payload === undefined) return refused('bad-signature');
      const claims = claimsSchema.safeParse(parseJson(payload));
      if (!claims.success) return refused('wrong-claims');
      const verdict = judgeTimes(claims.data);
      if (verdict.kind === 'valid') verified.set(digest, { kid: key.kid, claims: claims.data });
      return verdict;
    },
  };
}

/** The header as JSON, undefined unless the token is three segments of canonical base64url. */
function readHeader(token: string): unknown {
  const segments = token.split('.', 4);
  if (segments.length !== 3 || !segments.every(isCanonical)) return undefined;
  return parseJson(Buffer.from(segments[0] ?? '', 'base64url'));
}

/** The unused bits of a last letter could be anything, which would give one token many spellings. */
const isCanonical = (segment: string): boolean =>
  SEGMENT.test(segment) && Buffer.from(segment, 'base64url').toString('base64url') === segment;

async function readSigned(token: string, key: VerifyingKey): Promise<Uint8Array | undefined> {
  try {
    return (await compactVerify(token, key.publicKey, { algorithms: [key.algorithm] })).payload;
  } catch {
    return undefined;
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
