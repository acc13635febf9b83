import type { MemberRoles, OrganizationMember } from '../../auth/organizations/members.ts';
import {
  createMember,
  getMember,
  listMembers,
  PRODUCT,
  removeMember,
  updateMember,
  type WrittenRoles,
} from '../../resources/members.ts';
import { isoTime } from '../envelope.ts';
import { noAnswer, organizationOperation } from './organization-operation.ts';

export const wireRoles = ({ organizationRole, workspaces }: MemberRoles): WrittenRoles => ({
  organizationRole,
  workspaces: workspaces.map(({ workspace: workspaceId, role }) =>
    role === 'admin'
      ? { workspaceId, workspaceRole: 'admin' }
      : { workspaceId, workspaceRole: 'user', products: [{ product: PRODUCT, role }] },
  ),
});

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
  organizationOperation({
    id: 'members.list',
    method: 'GET',
    path: '/members',
    status: 200,
    verb: listMembers,
    answer: ({ items }) => ({ items: items.map(wireMember), count: items.length }),
  }),
  organizationOperation({
    id: 'members.create',
    method: 'POST',
    path: '/members',
    status: 201,
    createdKey: 'userId',
    verb: createMember,
    answer: ({ initialPassword, ...member }) => ({
      ...wireMember(member),
      ...(initialPassword !== undefined && { initialPassword: initialPassword.reveal() }),
    }),
  }),
  organizationOperation({
    id: 'members.get',
    method: 'GET',
    path: '/members/:id',
    status: 200,
    verb: getMember,
    answer: wireMember,
  }),
  organizationOperation({
    id: 'members.update',
    method: 'PATCH',
    path: '/members/:id',
    status: 204,
    verb: updateMember,
    answer: noAnswer,
  }),
  organizationOperation({
    id: 'members.remove',
    method: 'DELETE',
    path: '/members/:id',
    status: 204,
    verb: removeMember,
    answer: noAnswer,
  }),
] as const;
