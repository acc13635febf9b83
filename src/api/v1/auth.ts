import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Actor } from '../../auth/actor.ts';
import type { Identity } from '../../auth/identity.ts';
import { type Permission, ROLES } from '../../auth/permissions.ts';
import { readInput } from '../../lib/problem-list.ts';
import { getMe, listOwnRoles, listPolicy, logOut } from '../../resources/auth.ts';
import { item, list } from '../envelope.ts';
import type { Operation, Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';
import { roleNameShape, ruleShape, successShape, wireRoleName, wireRule, wireSuccess } from './users.ts';

export const credentialsSchema = z.object({
  username: z.string(),
  // Hashing replaces every lone surrogate by the same character.
  password: z.string().refine(text => !/\p{Surrogate}/u.test(text), 'must be well-formed Unicode text'),
});
const loginAnswerSchema = z.object({
  token: z.string().describe('The whole value of the header Authorization: it begins with the word Bearer.'),
  forcePasswordChange: z.boolean().describe('Whether the password must be changed before anything else.'),
});

export const loginOperation: Operation = {
  id: 'auth.login',
  method: 'POST',
  path: '/auth/login',
  summary: 'Get a token for a user name and a password',
  access: 'public',
  params: {},
  query: {},
  body: { kind: 'whole', shape: { name: 'Credentials', schema: credentialsSchema }, isRequired: true },
  takesIfMatch: false,
  answer: { kind: 'object', shape: { name: 'Login', schema: loginAnswerSchema } },
  hasEtag: false,
  errors: ['unauthenticated', 'rate-limited'],
  example: { body: { username: 'admin', password: 'correct horse battery staple' } },
};

/** The caller is not authenticated yet, and parsing megabytes would block the process for a second. */
export const MOST_LOGIN_BYTES = 16 * 1024;

/** `POST /auth/login` answers a bare `{token, forcePasswordChange}`; the token begins with the word Bearer. */
export function addLogin(scope: FastifyInstance, identity: Pick<Identity, 'login'>): void {
  scope.post(loginOperation.path, { bodyLimit: MOST_LOGIN_BYTES }, async request => {
    const input = readInput(credentialsSchema, request.body);
    return identity.login({ ...input, address: request.ip, requestId: request.id });
  });
}

const me = z.object({
  id: z.string(),
  kind: z.enum(['user', 'credential', 'member']),
  name: z.string(),
  role: z.enum(ROLES),
  permissions: z.array(z.string()).readonly().describe('As in `read:inputs`.'),
});
const meShape: Shape = { name: 'Me', schema: me };

interface KnownActor {
  readonly actor: Actor;
  readonly permissions: readonly Permission[];
}

const wireMe = ({ actor, permissions }: KnownActor): z.output<typeof me> => ({
  id: actor.id,
  kind: actor.kind,
  name: actor.name,
  role: actor.role,
  permissions,
});

export const authRoutes: readonly Route[] = [
  route({
    id: 'auth.me',
    isLive: false,
    method: 'GET',
    path: '/auth/me',
    summary: 'Get the caller and what they may do',
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
