import * as z from 'zod';
import type { MemberRoles } from '../../auth/members.ts';
import { ROLES, type Role } from '../../auth/permissions.ts';
import { ORGANIZATION_ROLES } from '../../storage/tenant-tables.ts';

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
      workspaces.flatMap(({ workspaceId, ...told }): [string, Role][] => {
        const role = roleIn(told);
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
