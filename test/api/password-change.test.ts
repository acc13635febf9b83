import { afterAll, beforeAll, expect, it } from 'vitest';
import { LOGIN_SERVICE_ROUTES } from '../../src/api/login-service/server.ts';
import { MEMBER_SESSION_ROUTES } from '../../src/api/login-service/user-routes.ts';
import { SESSION_PREFIX } from '../../src/api/session.ts';
import { servedRoutes } from '../../src/api/v1/index.ts';
import { ORGANIZATIONS_PREFIX } from '../../src/api/v1/organization-operation.ts';
import { organizationOperations } from '../../src/api/v1/organizations.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ask } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { isRouteOf, namedIn } from '../helpers/password-change.ts';

const EMAIL = 'bob@acme.example';
const OPEN_IN_SESSION = ['/session/password', '/session/token', '/session', '/session/'];

const organizationRoutes = organizationOperations(() => 'localhost').map(({ method, path }) => ({
  method,
  path: `${ORGANIZATIONS_PREFIX}/acme${path}`,
}));
const sessionRoutes = MEMBER_SESSION_ROUTES.map(({ method, path }) => ({
  method,
  path: SESSION_PREFIX + path,
}));
const ofLoginService = [...LOGIN_SERVICE_ROUTES, ...sessionRoutes, ...organizationRoutes];
const ofWorkspace = servedRoutes.filter(({ isOfInstallation }) => !isOfInstallation);

let app: HostedApp;
let oneTime: string;
/** Of a member who must choose another password. */
let token: string;

beforeAll(async () => {
  app = await startHostedApp({
    clock: systemClock,
    settings: { api: { loginRateLimit: '1000/second', loginBackOff: { after: 0 } } },
  });
  const body = { email: EMAIL, roles: { organizationRole: 'admin' } };
  oneTime = (await app.plane('acme', '/members', { method: 'POST', body })).body.initialPassword;
  const login = await signIn({ username: EMAIL, password: oneTime });
  expect(login.body.forcePasswordChange).toBe(true);
  token = login.body.token.replace('Bearer ', '');
});
afterAll(() => app.stop());

const signIn = (body: object) => ask(`${app.authUrl}/session`, { method: 'POST', body });
const filled = (path: string): string => path.replace(/:\w+/g, 'no-such-thing');

/** The request that is named is one of the login service, which is open to the member. */
function expectRemedy(message: string): void {
  const remedy = namedIn(message);
  expect(remedy.origin).toBe(app.authUrl);
  expect(ofLoginService.filter(isRouteOf(remedy))).toHaveLength(1);
}

it.each(ofWorkspace.map(({ method, path, id }) => [id, method, path] as const))(
  'a workspace keeps a member who must choose another password from %s, and names what the login service serves',
  async (_, method, path) => {
    const call = { method, token, ...(/^P/.test(method) && { body: {} }) };
    const { status, body } = await app.api('main-acme', filled(path), call);
    expect([status, body.code]).toEqual([403, 'password-change-required']);
    expectRemedy(body.message);
  },
);

it.each(organizationRoutes.map(({ method, path }) => [method, path] as const))(
  'the login service keeps such a member from %s %s, and names what it serves',
  async (method, path) => {
    const call = { method, token, ...(/^P/.test(method) && { body: {} }) };
    const { status, body } = await ask(app.authUrl + filled(path), call);
    expect(status).toBe(403);
    expectRemedy(body.message);
  },
);

it('every route of a browser’s session that refuses such a member names what is open in that session', async () => {
  const headers = { 'sec-fetch-site': 'same-origin' };
  const refused: string[] = [];
  for (const { method, path } of sessionRoutes) {
    const login = await ask(`${app.authUrl}/session/login`, {
      ...{ method: 'POST', headers, body: { username: EMAIL, password: oneTime } },
    });
    const [cookie = ''] = String(login.headers['set-cookie']).split(';');
    const { status, body } = await ask(app.authUrl + path, {
      method,
      headers: { ...headers, cookie, 'x-csrf-token': login.body.csrfToken },
      ...(method === 'POST' && { body: path === '/session/hand-over' ? HAND_OVER : {} }),
    });
    if (status !== 403) continue;
    refused.push(path);
    expect(body.code).toBe('password-change-required');
    expectRemedy(body.message);
    expect(OPEN_IN_SESSION).toContain(namedIn(body.message).path);
  }
  expect(refused).toEqual(['/session/hand-over']);
});
const HAND_OVER = { workspace: 'main-acme', state: 'a'.repeat(43) };

it('the request that is named opens what was refused', async () => {
  const { body } = await app.api('main-acme', '/notifications', { token });
  const { origin = '', path, method } = namedIn(body.message);
  const sent = { username: EMAIL, password: oneTime, newPassword: 'forty-two purple elephants' };
  const changed = await ask(origin + path, { method, body: sent });
  expect(changed.status).toBe(200);
  const opened = { token: changed.body.token.replace('Bearer ', '') };
  expect((await app.api('main-acme', '/notifications', opened)).status).toBe(200);
});
