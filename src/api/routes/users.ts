import { getProfile } from '../../resources/profile/get.ts';
import { updateProfile } from '../../resources/profile/update.ts';
import { listRoles } from '../../resources/roles/list.ts';
import { createUser } from '../../resources/users/create.ts';
import { endTokens } from '../../resources/users/end-tokens.ts';
import { getUser } from '../../resources/users/get.ts';
import { listUsers } from '../../resources/users/list.ts';
import { removeUser } from '../../resources/users/remove.ts';
import { updateUser } from '../../resources/users/update.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { roleShape, wireRole } from '../wire/role.ts';
import { profileShape, successShape, userShape, wireProfile, wireSuccess, wireUser } from '../wire/user.ts';

const ours = { isLive: false, isOfInstallation: true } as const;
const all = { ...ours, path: '/system/users' } as const;
const one = { ...ours, path: '/system/users/:id', answer: item(userShape, wireUser) } as const;
const own = { ...ours, path: '/system/users/:id/info' } as const;
const example = { params: { id: 'ann' } };

export const userRoutes: readonly Route[] = [
  route({
    ...all,
    id: 'users.list',
    method: 'GET',
    summary: 'List the local users by name',
    verb: listUsers,
    answer: list(userShape, wireUser),
  }),
  route({
    ...all,
    id: 'users.create',
    method: 'POST',
    summary: 'Add a user, who must choose another password at the first login unless told otherwise',
    verb: createUser,
    takes: { shape: { name: 'NewUser' } },
    answer: item(userShape, wireUser),
    errors: ['conflict'],
    example: {
      body: {
        id: 'ann',
        username: 'ann',
        first: 'Ann',
        last: 'Example',
        email: 'ann@example.com',
        roles: ['editor'],
        password: 'to be changed at the first login',
      },
    },
  }),
  route({
    ...one,
    id: 'users.get',
    method: 'GET',
    summary: 'Get a user, by id or by name',
    verb: getUser,
    example,
  }),
  route({
    ...one,
    id: 'users.update',
    method: 'PATCH',
    summary: 'Change a user: what is left out stays',
    description:
      'Another role, another password and `disabled` end the tokens of the user. The last admin who can log in stays one.',
    verb: updateUser,
    takes: { shape: { name: 'User' }, kind: 'part' },
    errors: ['conflict', 'rate-limited'],
    example: { ...example, body: { roles: ['reader'] } },
  }),
  route({
    ...ours,
    id: 'users.endTokens',
    method: 'DELETE',
    path: '/auth/users/:id/token',
    summary: 'End all tokens of a user, who can log in again',
    verb: endTokens,
    answer: item(successShape, wireSuccess),
    example,
  }),
  route({
    ...one,
    id: 'users.remove',
    method: 'DELETE',
    summary: 'Remove a user, whose tokens end',
    verb: removeUser,
    errors: ['conflict'],
    example,
  }),
  route({
    ...own,
    id: 'profile.get',
    method: 'GET',
    summary: 'Get the own profile',
    verb: getProfile,
    answer: item(userShape, wireUser),
    example: { params: { id: 'admin' } },
  }),
  route({
    ...own,
    id: 'profile.update',
    method: 'PATCH',
    summary: 'Change the own names, or with the current password the own password',
    verb: updateProfile,
    takes: { shape: { name: 'Profile' }, kind: 'part' },
    answer: item(profileShape, wireProfile),
    errors: ['conflict', 'rate-limited'],
    example: { params: { id: 'admin' }, body: { first: 'Alex' } },
  }),
  route({
    id: 'roles.list',
    isLive: false,
    method: 'GET',
    path: '/system/roles',
    summary: 'List the roles and what each may do',
    verb: listRoles,
    answer: list(roleShape, wireRole),
  }),
];
