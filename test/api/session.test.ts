import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { type ApiServer, type CallOptions, JSON_BODY, startApiServer } from './api-server.ts';

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '100/second' },
      instance: { externalUrl: 'https://headgate.example' },
    },
  });
});
afterAll(() => server?.stop());

const OWN = ['sec-fetch-site', 'same-origin'] as const;
type Header = readonly [string, string];

async function ask(method: string, path: string, options: CallOptions) {
  const answer = await server.call(method, path, options);
  const [cookie = ''] = [answer.headers['set-cookie'] ?? []].flat();
  return { http: answer.status, cookie, headers: answer.headers, body: JSON.parse(answer.text) };
}

const token = (...headers: readonly Header[]) =>
  ask('POST', '/session/token', { headers: [JSON_BODY, ...headers], body: '{}' });

const signIn = (password = ADMIN_PASSWORD, headers: readonly Header[] = [OWN]) =>
  ask('POST', '/session/login', {
    headers: [JSON_BODY, ...headers],
    body: JSON.stringify({ username: 'admin', password }),
  });

async function signedIn() {
  const { cookie, body } = await signIn();
  const sid: Header = ['cookie', cookie.split(';')[0] ?? ''];
  return { sid, csrf: ['x-csrf-token', body.csrfToken] as const, body };
}

const look = async (...headers: Header[]) => (await ask('GET', '/session', { headers })).body;

it('signs a browser in with a cookie that no script can read, and tells who it is', async () => {
  const { http, cookie, body } = await signIn();
  expect(http).toBe(200);
  expect(cookie).toMatch(/^sid=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(body).toMatchObject({
    signedIn: true,
    user: { username: 'admin', role: 'admin' },
    method: 'password',
    forcePasswordChange: false,
  });
  expect(await look(['cookie', cookie.split(';')[0] ?? ''])).toEqual(body);
  expect(server.log()).not.toContain(/sid=([\w-]+)/.exec(cookie)?.[1]);
});

it('tells a stranger that nobody is signed in', async () => {
  expect(await look()).toMatchObject({ signedIn: false });
  expect(await look(['cookie', `sid=${'x'.repeat(43)}`])).toMatchObject({ signedIn: false });
  expect(await look(['cookie', 'sid=constructor'])).toMatchObject({ signedIn: false });
});

it('refuses a wrong password in the words of the login', async () => {
  const { http, cookie, body } = await signIn('wrong');
  const login = await ask('POST', '/api/v1/auth/login', {
    headers: [JSON_BODY],
    body: JSON.stringify({ username: 'admin', password: 'wrong' }),
  });
  expect([http, cookie]).toEqual([401, '']);
  expect({ ...body, requestId: '' }).toEqual({ ...login.body, requestId: '' });
});

it('hands the page a token of five minutes, with which the API can be called', async () => {
  const { sid, csrf } = await signedIn();
  const { http, body } = await token(sid, csrf, OWN);
  expect([http, body.expiresIn]).toEqual([200, 300]);
  const me = await ask('GET', '/api/v1/auth/me', { headers: [['authorization', body.token]] });
  expect([me.http, me.body.items[0].name]).toEqual([200, 'admin']);
});

it('opens nothing of the API by the cookie alone', async () => {
  const { sid } = await signedIn();
  expect((await ask('GET', '/api/v1/auth/me', { headers: [sid] })).http).toBe(401);
});

it('signs out: the cookie is taken back and worth nothing', async () => {
  const { sid, csrf } = await signedIn();
  const { http, cookie, body } = await ask('DELETE', '/session', { headers: [sid, csrf, OWN] });
  expect([http, cookie]).toEqual([200, 'sid=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0']);
  expect(body).toMatchObject({ signedIn: false });
  expect(await look(sid)).toMatchObject({ signedIn: false });
  const again = await token(sid, csrf, OWN);
  expect([again.http, again.body.code]).toEqual([401, 'unauthenticated']);
});

const api = async (bearer: string) =>
  (await ask('GET', '/api/v1/auth/me', { headers: [['authorization', bearer]] })).http;

it.each([
  [
    'a sign-out',
    async ({ sid, csrf }: Awaited<ReturnType<typeof signedIn>>) =>
      ask('DELETE', '/session', { headers: [sid, csrf, OWN] }),
  ],
  [
    'a logout with one of them',
    async ({ sid, csrf }: Awaited<ReturnType<typeof signedIn>>) => {
      const { body } = await token(sid, csrf, OWN);
      return ask('POST', '/api/v1/auth/logout', {
        headers: [JSON_BODY, ['authorization', body.token]],
        body: '{}',
      });
    },
  ],
  [
    'the next sign-in in the same browser',
    async ({ sid }: Awaited<ReturnType<typeof signedIn>>) => signIn(ADMIN_PASSWORD, [OWN, sid]),
  ],
])('ends all tokens of a session with %s, and those of no other', async (_what, end) => {
  const [own, other] = [await signedIn(), await signedIn()];
  const tokens = [await token(own.sid, own.csrf, OWN), await token(own.sid, own.csrf, OWN)];
  const kept = await token(other.sid, other.csrf, OWN);
  for (const { body } of [...tokens, kept]) expect(await api(body.token)).toBe(200);
  expect((await end(own)).http).toBe(200);
  for (const { body } of tokens) expect(await api(body.token)).toBe(401);
  expect(await look(own.sid)).toMatchObject({ signedIn: false });
  expect([await api(kept.body.token), await api(server.token)]).toEqual([200, 200]);
});

it('begins each sign-in with a cookie of its own, whatever the browser had', async () => {
  const planted: Header = ['cookie', `sid=${'p'.repeat(43)}`];
  const first = await signIn(ADMIN_PASSWORD, [OWN, planted]);
  expect(first.cookie).not.toContain('pppp');
  const before: Header = ['cookie', first.cookie.split(';')[0] ?? ''];
  const second = await signIn(ADMIN_PASSWORD, [OWN, before]);
  expect(second.cookie).not.toBe(first.cookie);
  expect(await look(before)).toMatchObject({ signedIn: false });
  expect(await look(planted)).toMatchObject({ signedIn: false });
});

it.each([
  ['a page of another site', [['sec-fetch-site', 'cross-site']]],
  ['a page of a neighbouring host', [['sec-fetch-site', 'same-site']]],
  ['an address that was typed', [['sec-fetch-site', 'none']]],
  ['an origin that hides', [['origin', 'null']]],
  ['another origin', [['origin', 'https://evil.example']]],
  ['nobody knows where', []],
] as const)('refuses changes that come from %s', async (_where, headers) => {
  const { sid, csrf } = await signedIn();
  const refused = [
    await token(sid, csrf, ...headers),
    await ask('DELETE', '/session', { headers: [sid, csrf, ...headers] }),
  ];
  for (const { http, body } of refused) expect([http, body.code]).toEqual([403, 'forbidden']);
  expect((await signIn(ADMIN_PASSWORD, headers)).http).toBe(403);
  expect(await look(sid)).toMatchObject({ signedIn: true });
});

it('takes the origin of an older browser, be it behind a proxy', async () => {
  const { sid, csrf } = await signedIn();
  expect((await token(sid, csrf, ['origin', server.url])).http).toBe(200);
  expect((await token(sid, csrf, ['origin', 'https://headgate.example'])).http).toBe(200);
});

it.each([
  ['none', []],
  ['a wrong one', [['x-csrf-token', 'x']]],
  ["another session's", undefined],
] as const)('refuses changes whose token against foreign pages is %s', async (_which, given) => {
  const { sid } = await signedIn();
  const headers = given ?? [(await signedIn()).csrf];
  const { http, body } = await token(sid, OWN, ...headers);
  expect([http, body.code]).toEqual([403, 'forbidden']);
});

it('reads JSON only, as forms of other sites can send text', async () => {
  const { http } = await ask('POST', '/session/login', {
    headers: [['content-type', 'text/plain'], OWN],
    body: JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD }),
  });
  expect(http).toBe(415);
});

it('does not choose between two cookies of one name', async () => {
  const { sid } = await signedIn();
  expect(await look(['cookie', `${sid[1]}; sid=planted`])).toMatchObject({ signedIn: false });
});

it('says which methods there are', async () => {
  const { http, headers } = await ask('PUT', '/session', { headers: [OWN] });
  expect([http, headers.allow]).toEqual([405, 'GET, HEAD, DELETE']);
  expect((await ask('GET', '/session/nothing', { headers: [] })).http).toBe(404);
});

it('goes on with its idle limit when the page says that nobody does anything', async () => {
  const { sid, csrf } = await signedIn();
  const say = (body: string) => ask('POST', '/session/token', { headers: [JSON_BODY, sid, csrf, OWN], body });
  expect((await say('{"active":false}')).http).toBe(200);
  expect((await say('{"active":"yes"}')).http).toBe(400);
});
