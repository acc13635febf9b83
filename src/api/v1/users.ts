import * as z from 'zod';
import { type Permission, RESOURCES, ROLES, type Role } from '../../auth/permissions.ts';
import type { UserDetails } from '../../auth/users/user.ts';
import type { UpdatedProfile } from '../../auth/users/users.ts';
import { listRoles } from '../../resources/auth.ts';
import {
  createUser,
  endTokens,
  getProfile,
  getUser,
  listUsers,
  removeUser,
  updateProfile,
  updateUser,
} from '../../resources/users.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, readBack, route } from '../route.ts';

const user = z.object({
  id: z.string(),
  username: z.string(),
  email: z.string(),
  first: z.string(),
  last: z.string(),
  roles: z.array(z.enum(ROLES)).readonly(),
  disabled: z.boolean(),
  kind: z.enum(['person', 'machine']),
  forcePasswordChange: z.boolean(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
/** A local user, without any trace of the password. */
const userShape: Shape = { name: 'User', schema: user };

const wireUser = (facts: UserDetails): z.output<typeof user> => ({
  id: facts.id,
  username: facts.username,
  email: facts.email,
  first: facts.first,
  last: facts.last,
  roles: [facts.role],
  disabled: facts.disabled,
  kind: facts.kind,
  forcePasswordChange: facts.mustChangePassword,
  createdAt: isoTime(facts.createdAt),
  updatedAt: isoTime(facts.updatedAt),
});

const profile = user.extend({
  token: z
    .string()
    .optional()
    .describe('After a change of password, which ends every token: a fresh one, with its word Bearer.'),
});
const profileShape: Shape = { name: 'Profile', schema: profile };

const wireProfile = ({ user: facts, token }: UpdatedProfile): z.output<typeof profile> => ({
  ...wireUser(facts),
  ...(token !== undefined && { token }),
});

const success = z.object({ success: z.literal(true) });
export const successShape: Shape = { name: 'Success', schema: success };
export const wireSuccess = (done: z.output<typeof success>): z.output<typeof success> => done;

const role = z.object({
  id: z.enum(ROLES),
  permissions: z.array(z.string()).readonly().describe('As in `read:inputs`.'),
});
const roleShape: Shape = { name: 'Role', schema: role };

const wireRole = (one: {
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

const installationRoute = { isLive: false, isOfInstallation: true } as const;
const usersRoute = { ...installationRoute, path: '/system/users' } as const;
const userRoute = {
  ...installationRoute,
  path: '/system/users/:id',
  answer: item(userShape, wireUser),
} as const;
const profileRoute = { ...installationRoute, path: '/system/users/:id/info' } as const;
const example = { params: { id: 'ann' } };

export const userRoutes: readonly Route[] = [
  route({
    ...usersRoute,
    id: 'users.list',
    grouped: 'alike',
    method: 'GET',
    summary: 'List the local users by name',
    verb: listUsers,
    answer: list(userShape, wireUser),
  }),
  route({
    ...usersRoute,
    id: 'users.create',
    grouped: 'alike',
    method: 'POST',
    summary: 'Add a user, who must choose another password at the first login unless the body says otherwise',
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
    ...userRoute,
    id: 'users.get',
    grouped: 'alike',
    method: 'GET',
    summary: 'Get a user, by id or by name',
    verb: getUser,
    example,
  }),
  route({
    ...userRoute,
    id: 'users.update',
    grouped: 'alike',
    method: 'PATCH',
    summary: 'Change a user: what is left out stays',
    description:
      'Another role, another password and `disabled` end the tokens of the user. The last admin who can log in stays one.',
    verb: updateUser,
    takes: { shape: { name: 'User' }, kind: 'part' },
    takesBack: readBack(getUser, userShape, wireUser),
    errors: ['conflict', 'rate-limited'],
    example: { ...example, body: { roles: ['reader'] } },
  }),
  route({
    ...installationRoute,
    id: 'users.endTokens',
    method: 'DELETE',
    path: '/auth/users/:id/token',
    summary: 'End all tokens of a user, who can log in again',
    verb: endTokens,
    answer: item(successShape, wireSuccess),
    example,
  }),
  route({
    ...userRoute,
    id: 'users.remove',
    grouped: 'alike',
    method: 'DELETE',
    summary: 'Remove a user, whose tokens end',
    verb: removeUser,
    errors: ['conflict'],
    example,
  }),
  route({
    ...profileRoute,
    id: 'profile.get',
    method: 'GET',
    summary: 'Get the own profile',
    verb: getProfile,
    answer: item(userShape, wireUser),
    example: { params: { id: 'admin' } },
  }),
  route({
    ...profileRoute,
    id: 'profile.update',
    method: 'PATCH',
    summary: 'Change the own names, or with the current password the own password',
    verb: updateProfile,
    takes: { shape: { name: 'Profile' }, kind: 'part' },
    takesBack: readBack(getProfile, userShape, wireUser),
    answer: item(profileShape, wireProfile),
    errors: ['conflict', 'rate-limited'],
    example: { params: { id: 'admin' }, body: { first: 'Alex' } },
  }),
  route({
    id: 'roles.list',
    grouped: 'alike',
    isLive: false,
    method: 'GET',
    path: '/system/roles',
    summary: 'List the roles and what each may do',
    verb: listRoles,
    answer: list(roleShape, wireRole),
  }),
];
