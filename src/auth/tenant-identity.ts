import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Storage } from '../storage/storage.ts';
import type { OrganizationRole } from '../storage/tenant-tables.ts';
import { type AccessClaims, createAccessTokens, kindOf } from './access-tokens.ts';
import { bearerToken } from './bearer.ts';
import type { ChangeFeed } from './change-feed.ts';
import { isAllowedFrom } from './ip-allowlist.ts';
import type { TokenKeys } from './keys.ts';
import type { Actor } from './permissions.ts';
import { createTenantDirectory, type TenantDirectory } from './tenant-directory.ts';
import { parseLabel } from './tenant-name.ts';
import { ofToken, permissionsIn, roleIn, type Standing } from './tenant-roles.ts';
import { createUserDirectory, type UserDirectory } from './user-directory.ts';

/** `hosted` of the settings, as far as tokens go. */
interface AccessSettings {
  readonly authUrl: string;
  readonly audience: readonly string[];
}

/** Whoever has shown an access token, as the store knows them at this moment. */
interface Principal {
  readonly kind: 'credential' | 'member';
  /** Client id or user id. */
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  /** In the organization. */
  readonly role: OrganizationRole;
  /** What was shown to prove it. */
  readonly token: NonNullable<Actor['token']>;
  /** What it was asked for, when that was less than everything. */
  readonly only: Actor['only'];
  /** The same as an actor in a workspace, by its key; undefined where there is no access. */
  in(workspace: string): Actor | undefined;
}

/** Who calls a hosted installation: the face of this room there. */
export interface TenantIdentity {
  /**
   * By the value of the Authorization header; `address` is where the call comes from. Everything is looked up for each
   * call, so what is disabled, deleted, expired or lowered counts at once. Throws `unauthenticated`, and `unavailable`
   * while the store does not answer.
   */
  authenticate(authorization: string | undefined, address: string | undefined): Promise<Principal>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'users' | 'sessions' | 'organizations' | 'credentials'>;
  readonly feed: Pick<ChangeFeed, 'memory'>;
  readonly keys: TokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  /** They count from the start on. */
  readonly settings: AccessSettings;
}

/** Somebody who is there and may come in. */
interface Found {
  readonly name: string;
  readonly standing: Standing;
}

export function createTenantIdentity(dependencies: Dependencies): TenantIdentity {
  const { storage, feed, settings, ...rest } = dependencies;
  const tokens = createAccessTokens({ ...rest, issuer: settings.authUrl, audience: settings.audience });
  const tenants = createTenantDirectory(feed, storage);
  const users = createUserDirectory(feed, storage);
  const find = { credential: credentialFinder(tenants, rest.clock), member: memberFinder(tenants, users) };

  return {
    async authenticate(authorization, address) {
      if (authorization === undefined)
        throw refusal(
          'No token was sent; ask the login service for one and send "Authorization: Bearer <token>"',
        );
      const token = bearerToken(authorization);
      if (token === undefined) throw refusal('The Authorization header is not of the form "Bearer <token>"');
      const verified = await tokens.verify(token);
      if (verified.kind === 'refused')
        throw refusal(
          verified.reason === 'expired'
            ? 'The token has expired; ask the login service for another one'
            : NOT_VALID,
        );
      const { claims } = verified;
      const [organization, found, isRevoked] = await Promise.all([
        tenants.organization(claims.org),
        find[kindOf(claims)](claims, address),
        users.isRevoked(claims.jti),
      ]);
      if (organization === undefined || found === undefined || isRevoked) throw refusal(NOT_VALID);
      const { name, standing } = found;
      const isProgram = kindOf(claims) === 'credential';
      return principalOf(claims, { name, standing: isProgram ? ofToken(organization, standing) : standing });
    },
  };
}

const NOT_VALID = 'The token is not valid here; ask the login service for another one';

function principalOf(claims: AccessClaims, { name, standing }: Found): Principal {
  const { sub: id, org: organization, jti, exp, narrow, scope } = claims;
  const kind = kindOf(claims);
  const token = { id: jti, expiresAt: exp * 1000 };
  const only = narrow === true ? permissionsIn(scope) : undefined;
  return {
    kind,
    id,
    name,
    organization,
    role: standing.role,
    token,
    only,
    in(workspace) {
      const tenant = parseLabel(workspace);
      if (tenant?.organization !== organization) return undefined;
      const role = roleIn(standing, tenant.workspace);
      return role && { kind, id, name, role, token, ...(only && { only }) };
    },
  };
}

type Finder = (claims: AccessClaims, address: string | undefined) => Promise<Found | undefined>;

const credentialFinder =
  (tenants: TenantDirectory, clock: Pick<Clock, 'now'>): Finder =>
  async ({ sub, org, cv }, address) => {
    const known = await tenants.credential(sub);
    if (known === undefined) return undefined;
    const { row, roles } = known;
    const isOver =
      row.enabled === 0 || row.deleted_at !== null || (row.expires_at ?? Infinity) <= clock.now();
    if (isOver || row.organization !== org || row.version !== cv) return undefined;
    if (!isAllowedFrom(row.ip_allowlist, address)) return undefined;
    return { name: row.name, standing: { role: row.organization_role, roles } };
  };

const memberFinder =
  (tenants: TenantDirectory, users: UserDirectory): Finder =>
  async ({ sub, org, cv }) => {
    const [user, memberships] = await Promise.all([users.find(sub), tenants.memberships(sub)]);
    const membership = memberships.find(({ organization }) => organization === org);
    if (user === undefined || membership === undefined) return undefined;
    if (user.disabled === 1 || user.version !== cv || user.force_password_change === 1) return undefined;
    return { name: user.username, standing: membership };
  };

const refusal = (message: string): AppError => new AppError('unauthenticated', message);
