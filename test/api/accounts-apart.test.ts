import { afterAll, beforeAll, expect, it } from 'vitest';
import { LOGIN_SERVICE_ROUTES } from '../../src/api/login-service/server.ts';
import { MEMBER_SESSION_ROUTES } from '../../src/api/login-service/user-routes.ts';
import { SESSION_PREFIX } from '../../src/api/session.ts';
import { ORGANIZATIONS_PREFIX } from '../../src/api/v1/organization-operation.ts';
import { organizationOperations } from '../../src/api/v1/organizations.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ask, type HostedAnswer, type HostedCall } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { told } from '../helpers/naming.ts';

const PASSWORD = 'forty-two purple elephants';
/** One has an account in another organization, of the other nobody has heard; they are equally long. */
const ADDRESSES = ['known@corp.example', 'other@corp.example'] as const;
const WHOLE = `${ORGANIZATIONS_PREFIX}/acme`;

const routes = [
  ...LOGIN_SERVICE_ROUTES,
  ...MEMBER_SESSION_ROUTES.map(({ method, path }) => ({ method, path: `${SESSION_PREFIX}${path}` })),
  ...organizationOperations(() => 'localhost').map(({ method, path }) => ({ method, path: WHOLE + path })),
];

let app: HostedApp;
/** Of an owner of acme, who tries to learn who is a member of corp. */
let token: string;
/** The same owner in a browser. */
let browser: Readonly<Record<string, string>>;

beforeAll(async () => {
  app = await startHostedApp({
    clock: systemClock,
    settings: { api: { loginRateLimit: '1000/second', loginBackOff: { after: 0 } } },
  });
  token = await app.tokenFor('acme');
  const roles = { organizationRole: 'admin' };
  const made = await app.plane('corp', '/members', { method: 'POST', body: { email: ADDRESSES[0], roles } });
  await signIn({ username: ADDRESSES[0], password: made.body.initialPassword, newPassword: PASSWORD });
  const own = await app.plane('acme', '/members', {
    method: 'POST',
    body: { email: 'eve@acme.example', roles },
  });
  const eve = { username: 'eve@acme.example', password: own.body.initialPassword };
  await signIn({ ...eve, newPassword: PASSWORD });
  const headers = { 'sec-fetch-site': 'same-origin' };
  const body = { ...eve, password: PASSWORD };
  const login = await ask(`${app.authUrl}/session/login`, { method: 'POST', headers, body });
  const [cookie = ''] = String(login.headers['set-cookie']).split(';');
  browser = { ...headers, cookie, 'x-csrf-token': login.body.csrfToken };
});
afterAll(() => app.stop());

const signIn = (body: object): Promise<HostedAnswer> =>
  ask(`${app.authUrl}/session`, { method: 'POST', body });

/** An address in every place where a route might read a name. */
const bodyWith = (address: string) => ({
  ...{ username: address, password: 'some purple elephants', newPassword: 'other purple elephants' },
  ...{ email: address, currentPassword: 'some purple elephants' },
});

/** Bodies that a route accepts, so that it does not stop at the first field. */
const BODIES: Readonly<Record<string, (address: string) => object>> = {
  'POST /oauth/token': address => ({
    ...{
      grant_type: 'client_credentials',
      client_id: address,
      client_secret: address,
      audience: 'https://a',
    },
  }),
  'POST /oauth/revoke': address => ({ client_id: address, client_secret: address, token: address }),
  'POST /session': address => ({ username: address, password: 'some purple elephants' }),
  'POST /session/login': address => ({ username: address, password: 'some purple elephants' }),
  'POST /session/token': () => ({}),
  'POST /session/hand-over': address => ({ workspace: address, state: 'a'.repeat(43) }),
  'POST /session/password': () => ({ currentPassword: 'some', password: 'other purple elephants' }),
  [`POST ${WHOLE}/members`]: email => ({ email, roles: { organizationRole: 'admin' } }),
  [`PATCH ${WHOLE}/members/:id`]: () => ({ roles: { organizationRole: 'admin' } }),
  [`PATCH ${WHOLE}/api-credentials/:clientId`]: description => ({ description }),
  [`POST ${WHOLE}/api-credentials/:clientId/rotate`]: () => ({ grace: '1h' }),
  [`POST ${WHOLE}/api-credentials`]: name => ({ name, roles: { organizationRole: 'user' } }),
  [`POST ${WHOLE}/workspaces`]: workspaceId => ({ workspaceId }),
};

/** What is made up anew for each answer. */
const RANDOM: readonly (readonly [RegExp | string, string])[] = [
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '<ulid>'],
  [/"initialPassword":"\w{5}(-\w{5}){3}"/g, '"initialPassword":"<password>"'],
  [/hgs_\w+/g, '<secret>'],
  [/"secretHint":"[^"]*"/g, '"secretHint":"<hint>"'],
  [/(Bearer )?eyJ[\w.-]+/g, '<token>'],
  [/sid=[\w-]+/g, 'sid=<secret>'],
  [/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>'],
];

const NAMES = ADDRESSES.flatMap(address => [address, encodeURIComponent(address)]);

const lasting = (answer: HostedAnswer): string =>
  [...RANDOM, ...NAMES.map(name => [name, '<address>'] as const)].reduce(
    (text, [made, name]) => text.replaceAll(made, name),
    told(answer),
  );

it.each(routes.map(({ method, path }) => [method, path] as const))(
  '%s %s answers the same for an address of another organization as for one that nobody knows',
  async (method, path) => {
    for (const asOwner of [false, true]) {
      const said: string[] = [];
      for (const address of ADDRESSES) {
        const place = encodeURIComponent(address);
        const url = `${app.authUrl}${path.replace(/:\w+/g, place)}`;
        const make = BODIES[`${method} ${path}`] ?? bodyWith;
        const call: HostedCall = {
          method,
          ...(method !== 'GET' && { body: make(address) }),
          ...(asOwner && path.startsWith(WHOLE) && { token }),
          ...(asOwner && path.startsWith(SESSION_PREFIX) && { headers: browser }),
        };
        const answer = await ask(method === 'GET' ? `${url}?username=${place}&email=${place}` : url, call);
        said.push(lasting(answer));
      }
      expect(said[1]).toBe(said[0]);
    }
  },
);

it('adds a member of another organization like anybody else, with an account that opens nothing there', async () => {
  const email = 'known@corp.example';
  const members = (await app.plane('acme', '/members')).body.items;
  const [known, other] = ADDRESSES.map(address =>
    members.find((one: { email: string }) => one.email === address),
  );
  expect(Object.keys(known)).toEqual(Object.keys(other));
  const removed = await app.plane('acme', `/members/${known.userId}`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  const body = { email, roles: { organizationRole: 'admin' } };
  const { initialPassword } = (await app.plane('acme', '/members', { method: 'POST', body })).body;
  const first = { username: email, password: initialPassword, newPassword: 'ours purple elephants' };
  const ours = await signIn({ ...first, organization: 'acme' });
  const theirs = await signIn({ username: email, password: PASSWORD, organization: 'corp' });
  const asked = async (organization: string, { body: { token: header } }: HostedAnswer) =>
    (
      await ask(`${app.authUrl}/v1/organizations/${organization}/members`, {
        headers: { authorization: header },
      })
    ).status;
  expect([await asked('acme', ours), await asked('corp', ours)]).toEqual([200, 404]);
  expect([await asked('acme', theirs), await asked('corp', theirs)]).toEqual([404, 200]);
});
