import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES } from '../../src/auth/permissions.ts';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { addedUser, GOOD_PASSWORD } from '../helpers/users.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

let server: ApiServer;
let asAdmin: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { api: { loginRateLimit: '1000/second', trustedProxies: ['127.0.0.1'] } },
  });
  asAdmin = jsonCaller(server);
});
afterAll(() => server.stop());

type Header = readonly [string, string];
const OWN: Header = ['sec-fetch-site', 'same-origin'];
/** As a proxy in front says that the browser came encrypted. */
const ENCRYPTED: Header = ['x-forwarded-proto', 'https'];
const GOOD_LOGIN = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD });

async function signIn(...headers: Header[]) {
  const answer = await server.call('POST', '/session/login', {
    headers: [JSON_BODY, OWN, ...headers],
    body: GOOD_LOGIN,
  });
  const [cookie = ''] = [answer.headers['set-cookie'] ?? []].flat();
  const [name = '', secret = ''] = (cookie.split(';')[0] ?? '').split('=');
  return { name, secret, csrf: ['x-csrf-token', String(JSON.parse(answer.text).csrfToken)] as const };
}

async function isSignedIn(cookie: string, ...headers: Header[]): Promise<boolean> {
  const { text } = await server.call('GET', '/session', { headers: [['cookie', cookie], ...headers] });
  return JSON.parse(text).signedIn;
}

describe('a cookie under encryption', () => {
  it('counts under the one name that no other host can set', async () => {
    const { name, secret } = await signIn(ENCRYPTED);
    expect(name).toBe('__Host-sid');
    expect(await isSignedIn(`__Host-sid=${secret}`, ENCRYPTED)).toBe(true);
    for (const cookie of [
      `sid=${secret}`,
      `__Secure-sid=${secret}`,
      `__host-sid=${secret}`,
      `__Host-sid =${secret}`,
    ])
      expect(await isSignedIn(cookie, ENCRYPTED)).toBe(false);
  });

  it('that a neighbouring host adds takes nobody over', async () => {
    const [own, planted] = [await signIn(ENCRYPTED), await signIn(ENCRYPTED)];
    expect(await isSignedIn(`sid=${planted.secret}; __Host-sid=${own.secret}`, ENCRYPTED)).toBe(true);
    for (const pair of [
      [own.secret, planted.secret],
      [planted.secret, own.secret],
    ])
      expect(await isSignedIn(pair.map(one => `__Host-sid=${one}`).join('; '), ENCRYPTED)).toBe(false);
  });

  it('is a new one at each sign-in, and the one that was there is over', async () => {
    const fixed = await signIn(ENCRYPTED);
    const after = await signIn(ENCRYPTED, ['cookie', `__Host-sid=${fixed.secret}`]);
    expect(after.secret).not.toBe(fixed.secret);
    expect(await isSignedIn(`__Host-sid=${fixed.secret}`, ENCRYPTED)).toBe(false);
    expect(await isSignedIn(`__Host-sid=${after.secret}`, ENCRYPTED)).toBe(true);
  });
});

describe('a page of another site', () => {
  const FORMS: readonly (readonly [string, string])[] = [
    ['application/x-www-form-urlencoded', `username=admin&password=${encodeURIComponent(ADMIN_PASSWORD)}`],
    ['text/plain', GOOD_LOGIN],
    [
      'multipart/form-data; boundary=x',
      `--x\r\ncontent-disposition: form-data; name="username"\r\n\r\nadmin\r\n--x--`,
    ],
  ];

  it.each(FORMS)('that posts a form as %s gets nothing, whatever cookie comes along', async (type, body) => {
    const { name, secret, csrf } = await signIn();
    for (const origin of ['null', 'https://evil.example', undefined])
      for (const path of ['/session/login', '/session/token']) {
        const { status, headers } = await server.call('POST', path, {
          headers: [
            ['content-type', type],
            ['cookie', `${name}=${secret}`],
            csrf,
            ...(origin === undefined ? [] : [['origin', origin] as const]),
          ],
          body,
        });
        expect([path, status, headers['set-cookie']]).toEqual([path, 403, undefined]);
      }
    expect(await isSignedIn(`${name}=${secret}`)).toBe(true);
  });

  it('changes nothing with the cookie at the API, and a program with a token may say it comes from anywhere', async () => {
    const { name, secret } = await signIn();
    let count = 0;
    const write = (...headers: Header[]) =>
      server.call('POST', '/api/v1/system/messages', {
        headers: [JSON_BODY, ...headers],
        body: JSON.stringify({ id: `afar-${count++}`, severity: 'info', title: 'a', text: 'b' }),
      });
    expect((await write(['cookie', `${name}=${secret}`], OWN)).status).toBe(401);
    const known: Header = ['authorization', server.token];
    for (const from of [
      ['origin', 'null'],
      ['origin', 'https://evil.example'],
      ['sec-fetch-site', 'cross-site'],
    ] as const)
      expect((await write(known, from)).status).toBe(200);
  });

  it('may read nothing: no answer allows another origin', async () => {
    for (const path of ['/api/v1/health', '/session', '/api/v1/notifications'])
      for (const method of ['GET', 'OPTIONS']) {
        const { headers } = await server.call(method, path, {
          headers: [
            ['origin', 'https://evil.example'],
            ['authorization', server.token],
            ['access-control-request-method', 'POST'],
          ],
        });
        expect(Object.keys(headers).filter(name => name.startsWith('access-control-'))).toEqual([]);
      }
  });
});

describe('nobody gets more than they have', () => {
  const BELOW = ROLES.filter(role => role !== 'admin');

  it.each(BELOW)('as %s: neither for themselves nor for another', async role => {
    const { id, call } = await addedUser(server, `low-${role}`, { roles: [role] });
    const another = { username: `made-by-${role}`, password: GOOD_PASSWORD };
    const refused = [
      await call('PATCH', `/system/users/${id}`, { roles: ['admin'] }),
      await call('PATCH', `/system/users/${id}/info`, { roles: ['admin'] }),
      await call('PATCH', `/system/users/${id}/info`, { roles: ['admin', role] }),
      await call('PATCH', `/system/users/${id}/info`, { disabled: true }),
      await call('PATCH', '/system/users/admin', { password: GOOD_PASSWORD }),
      await call('PATCH', '/system/users/admin/info', { first: 'Mallory' }),
      await call('POST', '/system/users', { ...another, roles: ['admin'] }),
      await call('POST', '/system/users', { ...another, roles: [role] }),
      await call('POST', '/system/users', another),
      await call('DELETE', '/system/users/admin'),
      await call('DELETE', '/auth/users/admin/token'),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    const { body } = await asAdmin('GET', `/system/users/${id}`);
    expect(body.items[0]).toMatchObject({ roles: [role], disabled: false });
    expect((await asAdmin('GET', `/system/users/${another.username}`)).status).toBe(404);
    expect((await asAdmin('GET', '/system/users/admin')).body.items[0].first).not.toBe('Mallory');
  });

  it('by naming somebody else in the body: who acts is who the token says', async () => {
    const { id, call } = await addedUser(server, 'forger', { roles: ['editor'] });
    for (const name of ['userId', 'user', 'actor', 'author', 'createdBy', 'sub'])
      for (const answer of [
        await call('PATCH', `/system/users/${id}/info`, { first: 'F', [name]: 'admin' }),
        await call('POST', '/notification-targets', {
          id: 'forged',
          type: 'bulletin_message',
          [name]: 'admin',
        }),
        await asAdmin('POST', '/system/users', { username: 'x', password: GOOD_PASSWORD, [name]: 'admin' }),
      ])
        expect([name, answer.status]).toEqual([name, 400]);
    const query = '?userId=admin&actor=admin&user=admin';
    const target = { id: 'honest', type: 'bulletin_message' };
    expect((await call('POST', `/notification-targets${query}`, target)).status).toBe(200);
    const [entry] = (await asAdmin('GET', '/audit?action=targets.create&limit=1')).body.items;
    expect(entry).toMatchObject({ target: 'honest', actor: 'forger' });
    expect((await call('GET', `/auth/me${query}`)).text).not.toContain('"username":"admin"');
  });

  it('by a token whose role was lowered: the very next call is refused', async () => {
    const { id, call } = await addedUser(server, 'lowered', { roles: ['admin'] });
    expect((await call('GET', '/system/users')).status).toBe(200);
    await asAdmin('PATCH', `/system/users/${id}`, { roles: ['reader'] });
    expect([401, 403]).toContain((await call('GET', '/system/users')).status);
    await asAdmin('PATCH', `/system/users/${id}`, { roles: ['admin'] });
    expect((await call('GET', '/system/users')).status).toBe(401);
  });
});
