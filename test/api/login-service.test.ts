import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { LoginService } from '../../src/app/deployments/login-service.ts';
import { AUDIENCE, ISSUER, OWNER, openTenants, type Tenants } from '../helpers/tenants.ts';
import { basic, errorOf, FORM_TYPE, poster, tokenRequest } from '../helpers/token-calls.ts';
import { until } from '../helpers/until.ts';

let tenants: Tenants;
let service: LoginService;
let post: ReturnType<typeof poster>;
let client: Awaited<ReturnType<Tenants['credential']>>;

beforeAll(async () => {
  tenants = await openTenants();
  service = await tenants.serve();
  post = poster(service.url);
});
afterAll(async () => {
  await service.stop();
  await tenants.close();
});
beforeEach(async () => {
  client = await tenants.credential({
    organizationRole: 'user',
    workspaces: [{ workspace: 'main', role: 'reader' }],
  });
});

const answer = z.strictObject({
  access_token: z.string(),
  scope: z.string(),
  expires_in: z.literal(86_400),
  token_type: z.literal('Bearer'),
});

/** What a good request is answered. */
async function granted(...request: Parameters<typeof post>) {
  const { status, text } = await post(...request);
  expect(status, text).toBe(200);
  return answer.parse(JSON.parse(text));
}

const accepted = (token: string) => tenants.identity.authenticate(`Bearer ${token}`, '127.0.0.1');
const form = (more: Readonly<Record<string, string>> = {}) =>
  new URLSearchParams(tokenRequest(client, more)).toString();
const INVALID_CLIENT = {
  error: 'invalid_client',
  error_description: 'The client is not known, or its secret is not valid',
};

describe('a token', () => {
  it('is issued for JSON, for a form and with Basic, and never to be kept', async () => {
    const { clientId, clientSecret } = client;
    const { client_id: _, client_secret: __, ...bare } = tokenRequest(client);
    const requests: Parameters<typeof post>[] = [
      [tokenRequest(client)],
      [tokenRequest(client), { type: 'application/json; charset=UTF-8' }],
      [form(), { type: FORM_TYPE }],
      [bare, { authorization: basic(client) }],
      [new URLSearchParams(bare).toString(), { type: FORM_TYPE, authorization: basic(client) }],
      [{ ...bare, client_id: clientId }, { authorization: basic(client) }],
      [bare, { authorization: basic({ clientId, clientSecret: clientSecret.replaceAll('_', '%5F') }) }],
      [{ ...tokenRequest(client), unknown: 'is passed over', scope: '' }],
    ];
    for (const request of requests) {
      const { access_token } = await granted(...request);
      expect(await accepted(access_token)).toMatchObject({ id: client.clientId });
    }
    const { headers } = await post(tokenRequest(client));
    expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('x-request-id')).not.toBeNull();
  });

  it('says who it is for, is verified with the published keys, and reads with plain base64', async () => {
    const { access_token: token, scope } = await granted(tokenRequest(client));
    const response = await fetch(`${service.url}/.well-known/jwks.json`);
    const jwks: JSONWebKeySet = JSON.parse(await response.text());
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks), {
      issuer: ISSUER,
      audience: AUDIENCE,
      typ: 'at+jwt',
      currentDate: new Date(tenants.clock.now()),
    });
    expect(Object.keys(protectedHeader).sort()).toEqual(['alg', 'kid', 'typ']);
    expect(payload).toMatchObject({
      sub: client.clientId,
      client_id: client.clientId,
      org: 'acme',
      role: 'user',
      scope,
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(86_400);
    expect(token.split('.')[1]).not.toMatch(/[-_]/);
  });

  it('names what it is good for, over all workspaces', async () => {
    const { scope } = await granted(tokenRequest(client));
    expect(scope.split(' ')).toContain('user:read:inputs');
    expect(scope.split(' ').every(word => /^user:(read|update):[a-z]+$/.test(word))).toBe(true);
    expect(scope).not.toContain('update');
    const admin = await tenants.credential();
    expect((await granted(tokenRequest(admin))).scope).toContain('user:update:credentials');
  });

  it('is issued for less than could be had, and never for more', async () => {
    const asked = tokenRequest(client, { scope: 'user:read:inputs' });
    const { scope, access_token } = await granted(asked);
    expect(scope).toBe('user:read:inputs');
    expect((await accepted(access_token)).actorIn('main-acme')?.tokenScope).toEqual(new Set(['read:inputs']));
    for (const more of ['user:update:inputs', 'user:read:inputs user:read:users', 'openid', 'read:inputs'])
      expect(errorOf(await post(tokenRequest(client, { scope: more })))).toEqual([400, 'invalid_scope']);
  });

  it('is refused before it is asked twice as often as the limit says, with the seconds to wait', async () => {
    const answers = [];
    for (let round = 0; round < 22; round++) answers.push(await post(tokenRequest(client)));
    expect(answers.map(({ status }) => status)).toEqual([...Array(20).fill(200), 429, 429]);
    expect(errorOf(answers[20] ?? { status: 0, text: '{}' })).toEqual([429, 'slow_down']);
    expect(answers[20]?.headers.get('retry-after')).toBe('1');
    const other = await tenants.credential();
    await granted(tokenRequest(other));
    await tenants.clock.advance(200);
    await granted(tokenRequest(client));
  });

  it('is noted in the audit of the organization, and when its secret was used', async () => {
    await granted(tokenRequest(client));
    await post(tokenRequest(client, { client_secret: 'wrong' }));
    await tenants.clock.advance(60_000);
    const audited = () => tenants.storage.in('@acme').audit.list({}, { offset: 0, limit: 100 });
    const ofClient = async () =>
      (await audited()).rows.filter(row => [row.target, row.actor].includes(client.clientId));
    await until(async () => (await ofClient()).length === 2, 'both entries');
    expect(await ofClient()).toMatchObject([
      { action: 'tokens.issue', result: 'refused', reason: 'wrong secret' },
      { action: 'tokens.issue', result: 'ok', actor: client.name },
    ]);
    await until(async () => {
      const used = await tenants.storage.credentials.get(client.clientId);
      return used?.last_used_at === tenants.clock.now() - 60_000;
    });
    expect(JSON.stringify(await audited())).not.toContain(client.clientSecret);
  });
});

describe('a request is refused', () => {
  it.each([
    ['without grant_type', { grant_type: '' }, [400, 'invalid_request']],
    ['with another grant_type', { grant_type: 'password' }, [400, 'unsupported_grant_type']],
    ['without a client', { client_id: '' }, [401, 'invalid_client']],
    ['without a secret', { client_secret: '' }, [401, 'invalid_client']],
    ['of an unknown client', { client_id: 'A'.repeat(32) }, [401, 'invalid_client']],
    ['of a client no client can be', { client_id: '\u0000' }, [401, 'invalid_client']],
    ['with a wrong secret', { client_secret: 'hgs_wrong' }, [401, 'invalid_client']],
    ['without an audience', { audience: '' }, [400, 'invalid_request']],
    ['with another audience', { audience: `${AUDIENCE}/` }, [403, 'access_denied']],
  ])('%s', async (_, fields, expected) => {
    expect(errorOf(await post(tokenRequest(client, fields)))).toEqual(expected);
    expect(errorOf(await post(form(fields), { type: FORM_TYPE }))).toEqual(expected);
  });

  it('with one answer for whoever is not let in, and asked for Basic only where Basic was tried', async () => {
    const { clientId } = client;
    const over = await tenants.credential({ expiresAt: tenants.clock.now() + 1 });
    const disabled = await tenants.credential({ enabled: false });
    const elsewhere = await tenants.credential({ ipAllowlist: ['192.0.2.1'] });
    const deleted = await tenants.credential();
    await tenants.credentials.remove(OWNER, deleted.clientId);
    const replaced = await tenants.credential();
    await tenants.credentials.rotate(OWNER, replaced.clientId, 1);
    await tenants.clock.advance(1);
    const wrong = [
      { clientId, clientSecret: 'wrong' },
      { clientId: 'unknown', clientSecret: client.clientSecret },
      { clientId: over.clientId, clientSecret: client.clientSecret },
      ...[over, disabled, elsewhere, deleted, replaced],
    ];
    for (const shown of wrong) {
      const posted = await post(tokenRequest(shown));
      expect(posted.status).toBe(401);
      expect(JSON.parse(posted.text)).toEqual(INVALID_CLIENT);
      expect(posted.headers.get('www-authenticate')).toBeNull();
      const tried = await post({ grant_type: 'client_credentials' }, { authorization: basic(shown) });
      expect(JSON.parse(tried.text)).toEqual(INVALID_CLIENT);
      expect(tried.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
    }
  });

  it('by another method, at another path', async () => {
    const get = await fetch(`${service.url}/oauth/token`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await get.json()).toMatchObject({ error: 'invalid_request' });
    for (const method of ['HEAD', 'PUT', 'OPTIONS'])
      expect((await fetch(`${service.url}/oauth/token`, { method })).status).toBe(405);
    expect((await post(tokenRequest(client), { path: '/oauth/token/' })).status).toBe(200);
    expect(errorOf(await post(tokenRequest(client), { path: '/oauth/tokens' }))).toEqual([
      404,
      'invalid_request',
    ]);
    expect((await post(tokenRequest(client), { path: '/api/v1/auth/login' })).status).toBe(404);
  });

  it('after guesses from the address, for longer each time, while the right secret is never held up', async () => {
    const guess = () => post(tokenRequest(client, { client_secret: 'guess' }));
    const slowed = async (): Promise<unknown[]> => {
      const { status, headers } = await guess();
      return [status, headers.get('retry-after')];
    };
    for (let round = 0; round < 5; round++) expect((await guess()).status).toBe(401);
    expect(await slowed()).toEqual([429, '1']);
    await tenants.clock.advance(1000);
    expect((await guess()).status).toBe(401);
    expect(await slowed()).toEqual([429, '2']);
    await granted(tokenRequest(client));
    expect((await guess()).status).toBe(401);
  });

  it('of any number of wrong clients at once, and right ones from the same address are let in meanwhile', async () => {
    const made = (index: number) => ({ clientId: String(index).padStart(32, '0'), clientSecret: 'guess' });
    const guesses = Array.from({ length: 300 }, (_, index) => post(tokenRequest(made(index))));
    const right = Array.from({ length: 3 }, async () => post(tokenRequest(await tenants.credential())));
    const answers = await Promise.all(guesses);
    for (const { status } of await Promise.all(right)) expect(status).toBe(200);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    await granted(tokenRequest(await tenants.credential()));
    await tenants.clock.advance(1000);
  });
});

describe('a token is ended', () => {
  const revoke = (token: string, shown = client) =>
    post({ ...tokenRequest(shown), token }, { path: '/oauth/revoke' });

  it('by its own client, alone', async () => {
    const [first, second] = [await granted(tokenRequest(client)), await granted(tokenRequest(client))];
    const ended = await revoke(first.access_token);
    expect([ended.status, ended.text]).toEqual([200, '']);
    await expect(accepted(first.access_token)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await accepted(second.access_token)).toMatchObject({ id: client.clientId });
    expect((await revoke(first.access_token)).status).toBe(200);
  });

  it('by nobody else, and nothing happens for what is no token', async () => {
    const { access_token: token } = await granted(tokenRequest(client));
    const other = await tenants.credential();
    expect(errorOf(await revoke(token, other))).toEqual([400, 'invalid_grant']);
    expect(errorOf(await revoke(token, { ...client, clientSecret: 'x' }))).toEqual([401, 'invalid_client']);
    expect(errorOf(await revoke(''))).toEqual([400, 'invalid_request']);
    expect((await revoke('nonsense')).status).toBe(200);
    expect(await accepted(token)).toMatchObject({ id: client.clientId });
  });
});

it('says what it can do, and that it works', async () => {
  const metadata = await fetch(`${service.url}/.well-known/oauth-authorization-server`);
  expect(await metadata.json()).toMatchObject({
    issuer: ISSUER,
    token_endpoint: `${ISSUER}/oauth/token`,
    jwks_uri: `${ISSUER}/.well-known/jwks.json`,
    grant_types_supported: ['client_credentials'],
  });
  expect(await (await fetch(`${service.url}/health`)).json()).toMatchObject({ status: 'healthy' });
});

it('answers 503 while the store does not answer, and never that the client is wrong', async () => {
  const broken = await openTenants();
  const run = await broken.serve();
  const shown = await broken.credential();
  await broken.storage.close();
  const refused = await poster(run.url)(tokenRequest(shown));
  expect(errorOf(refused)).toEqual([503, 'temporarily_unavailable']);
  expect(refused.headers.get('retry-after')).not.toBeNull();
  await run.stop();
  await broken.close();
});
