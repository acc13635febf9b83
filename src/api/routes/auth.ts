import { logOut } from '../../resources/auth/logout.ts';
import { getMe } from '../../resources/auth/me.ts';
import { listOwnRoles } from '../../resources/auth/own-roles.ts';
import { listPolicy } from '../../resources/auth/policy.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { meShape, wireMe } from '../wire/me.ts';
import { roleNameShape, ruleShape, wireRoleName, wireRule } from '../wire/role.ts';
import { successShape, wireSuccess } from '../wire/user.ts';

export const authRoutes: readonly Route[] = [
  route({
    id: 'auth.me',
    isLive: false,
    method: 'GET',
    path: '/auth/me',
    summary: 'Tell who calls and what they may do',
    verb: getMe,
    answer: item(meShape, wireMe),
  }),
  route({
    id: 'auth.logout',
    isLive: false,
    method: 'POST',
    path: '/auth/logout',
    summary: 'End the token that is shown',
    verb: logOut,
    answer: item(successShape, wireSuccess),
  }),
  route({
    id: 'auth.policy',
    isLive: false,
    method: 'GET',
    path: '/authorize/policy',
    summary: 'List what the caller may do with each kind of resource',
    verb: listPolicy,
    answer: list(ruleShape, wireRule),
  }),
  route({
    id: 'auth.roles',
    isLive: false,
    method: 'GET',
    path: '/authorize/roles',
    summary: "List the names of the caller's roles",
    verb: listOwnRoles,
    answer: list(roleNameShape, wireRoleName),
  }),
];
