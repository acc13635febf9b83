import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { until } from '../helpers/until.ts';
import { addedUser, callerWith, loginAt } from '../helpers/users.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

let server: ApiServer;
let asAdmin: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { api: { loginRateLimit: '1000/second' }, auth: { signingAlgorithm: 'RS256' } },
  });
  asAdmin = jsonCaller(server);
  await until(async () => (await keys()).length === 2, 'the next key');
});
afterAll(() => server.stop());

const keys = async () => (await asAdmin('GET', '/system/signing-keys')).body.items;
const bare = async (): Promise<string> =>
  (await loginAt(server, 'admin', ADMIN_PASSWORD)).body.token.replace('Bearer ', '');
const jwks = () => server.call('GET', '/.well-known/jwks.json', { headers: [] });

it('shows keys to whoever may see settings, and never what is private of them', async () => {
  const { body, text } = await asAdmin('GET', '/system/signing-keys');
  expect(body.items.map(({ state }: { state: string }) => state).sort()).toEqual(['active', 'next']);
  expect(text).not.toMatch(/private|"d"|"p"/);
  const editor = await addedUser(server, 'ed', { roles: ['editor'] });
  expect((await editor.call('GET', '/system/signing-keys')).status).toBe(403);
  expect((await editor.call('POST', '/system/signing-keys/rotate', {})).status).toBe(403);
});

it('publishes what others need to verify a token, open to everybody', async () => {
  const answer = await jwks();
  expect(answer.status).toBe(200);
  expect(answer.headers['cache-control']).toBe('public, max-age=300');
  const set = JSON.parse(answer.text);
  for (const jwk of set.keys) expect(Object.keys(jwk).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  const { payload } = await jwtVerify(await bare(), createLocalJWKSet(set), { typ: 'session+jwt' });
  expect(payload.aud).toBe('headgate-api');
});

it('turns to the key that was next; tokens of the one before go on, and those of the new one verify', async () => {
  const before = await bare();
  const published = JSON.parse((await jwks()).text);
  const { body } = await asAdmin('POST', '/system/signing-keys/rotate', {});
  const after = await bare();
  expect(decodeProtectedHeader(after).kid).toBe(body.items[0].id);
  expect(decodeProtectedHeader(before).kid).not.toBe(body.items[0].id);
  await jwtVerify(after, createLocalJWKSet(published));
  for (const token of [before, after])
    expect((await callerWith(server, `Bearer ${token}`)('GET', '/auth/me')).status).toBe(200);
  const [entry] = (await asAdmin('GET', '/audit?action=keys.rotate&limit=1')).body.items;
  expect(entry).toMatchObject({ actor: 'admin', result: 'ok' });
});

it('ends every token when a key is compromised, the one of the caller too', async () => {
  const token = await bare();
  expect((await asAdmin('POST', '/system/signing-keys/rotate', { compromised: true })).status).toBe(200);
  for (const call of [asAdmin, callerWith(server, `Bearer ${token}`)])
    expect((await call('GET', '/auth/me')).status).toBe(401);
  const fresh = callerWith(server, `Bearer ${await bare()}`);
  expect((await fresh('GET', '/auth/me')).status).toBe(200);
  asAdmin = fresh;
});

it.each([{ compromised: 'yes' }, { all: true }])('refuses %j', async body => {
  expect((await asAdmin('POST', '/system/signing-keys/rotate', body)).status).toBe(400);
});

it('takes a change of algorithm for the keys to come', async () => {
  const changed = await asAdmin('PATCH', '/system/settings/auth', { signingAlgorithm: 'ES256' });
  expect(changed.status).toBe(200);
  await asAdmin('POST', '/system/signing-keys/rotate', {});
  expect(decodeProtectedHeader(await bare()).alg).toBe('ES256');
});
