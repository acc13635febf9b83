import { decodeProtectedHeader } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Storage } from '../../storage/storage.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import { type Actor, assertNoPasswordChangeDue, type OrganizationActor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { type Authenticate, createUserDirectory, type UserDirectory } from '../sessions/authenticate.ts';
import { parseLabel } from '../tenant-name.ts';
import { type AccessClaims, createAccessTokens, subjectKindOf } from '../tokens/access-tokens.ts';
import { bearerToken } from '../tokens/jwt.ts';
import type { TokenKeys } from '../tokens/keys.ts';
import { isAllowedFrom } from './credential.ts';
import { createTenantDirectory, type TenantDirectory } from './directory.ts';
import { effectiveAssignments, parseScope, type RoleAssignments, roleInWorkspace } from './roles.ts';

/** Who may come in to a workspace, and who manages an organization. */
export interface WorkspaceAccess {
  /** Throws `not-found` for whoever has no part in the workspace: nobody learns that it is there. */
  authenticateIn(workspace: string): Authenticate;
  /** Who calls in the name of the organization. Throws `not-found` for whoever has no part in it. */
  organizationActorOf(
    organization: string,
    authorization: string | undefined,
    address: string,
  ): Promise<OrganizationActor>;
  /** Whether a user of the login service has a role in the workspace. */
  hasAccess(workspace: string, userId: string): Promise<boolean>;
}

interface WorkspaceAccessDependencies {
  /** Of tokens that the login service has issued. */
  readonly tenants: Pick<TenantIdentity, 'authenticate'>;
  /** Of tokens for sessions of browsers. */
  readonly sessions: Authenticate;
  readonly directory: Pick<TenantDirectory, 'memberships'>;
}

export function createWorkspaceAccess({
  tenants,
  sessions,
  directory,
}: WorkspaceAccessDependencies): WorkspaceAccess {
  async function memberRole(workspace: string, userId: string) {
    const tenant = parseLabel(workspace);
    const memberships = await directory.memberships(userId);
    const membership = memberships.find(({ organization }) => organization === tenant?.organization);
    return tenant && membership && roleInWorkspace(membership, tenant.workspace);
  }

  return {
    authenticateIn: workspace => async (authorization, address) => {
      if (isSessionToken(authorization)) {
        const user = await sessions(authorization, address);
        assertNoPasswordChangeDue(user);
        const role = await memberRole(workspace, user.id);
        if (role !== undefined) return { ...user, kind: 'member', role };
      } else {
        const actor = (await tenants.authenticate(authorization, address)).actorIn(workspace);
        if (actor !== undefined) return actor;
      }
      throw notFound('workspace', workspace);
    },
    async organizationActorOf(organization, authorization, address) {
      if (isSessionToken(authorization)) {
        const user = await sessions(authorization, address);
        assertNoPasswordChangeDue(user);
        const memberships = await directory.memberships(user.id);
        const membership = memberships.find(one => one.organization === organization);
        if (membership !== undefined)
          return { kind: 'member', id: user.id, name: user.name, organization, role: membership.role };
      } else {
        const principal = await tenants.authenticate(authorization, address);
        const { kind, id, name, role, tokenScope } = principal;
        if (principal.organization === organization)
          return { kind, id, name, organization, role, ...(tokenScope && { tokenScope }) };
      }
      throw notFound('organization', organization);
    },
    hasAccess: async (workspace, userId) => (await memberRole(workspace, userId)) !== undefined,
  };
}

/** Which of the two has issued a token: each refuses what the other has. */
function isSessionToken(authorization: string | undefined): boolean {
  const token = authorization === undefined ? undefined : bearerToken(authorization);
  try {
    return token !== undefined && decodeProtectedHeader(token).typ === 'session+jwt';
  } catch {
    return false;
  }
}

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
  readonly tokenScope: Actor['tokenScope'];
  /** The same as an actor in a workspace, by its key; undefined where there is no access. */
  actorIn(workspace: string): Actor | undefined;
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

interface TenantIdentityDependencies {
  readonly storage: Pick<Storage, 'users' | 'sessions' | 'organizations' | 'credentials'>;
  readonly feed: Pick<ChangeFeed, 'cache'>;
  readonly keys: TokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  /** They count from the start on. */
  readonly settings: AccessSettings;
}

/** Somebody who is there and may come in. */
interface AuthenticatedSubject {
  readonly name: string;
  readonly assignments: RoleAssignments;
}

export function createTenantIdentity(dependencies: TenantIdentityDependencies): TenantIdentity {
  const { storage, feed, settings, ...rest } = dependencies;
  const tokens = createAccessTokens({ ...rest, issuer: settings.authUrl, audience: settings.audience });
  const tenants = createTenantDirectory(feed, storage);
  const users = createUserDirectory(feed, storage);
  const lookups = { credential: credentialLookup(tenants, rest.clock), member: memberLookup(tenants, users) };

  return {
    async authenticate(authorization, address) {
      if (authorization === undefined)
        throw unauthenticated(
          'No token was sent; ask the login service for one and send "Authorization: Bearer <token>"',
        );
      const token = bearerToken(authorization);
      if (token === undefined)
        throw unauthenticated('The Authorization header is not of the form "Bearer <token>"');
      const verified = await tokens.verify(token);
      if (verified.kind === 'refused')
        throw unauthenticated(
          verified.reason === 'expired'
            ? 'The token has expired; ask the login service for another one'
            : NOT_VALID,
        );
      const { claims } = verified;
      const [organization, found, isRevoked] = await Promise.all([
        tenants.organization(claims.org),
        lookups[subjectKindOf(claims)](claims, address),
        users.isRevoked(claims.jti),
      ]);
      if (organization === undefined || found === undefined || isRevoked) throw unauthenticated(NOT_VALID);
      const { name, assignments } = found;
      const isProgram = subjectKindOf(claims) === 'credential';
      return principalOf(claims, {
        name,
        assignments: isProgram ? effectiveAssignments(organization, assignments) : assignments,
      });
    },
  };
}

const NOT_VALID = 'The token is not valid here; ask the login service for another one';

function principalOf(claims: AccessClaims, { name, assignments }: AuthenticatedSubject): Principal {
  const { sub: id, org: organization, jti, exp, narrow, scope } = claims;
  const kind = subjectKindOf(claims);
  const token = { id: jti, expiresAt: exp * 1000 };
  const tokenScope = narrow === true ? parseScope(scope) : undefined;
  return {
    kind,
    id,
    name,
    organization,
    role: assignments.role,
    token,
    tokenScope,
    actorIn(workspace) {
      const tenant = parseLabel(workspace);
      if (tenant?.organization !== organization) return undefined;
      const role = roleInWorkspace(assignments, tenant.workspace);
      return role && { kind, id, name, role, token, ...(tokenScope && { tokenScope }) };
    },
  };
}

type SubjectLookup = (
  claims: AccessClaims,
  address: string | undefined,
) => Promise<AuthenticatedSubject | undefined>;

const credentialLookup =
  (tenants: TenantDirectory, clock: Pick<Clock, 'now'>): SubjectLookup =>
  async ({ sub, org, cv }, address) => {
    const known = await tenants.credential(sub);
    if (known === undefined) return undefined;
    const { row, roles } = known;
    const isInvalid =
      row.enabled === 0 || row.deleted_at !== null || (row.expires_at ?? Infinity) <= clock.now();
    if (isInvalid || row.organization !== org || row.version !== cv) return undefined;
    if (!isAllowedFrom(row.ip_allowlist, address)) return undefined;
    return { name: row.name, assignments: { role: row.organization_role, roles } };
  };

const memberLookup =
  (tenants: TenantDirectory, users: UserDirectory): SubjectLookup =>
  async ({ sub, org, cv }) => {
    const [user, memberships] = await Promise.all([users.find(sub), tenants.memberships(sub)]);
    const membership = memberships.find(({ organization }) => organization === org);
    if (user === undefined || membership === undefined) return undefined;
    if (user.disabled === 1 || user.version !== cv || user.force_password_change === 1) return undefined;
    return { name: user.username, assignments: membership };
  };

const unauthenticated = (message: string): AppError => new AppError('unauthenticated', message);
