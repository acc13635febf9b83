import { createClient, HeadgateError, HeadgateUsageError } from '@headgate/client';
import { expect, test } from 'vitest';
import { json, scriptedServer, token } from './scripted-server.ts';

const auth = { username: 'ci', password: 'a long password' };
const engines = { items: [], count: 0, offset: 0, limit: 200, totalCount: 0 };

/** Answers logins with tokens of that lifetime, numbered; `accepts` says which number is good. */
async function withLogin(seconds: number, accepts: (number: number) => boolean = () => true) {
  let logins = 0;
  const server = await scriptedServer(({ url, authorization }, response) => {
    if (url === '/api/v1/auth/login') {
      logins += 1;
      return json(response, 200, { token: token(`t${logins}`, seconds), forcePasswordChange: false });
    }
    const known = Array.from({ length: logins }, (_, index) => index + 1);
    const number = known.find(one => token(`t${one}`, seconds) === authorization) ?? 0;
    if (accepts(number)) return json(response, 200, engines);
    json(response, 401, { status: 'error', message: 'no', code: 'unauthenticated', requestId: 'r' });
  });
  return { server, logins: () => logins };
}

test('50 calls at once need one login', async () => {
  const { server, logins } = await withLogin(3600);
  const client = createClient({ baseUrl: server.url, auth });
  await Promise.all(Array.from({ length: 50 }, () => client.engines.list().all()));
  expect(logins()).toBe(1);
});

test('a token is renewed a minute before its end, and not sooner', async () => {
  let now = 0;
  const { server, logins } = await withLogin(3600);
  const client = createClient({ baseUrl: server.url, auth, now: () => now });
  await client.engines.list().all();
  now = 3_539_000;
  await client.engines.list().all();
  expect(logins()).toBe(1);
  now = 3_541_000;
  await Promise.all([client.engines.list().all(), client.engines.list().all()]);
  expect(logins()).toBe(2);
});

test('a token of a few seconds is used for nine tenths of them', async () => {
  let now = 0;
  const { server, logins } = await withLogin(10);
  const client = createClient({ baseUrl: server.url, auth, now: () => now });
  await client.engines.list().all();
  now = 8_900;
  await client.engines.list().all();
  expect(logins()).toBe(1);
  now = 9_100;
  await client.engines.list().all();
  expect(logins()).toBe(2);
});

test('20 calls whose token was ended meanwhile need one more login, and all are answered', async () => {
  let good = 1;
  const { server, logins } = await withLogin(3600, number => number === good);
  const client = createClient({ baseUrl: server.url, auth });
  await client.engines.list().all();
  good = 2;
  await Promise.all(Array.from({ length: 20 }, () => client.engines.list().all()));
  expect(logins()).toBe(2);
});

test('a caller nobody takes gets the refusal after one new token, and no third try', async () => {
  const { server, logins } = await withLogin(3600, () => false);
  const client = createClient({ baseUrl: server.url, auth });
  await expect(client.engines.list().all()).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
  expect(logins()).toBe(2);
  expect(server.seen.filter(({ url }) => url.includes('engines'))).toHaveLength(2);
});

test('who gives up waiting for a login does not end it for the others', async () => {
  const waiting: (() => void)[] = [];
  const server = await scriptedServer(({ url }, response) => {
    const answer = (): void => json(response, 200, { token: token('t', 60), forcePasswordChange: false });
    if (url === '/api/v1/auth/login') waiting.push(answer);
    else json(response, 200, engines);
    if (url === '/api/v1/auth/login') abort.abort(new Error('given up'));
  });
  const abort = new AbortController();
  const client = createClient({ baseUrl: server.url, auth });
  const other = client.engines.list().all();
  await expect(client.settings.get({}, { signal: abort.signal })).rejects.toThrow('given up');
  for (const answer of waiting) answer();
  await expect(other).resolves.toEqual([]);
});

test('client credentials are sent as a form, and the secret is in no error', async () => {
  const server = await scriptedServer(({ url, body }, response) => {
    if (url !== '/oauth/token') return json(response, 200, engines);
    if (!body.includes('client_secret=s3cret')) return json(response, 401, { error: 'access_denied' });
    json(response, 200, { access_token: 'a.b.c', token_type: 'Bearer', expires_in: 86_400, scope: '' });
  });
  const credentials = { clientId: 'id', authUrl: `${server.url}/`, audience: 'https://api.example' };
  const client = (clientSecret: string) =>
    createClient({ baseUrl: server.url, auth: { ...credentials, clientSecret } });
  await client('s3cret').engines.list().all();
  expect(server.seen[0]?.body).toBe(
    'grant_type=client_credentials&client_id=id&client_secret=s3cret&audience=https%3A%2F%2Fapi.example',
  );
  expect(server.seen[1]?.authorization).toBe('Bearer a.b.c');
  const refused = await client('wr0ng')
    .engines.list()
    .all()
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(HeadgateError);
  expect(refused).toMatchObject({ status: 401, code: 'access_denied' });
  expect(String(refused)).not.toContain('wr0ng');
});

test.each([
  ['bare', 'a.b.c', 'Bearer a.b.c'],
  ['with its word Bearer', 'Bearer a.b.c', 'Bearer a.b.c'],
])('a token from elsewhere, %s, goes into the header', async (_, given, header) => {
  const server = await scriptedServer((_request, response) => json(response, 200, engines));
  await createClient({ baseUrl: server.url, auth: { token: async () => given } })
    .engines.list()
    .all();
  expect(server.seen[0]?.authorization).toBe(header);
});

test('without authentication only what is public can be asked', async () => {
  const server = await scriptedServer((_request, response) => json(response, 200, { status: 'healthy' }));
  const client = createClient({ baseUrl: server.url });
  await expect(client.health.get()).resolves.toEqual({ status: 'healthy' });
  await expect(client.engines.list().all()).rejects.toThrow(HeadgateUsageError);
  await expect(client.ingest.samples({ body: { samples: [] } })).rejects.toThrow('ingestToken');
  expect(server.seen).toHaveLength(1);
  expect(server.seen[0]?.authorization).toBeUndefined();
});
