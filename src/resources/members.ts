import * as z from 'zod';
import type { MemberRoles } from '../auth/organizations/members.ts';
import { ROLES, type Role } from '../auth/permissions.ts';
import { ORGANIZATION_ROLES } from '../storage/tables.ts';
import { defineOrganizationVerb } from './organization-verb.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { PRODUCT } from './product.ts';

const NO_ACCESS = 'noaccess';

const productRoleSchema = z.strictObject({
  product: z.enum(['stream', 'edge', 'search', 'lake']),
  role: z.enum([...ROLES, NO_ACCESS]),
});

const workspaceRoleSchema = z.strictObject({
  workspaceId: z.string().min(1).max(64),
  workspaceRole: z.enum(['owner', 'admin', 'user', NO_ACCESS]),
  products: z.array(productRoleSchema).max(16).optional(),
});

const writtenRolesSchema = z.strictObject({
  organizationRole: z.enum(ORGANIZATION_ROLES),
  workspaces: z.array(workspaceRoleSchema).max(1000).optional(),
});

/** Roles as Cribl-compatible clients write them. */
export type WrittenRoles = z.output<typeof writtenRolesSchema>;

/** Owners and admins of a workspace are admins; users have the role of the product, and without one `user`. */
function toMemberRoles({ organizationRole, workspaces = [] }: WrittenRoles): MemberRoles {
  const roles = new Map(
    workspaces.flatMap((written): [string, Role][] => {
      const role = roleOf(written);
      return role === undefined ? [] : [[written.workspaceId, role]];
    }),
  );
  return { organizationRole, workspaces: [...roles].map(([workspace, role]) => ({ workspace, role })) };
}

function roleOf({ workspaceRole, products = [] }: z.output<typeof workspaceRoleSchema>): Role | undefined {
  if (workspaceRole === NO_ACCESS) return undefined;
  if (workspaceRole !== 'user') return 'admin';
  // Who is in a workspace and has no role in the product may see no more there than who they are.
  const role = products.find(one => one.product === PRODUCT)?.role ?? 'user';
  return role === NO_ACCESS ? undefined : role;
}

export const memberRoles = writtenRolesSchema.transform(toMemberRoles);

const memberId = { id: z.string() };

export const listMembers = defineOrganizationVerb({
  permission: 'read:members',
  input: z.object(pageQuery),
  run: async ({ actor, context }, query) =>
    toListPage(query, await context.members.list(actor.organization, pageRequest(query)), member => member),
});

export const getMember = defineOrganizationVerb({
  permission: 'read:members',
  input: z.object(memberId),
  run: ({ actor, context }, { id }) => context.members.get(actor.organization, id),
});

/** Returns the password for the first sign-in of a new user, this once. */
export const createMember = defineOrganizationVerb({
  permission: 'update:members',
  input: z.object({ body: z.strictObject({ email: z.string().max(254), roles: memberRoles }) }),
  async run({ actor, context }, { body }) {
    const { member, initialPassword } = await context.members.add(actor, body.email, body.roles);
    return { ...member, initialPassword };
  },
});

export const updateMember = defineOrganizationVerb({
  permission: 'update:members',
  input: z.object({ ...memberId, body: z.strictObject({ roles: memberRoles }) }),
  run: ({ actor, context }, { id, body }) => context.members.setRoles(actor, id, body.roles),
});

/** Returns the password for the next sign-in, this once; all sessions and tokens of the member end. */
export const resetMemberPassword = defineOrganizationVerb({
  permission: 'update:members',
  input: z.object(memberId),
  async run({ actor, context }, { id }) {
    const { member, initialPassword } = await context.members.resetPassword(actor, id);
    return { ...member, initialPassword };
  },
});

export const removeMember = defineOrganizationVerb({
  permission: 'update:members',
  input: z.object(memberId),
  run: ({ actor, context }, { id }) => context.members.remove(actor, id),
});
