import * as z from 'zod';
import { type Permission, RESOURCES, ROLES, type Role } from '../../auth/permissions.ts';
import type { Shape } from '../shape.ts';

const role = z.object({
  id: z.enum(ROLES),
  permissions: z.array(z.string()).readonly().describe('As in `read:inputs`.'),
});
export const roleShape: Shape = { name: 'Role', schema: role };

export const wireRole = (one: {
  readonly id: Role;
  readonly permissions: readonly Permission[];
}): z.output<typeof role> => one;

const rule = z.object({
  object: z.enum(RESOURCES),
  actions: z.array(z.enum(['read', 'update'])).readonly(),
});
export const ruleShape: Shape = { name: 'PolicyRule', schema: rule };
export const wireRule = (one: z.output<typeof rule>): z.output<typeof rule> => one;

export const roleNameShape: Shape = { name: 'RoleName', schema: z.enum(ROLES) };
export const wireRoleName = (name: Role): Role => name;
