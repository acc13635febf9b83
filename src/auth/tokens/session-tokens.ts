import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { createJwts, epochSeconds, type Verification } from './jwt.ts';
import { MAX_TOKEN_TTL_SECONDS, type TokenKeys } from './keys.ts';

const AUDIENCE = 'headgate-api';

/** The claims of a token. Permissions are looked up at each call and are never part of it. */
interface SessionClaims {
  readonly iss: string;
  readonly aud: string;
  /** The user's id. */
  readonly sub: string;
  /** Seconds since the epoch. */
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  /** The number of the change that last ended the user's tokens: a token with another number has ended. */
  readonly ver: number;
  /** Id of the browser's session with which the token ends. */
  readonly sid?: string | undefined;
}

/** Tokens of users who signed in at this server. */
export interface SessionTokens {
  /** Issues a token that is valid for `ttlSeconds`, at most MAX_TOKEN_TTL_SECONDS, and no longer than `session`. */
  issue(subject: string, ttlSeconds: number, version: number, session?: string): Promise<string>;
  /** Never throws for a bad token. */
  verify(token: string): Promise<Verification<SessionClaims>>;
}

export function createSessionTokens(options: { keys: TokenKeys; clock: Clock; ids: Ids }): SessionTokens {
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
  const jwts = createJwts<SessionClaims>(
    { types: ['session+jwt'], claims: claimsSchema, longestSeconds: MAX_TOKEN_TTL_SECONDS },
    { keys, clock },
  );

  return {
    async issue(subject, ttlSeconds, version, session) {
      const iat = epochSeconds(clock);
      const exp = iat + Math.min(ttlSeconds, MAX_TOKEN_TTL_SECONDS);
      return jwts.sign({
        ...{ iss: issuer, aud: AUDIENCE, sub: subject, iat, exp, jti: ids.next(), ver: version },
        ...(session !== undefined && { sid: session }),
      });
    },
    verify: jwts.verify,
  };
}
