import * as z from 'zod';
import type { MemberRoles, OrganizationMember } from '../../auth/organizations/members.ts';
import { ROLES, type Role } from '../../auth/permissions.ts';
import { pageQuery, pageRequest } from '../../resources/paging.ts';
import { ORGANIZATION_ROLES } from '../../storage/tables.ts';
import { isoTime } from '../envelope.ts';
import { operation, operationWithBody } from './organization-operation.ts';

/** The one product of the family whose work is done here. */
const PRODUCT = 'stream';
const NO_ACCESS = 'noaccess';

const product = z.strictObject({
  product: z.enum(['stream', 'edge', 'search', 'lake']),
  role: z.enum([...ROLES, NO_ACCESS]),
});

const workspace = z.strictObject({
  workspaceId: z.string().min(1).max(64),
  workspaceRole: z.enum(['owner', 'admin', 'user', NO_ACCESS]),
  products: z.array(product).max(16).optional(),
});

/** As the family's management plane writes roles. */
export const rolesSchema = z.strictObject({
  organizationRole: z.enum(ORGANIZATION_ROLES),
  workspaces: z.array(workspace).max(1000).optional(),
});

type WireRoles = z.output<typeof rolesSchema>;

/** Owners and admins of a workspace are admins here; users have the role of the product, where they have one. */
export const rolesOf = ({ organizationRole, workspaces = [] }: WireRoles): MemberRoles => ({
  organizationRole,
  workspaces: [
    ...new Map(
      workspaces.flatMap(({ workspaceId, ...roles }): [string, Role][] => {
        const role = roleIn(roles);
        return role === undefined ? [] : [[workspaceId, role]];
      }),
    ),
  ].map(([id, role]) => ({ workspace: id, role })),
});

function roleIn({ workspaceRole, products = [] }: Omit<z.output<typeof workspace>, 'workspaceId'>) {
  if (workspaceRole === NO_ACCESS) return undefined;
  if (workspaceRole !== 'user') return 'admin';
  const role = products.find(one => one.product === PRODUCT)?.role ?? NO_ACCESS;
  return role === NO_ACCESS ? undefined : role;
}

export const wireRoles = ({ organizationRole, workspaces }: MemberRoles): WireRoles => ({
  organizationRole,
  workspaces: workspaces.map(({ workspace: workspaceId, role }) =>
    role === 'admin'
      ? { workspaceId, workspaceRole: 'admin' }
      : { workspaceId, workspaceRole: 'user', products: [{ product: PRODUCT, role }] },
  ),
});

const pageSchema = z.object(pageQuery);

const wireMember = (member: OrganizationMember) => ({
  userId: member.userId,
  email: member.email,
  firstName: member.first,
  lastName: member.last,
  enabled: member.enabled,
  roles: wireRoles(member),
  createdBy: member.createdBy,
  createdDate: isoTime(member.createdAt),
  lastUpdatedBy: member.updatedBy,
  lastUpdatedDate: isoTime(member.updatedAt),
});

export const memberOperations = [
  operation(
    { id: 'members.list', method: 'GET', path: '/members', status: 200 },
    async ({ manager, organizations, query }) => {
      const { rows } = await organizations.members.list(
        manager.organization,
        pageRequest(pageSchema.parse(query)),
      );
      return { items: rows.map(wireMember), count: rows.length };
    },
  ),
  operationWithBody(
    { id: 'members.create', method: 'POST', path: '/members', status: 201, createdKey: 'userId' },
    z.strictObject({ email: z.string().max(254), roles: rolesSchema }),
    async ({ manager, organizations, body }) => {
      const { member, initialPassword } = await organizations.members.add(
        manager,
        body.email,
        rolesOf(body.roles),
      );
      return {
        ...wireMember(member),
        ...(initialPassword !== undefined && { initialPassword: initialPassword.reveal() }),
      };
    },
  ),
  operation(
    { id: 'members.get', method: 'GET', path: '/members/:id', status: 200 },
    async ({ manager, organizations, id }) =>
      wireMember(await organizations.members.get(manager.organization, id)),
  ),
  operationWithBody(
    { id: 'members.update', method: 'PATCH', path: '/members/:id', status: 204 },
    z.strictObject({ roles: rolesSchema }),
    async ({ manager, organizations, id, body }) => {
      await organizations.members.setRoles(manager, id, rolesOf(body.roles));
      return undefined;
    },
  ),
  operation(
    { id: 'members.remove', method: 'DELETE', path: '/members/:id', status: 204 },
    async ({ manager, organizations, id }) => {
      await organizations.members.remove(manager, id);
      return undefined;
    },
  ),
] as const;
