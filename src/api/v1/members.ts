import type { OrganizationMember } from '../../auth/organizations/members.ts';
import type { Secret } from '../../lib/secret.ts';
import {
  createMember,
  getMember,
  listMembers,
  removeMember,
  resetMemberPassword,
  updateMember,
} from '../../resources/members.ts';
import { isoTime } from '../envelope.ts';
import { noAnswer, organizationOperation, readBack } from './organization-operation.ts';
import { wireRoles } from './roles.ts';

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

const wireWithPassword = ({
  initialPassword,
  ...member
}: OrganizationMember & { readonly initialPassword: Secret }) => ({
  ...wireMember(member),
  initialPassword: initialPassword.reveal(),
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
    answer: wireWithPassword,
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
    takesBack: readBack(getMember, wireMember, ['lastUpdatedBy', 'lastUpdatedDate']),
    answer: noAnswer,
  }),
  organizationOperation({
    id: 'members.resetPassword',
    method: 'POST',
    path: '/members/:id/password',
    status: 200,
    verb: resetMemberPassword,
    answer: wireWithPassword,
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
