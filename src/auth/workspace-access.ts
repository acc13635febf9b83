import { decodeProtectedHeader } from 'jose';
import { notFound } from '../lib/errors.ts';
import type { Authenticate } from './authenticate.ts';
import { bearerToken } from './bearer.ts';
import type { Manager } from './managers.ts';
import { assertPasswordIsOwn } from './permissions.ts';
import type { TenantDirectory } from './tenant-directory.ts';
import type { TenantIdentity } from './tenant-identity.ts';
import { parseLabel } from './tenant-name.ts';
import { roleIn } from './tenant-roles.ts';

/** Who may come in to a workspace, and who manages an organization. */
export interface WorkspaceAccess {
  /** Throws `not-found` for whoever has no part in the workspace: nobody learns that it is there. */
  in(workspace: string): Authenticate;
  /** Who calls in the name of the organization. Throws `not-found` for whoever has no part in it. */
  managerOf(organization: string, authorization: string | undefined, address: string): Promise<Manager>;
  /** Whether a user of the login service has a role in the workspace. */
  isOpenTo(workspace: string, userId: string): Promise<boolean>;
}

interface Dependencies {
  /** Of tokens that the login service has issued. */
  readonly tenants: Pick<TenantIdentity, 'authenticate'>;
  /** Of tokens for sessions of browsers. */
  readonly sessions: Authenticate;
  readonly directory: Pick<TenantDirectory, 'memberships'>;
}

export function createWorkspaceAccess({ tenants, sessions, directory }: Dependencies): WorkspaceAccess {
  async function memberRole(workspace: string, userId: string) {
    const tenant = parseLabel(workspace);
    const memberships = await directory.memberships(userId);
    const membership = memberships.find(({ organization }) => organization === tenant?.organization);
    return tenant && membership && roleIn(membership, tenant.workspace);
  }

  return {
    in: workspace => async (authorization, address) => {
      if (isOfSession(authorization)) {
        const user = await sessions(authorization, address);
        assertPasswordIsOwn(user);
        const role = await memberRole(workspace, user.id);
        if (role !== undefined) return { ...user, kind: 'member', role };
      } else {
        const actor = (await tenants.authenticate(authorization, address)).in(workspace);
        if (actor !== undefined) return actor;
      }
      throw notFound('workspace', workspace);
    },
    async managerOf(organization, authorization, address) {
      if (isOfSession(authorization)) {
        const user = await sessions(authorization, address);
        assertPasswordIsOwn(user);
        const memberships = await directory.memberships(user.id);
        const membership = memberships.find(one => one.organization === organization);
        if (membership !== undefined)
          return { kind: 'member', id: user.id, name: user.name, organization, role: membership.role };
      } else {
        const principal = await tenants.authenticate(authorization, address);
        const { kind, id, name, role, only } = principal;
        if (principal.organization === organization)
          return { kind, id, name, organization, role, ...(only && { only }) };
      }
      throw notFound('organization', organization);
    },
    isOpenTo: async (workspace, userId) => (await memberRole(workspace, userId)) !== undefined,
  };
}

/** Which of the two has issued a token: each refuses what the other has. */
function isOfSession(authorization: string | undefined): boolean {
  const token = authorization === undefined ? undefined : bearerToken(authorization);
  try {
    return token !== undefined && decodeProtectedHeader(token).typ === 'session+jwt';
  } catch {
    return false;
  }
}
