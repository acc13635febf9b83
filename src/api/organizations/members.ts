import * as z from 'zod';
import type { Member } from '../../auth/members.ts';
import { pageQuery, pageRequest } from '../../resources/paging.ts';
import { isoTime } from '../envelope.ts';
import { operation, taking } from './operation.ts';
import { rolesOf, rolesSchema, wireRoles } from './roles.ts';

const page = z.object(pageQuery);

const wireMember = (member: Member) => ({
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
      const { rows } = await organizations.members.list(manager.organization, pageRequest(page.parse(query)));
      return { items: rows.map(wireMember), count: rows.length };
    },
  ),
  taking(
    { id: 'members.create', method: 'POST', path: '/members', status: 201, made: 'userId' },
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
  taking(
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
