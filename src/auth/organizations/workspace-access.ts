import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Storage } from '../../storage/storage.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import { type Actor, assertNoPasswordChangeDue, type OrganizationActor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { type Authenticate, createUserDirectory, type UserDirectory } from '../sessions/authenticate.ts';
import { parseLabel } from '../tenant-name.ts';
import { type AccessClaims, createAccessTokens, subjectKindOf } from '../tokens/access-tokens.ts';
import { bearerToken, tokenHeader, unauthenticated, verifyBearer } from '../tokens/jwt.ts';
import type { TokenKeys } from '../tokens/keys.ts';
import { isAllowedFrom } from './credential.ts';
import { createTenantDirectory, type TenantDirectory } from './directory.ts';
import { effectiveAssignments, parseScope, type RoleAssignments, roleInWorkspace } from './roles.ts';

/** Authenticates the callers of workspaces and of organizations. */
export interface WorkspaceAccess {
  /** Throws `not-found` for a caller without a role in the workspace, who must not learn that it exists. */
  authenticateIn(workspace: string): Authenticate;
  /** Throws `not-found` for a caller without a role in the organization. */
  readonly organizationActorOf: (
    organization: string,
    authorization: string | undefined,
    address: string,
  ) => Promise<OrganizationActor>;
  /** Id of the account by which a user of the login service has a role in the workspace; undefined without one. */
  accountIn(workspace: string, userId: string): Promise<string | undefined>;
}

interface WorkspaceAccessDependencies {
  /** Verifies access tokens of the login service. */
  readonly tenants: Pick<TenantIdentity, 'authenticate'>;
  /** Verifies tokens of browser sessions. */
  readonly sessions: Authenticate;
  readonly directory: Pick<TenantDirectory, 'accountIn'>;
  /** `hosted.authUrl`. */
  readonly authUrl: string;
}

export function createWorkspaceAccess({
  tenants,
  sessions,
  directory,
  authUrl,
}: WorkspaceAccessDependencies): WorkspaceAccess {
  async function memberIn(workspace: string, userId: string) {
    const tenant = parseLabel(workspace);
    const account = tenant && (await directory.accountIn(tenant.organization, userId));
    const role = account && roleInWorkspace(account.membership, tenant.workspace);
    return role && { id: account.userId, role, ...(account.name !== undefined && { name: account.name }) };
  }

  return {
    authenticateIn: workspace => async (authorization, address) => {
      if (isSessionToken(authorization)) {
        const user = await sessions(authorization, address);
        assertNoPasswordChangeDue(user, authUrl);
        const member = await memberIn(workspace, user.id);
        if (member !== undefined) return { ...user, ...member, kind: 'member' };
      } else {
        const actor = (await tenants.authenticate(authorization, address)).actorIn(workspace);
        if (actor !== undefined) return actor;
      }
      throw notFound('workspace', workspace);
    },
    async organizationActorOf(organization, authorization, address) {
      if (isSessionToken(authorization)) {
        const user = await sessions(authorization, address);
        assertNoPasswordChangeDue(user, authUrl);
        const account = await directory.accountIn(organization, user.id);
        if (account !== undefined) {
          const { userId: id, name = user.name, membership } = account;
          return { kind: 'member', id, name, organization, role: membership.role };
        }
      } else {
        const principal = await tenants.authenticate(authorization, address);
        const { kind, id, name, role, tokenScope } = principal;
        if (principal.organization === organization)
          return { kind, id, name, organization, role, ...(tokenScope && { tokenScope }) };
      }
      throw notFound('organization', organization);
    },
    accountIn: async (workspace, userId) => (await memberIn(workspace, userId))?.id,
  };
}

const sessionHeader = z.looseObject({ typ: z.literal('session+jwt') });

/** Selects the issuer of a token by its type: each refuses tokens of the other. */
function isSessionToken(authorization: string | undefined): boolean {
  const token = authorization === undefined ? undefined : bearerToken(authorization);
  return token !== undefined && sessionHeader.safeParse(tokenHeader(token)).success;
}

/** The part of `hosted` that is about tokens. */
interface AccessSettings {
  readonly authUrl: string;
  readonly audience: readonly string[];
}

/** The subject of an access token, as the store knows it at this moment. */
interface Principal {
  readonly kind: 'credential' | 'member';
  /** Client id or user id. */
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  /** In the organization. */
  readonly role: OrganizationRole;
  /** The token that was presented. */
  readonly token: NonNullable<Actor['token']>;
  /** The permissions that it was requested for, when these are less than everything. */
  readonly tokenScope: Actor['tokenScope'];
  /** The actor in a workspace, by its key; undefined without access. */
  actorIn(workspace: string): Actor | undefined;
}

/** Authenticates callers of a hosted installation by access token. */
export interface TenantIdentity {
  /**
   * Takes the value of the Authorization header and the address of the caller. Everything is looked up for each call,
   * so disabling, deleting, expiring and lowering take effect at once. Throws `unauthenticated`, and `unavailable` while
   * the store does not answer.
   */
  authenticate(authorization: string | undefined, address: string | undefined): Promise<Principal>;
}

interface TenantIdentityDependencies {
  readonly storage: Pick<Storage, 'users' | 'sessions' | 'organizations' | 'credentials'>;
  readonly feed: Pick<ChangeFeed, 'cache'>;
  readonly keys: TokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  /** Read once, at the start. */
  readonly settings: AccessSettings;
}

/** A subject that exists and is allowed in. */
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
      const claims = await verifyBearer(authorization, tokens, REMEDIES);
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

const REMEDIES = {
  missing: 'ask the login service for one',
  invalid: 'ask the login service for another one',
};
const NOT_VALID = `The token is not valid here; ${REMEDIES.invalid}`;

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
