import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_PREFIX, servedRoutes } from '../../src/api/v1/index.ts';
import { type Permission, permissionsOf, ROLES } from '../../src/auth/permissions.ts';
import { isRouteOf, namedIn } from '../helpers/password-change.ts';
import { addedUser, callerWith, GOOD_PASSWORD, loginAt } from '../helpers/users.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

let server: ApiServer;
const tokens = new Map<string, string>();

beforeAll(async () => {
  server = await startApiServer({ settings: { api: { loginRateLimit: '1000/second' } } });
  for (const role of ROLES)
    tokens.set(role, (await addedUser(server, `sweep-${role}`, { roles: [role] })).token);
  await addedUser(server, 'sweep-forced', { roles: ['admin'], forcePasswordChange: true });
});
afterAll(() => server.stop());

/** Nothing is called so, so that whoever may do it changes nothing. */
const pathOf = (path: string): string => path.replace(/:(\w+)/g, 'no-such-thing');

const isPermission = (access: string): access is Permission => /^(read|update):/.test(access);
const guarded = servedRoutes.flatMap(({ id, method, path, access }) =>
  isPermission(access) ? [{ id, method, path: pathOf(path), access }] : [],
);
/** What whoever must choose another password may do. */
const OPEN_BEFORE = ['auth.me', 'auth.logout', 'profile.get', 'profile.update'];

describe.each(ROLES)('the role %s', role => {
  it.each(guarded.map(one => [one.id, one] as const))('and %s', async (_, { method, path, access }) => {
    const call = callerWith(server, tokens.get(role) ?? '');
    const { status, body } = await call(method, path, method === 'GET' ? undefined : {});
    if (permissionsOf(role).has(access)) expect(status).not.toBe(403);
    else
      expect([status, body.code, body.message]).toEqual([
        403,
        'forbidden',
        expect.stringContaining(`'${access}'`),
      ]);
  });
});

it.each(servedRoutes.map(one => [one.id, one] as const))(
  'lets nobody without a token do %s',
  async (_, row) => {
    const { status } = await server.call(row.method, API_PREFIX + pathOf(row.path), { headers: [] });
    expect(status).toBe(401);
  },
);

it.each(servedRoutes.filter(({ id }) => !OPEN_BEFORE.includes(id)).map(one => [one.id, one] as const))(
  'keeps whoever must choose another password from %s',
  async (_, { method, path }) => {
    const { token } = (await loginAt(server, 'sweep-forced', GOOD_PASSWORD)).body;
    const answer = await callerWith(server, token)(method, pathOf(path), method === 'GET' ? undefined : {});
    expect([answer.status, answer.body.code]).toEqual([403, 'password-change-required']);
    const remedy = namedIn(answer.body.message);
    expect(servedRoutes.filter(isRouteOf(remedy)).map(({ id }) => id)).toEqual(['profile.update']);
    const followed = await callerWith(server, token)(remedy.method, remedy.path.slice(API_PREFIX.length), {});
    expect(followed.status).toBe(200);
  },
);
