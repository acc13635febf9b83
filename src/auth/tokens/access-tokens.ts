import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../../storage/tables.ts';
import { createJwts, epochSeconds, type Verification } from './jwt.ts';
import type { TokenKeys } from './keys.ts';

/** The lifetime that the public contract of the hosted deployment promises. */
export const ACCESS_TOKEN_SECONDS = 86_400;
/** The client id in tokens of members, who use no client of their own. */
const NO_CLIENT = 'headgate';

/** The claims of an access token (RFC 9068, section 2.2). Permissions are looked up at each call. */
export interface AccessClaims {
  /** `hosted.authUrl`. */
  readonly iss: string;
  /** One of `hosted.audience`. */
  readonly aud: string;
  /** Client id of a credential, or id of a member's user. */
  readonly sub: string;
  readonly client_id: string;
  /** Seconds since the epoch. */
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  /** The permissions granted at issue, as `user:<action>:<resource>`. */
  readonly scope: string;
  readonly org: string;
  readonly role: OrganizationRole;
  /** The number of the change that last ended the subject's tokens: a token with another number has ended. */
  readonly cv: number;
  /** The scope is less than could have been granted, and therefore limits the token whatever roles change. */
  readonly narrow?: true | undefined;
}

interface AccessTokenGrant {
  readonly kind: 'credential' | 'member';
  /** Client id or user id. */
  readonly subject: string;
  readonly version: number;
  readonly audience: string;
  readonly organization: string;
  readonly role: OrganizationRole;
  readonly scope: string;
  readonly isNarrow: boolean;
  /** At most ACCESS_TOKEN_SECONDS. */
  readonly ttlSeconds: number;
}

/** Tokens of programs and members of the hosted deployment, which the login service signs and every server accepts. */
export interface AccessTokens {
  issue(grant: AccessTokenGrant): Promise<string>;
  /** Never throws for a bad token. */
  verify(token: string): Promise<Verification<AccessClaims>>;
}

export const subjectKindOf = ({
  sub,
  client_id,
}: Pick<AccessClaims, 'sub' | 'client_id'>): AccessTokenGrant['kind'] =>
  sub === client_id ? 'credential' : 'member';

export function createAccessTokens(options: {
  keys: TokenKeys;
  clock: Pick<Clock, 'now'>;
  ids: Ids;
  issuer: string;
  audience: readonly string[];
}): AccessTokens {
  const { keys, clock, ids, issuer, audience } = options;
  const claims = z
    .strictObject({
      iss: z.literal(issuer),
      aud: z.string().refine(aud => audience.includes(aud)),
      sub: z.string().min(1),
      client_id: z.string().min(1),
      iat: z.int().positive(),
      exp: z.int().positive(),
      jti: z.string().min(1),
      scope: z.string(),
      org: z.string().min(1),
      role: z.enum(ORGANIZATION_ROLES),
      cv: z.int().nonnegative(),
      narrow: z.literal(true).optional(),
    })
    .refine(({ client_id, sub }) => client_id === sub || client_id === NO_CLIENT);
  const jwts = createJwts<AccessClaims>(
    { types: ['at+jwt', 'application/at+jwt'], claims, longestSeconds: ACCESS_TOKEN_SECONDS },
    { keys, clock },
  );
  return {
    issue({ kind, subject, version, audience: aud, organization, role, scope, isNarrow, ttlSeconds }) {
      const iat = epochSeconds(clock);
      return jwts.sign({
        iss: issuer,
        aud,
        sub: subject,
        client_id: kind === 'credential' ? subject : NO_CLIENT,
        iat,
        exp: iat + Math.min(ttlSeconds, ACCESS_TOKEN_SECONDS),
        jti: ids.next(),
        scope,
        org: organization,
        role,
        cv: version,
        ...(isNarrow && { narrow: true }),
      });
    },
    verify: jwts.verify,
  };
}
