import { createServer } from 'node:http';
import { CompactSign, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, expect, test } from 'vitest';
import { listenLocally } from '../../../test/acceptance/listen-locally.ts';
import { testClock } from '../../../test/helpers/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { createHttpClient, type HttpClient } from '../../lib/http/client.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import { authSchema } from '../settings.ts';
import { newAuthorizationRequest } from './authorization-request.ts';
import { createProvider } from './provider.ts';

const REDIRECT_URI = 'https://headgate.example/session/callback';
const CLIENT = 'headgate';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** What a provider does that is not as it should be. */
interface Liar {
  readonly metadata?: object;
  readonly claims?: (claims: JWTPayload) => JWTPayload;
  readonly idToken?: (claims: JWTPayload) => Promise<string> | string;
  readonly userinfo?: object;
  /** Changes the text of an answer. */
  readonly text?: (text: string, path: string) => string;
  /** Changes the text of the claims before it is signed. */
  readonly claimsText?: (text: string) => string;
}

/** A provider that answers as configured, and records its requests. */
async function startLiar({
  metadata = {},
  claims = one => one,
  idToken,
  userinfo,
  text = one => one,
  claimsText = one => one,
}: Liar = {}) {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  const asked: string[] = [];
  let nonce: string | undefined;
  let isDead = false;
  const sign = (payload: JWTPayload): Promise<string> =>
    new CompactSign(new TextEncoder().encode(claimsText(JSON.stringify(payload))))
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(privateKey);

  async function answerTo(path: string): Promise<unknown> {
    if (path === '/jwks') return { keys: [jwk] };
    if (path === '/me') return userinfo;
    if (path === '/token') {
      const now = Math.floor(Date.now() / 1000);
      const sent = claims({
        iss: url,
        aud: CLIENT,
        sub: 's-1',
        iat: now,
        exp: now + 60,
        ...(nonce && { nonce }),
      });
      return { access_token: 'a', token_type: 'Bearer', id_token: await (idToken ?? sign)(sent) };
    }
    return {
      issuer: url,
      authorization_endpoint: `${url}/auth`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      ...(userinfo && { userinfo_endpoint: `${url}/me` }),
      ...metadata,
    };
  }

  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    response.setHeader('content-type', 'application/json');
    if (isDead) response.statusCode = 503;
    response.end(text(JSON.stringify(await answerTo(path)), path));
  });
  const { url, end } = await listenLocally(server);
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock });
  ends.push(end, () => http.close());
  /** What kept a request from being made. */
  const refused: string[] = [];
  const noting: HttpClient = {
    ...http,
    request: request =>
      http.request(request).catch(error => {
        if (error instanceof HttpFailure) refused.push(error.message);
        throw error;
      }),
  };
  const { openid } = authSchema.parse({
    openid: { issuer: url, client_id: CLIENT, client_secret: 'secret' },
  });
  if (openid === undefined) throw new Error('the settings have no provider');
  const clock = testClock();
  const provider = createProvider(openid, { http: noting, clock });
  const attempt = newAuthorizationRequest({ issuer: url, returnTo: '/', now: 0 });
  nonce = attempt.nonce;
  return {
    url,
    asked,
    refused,
    clock,
    provider,
    attempt,
    die(isOver = true) {
      isDead = isOver;
    },
    redeem(answer: Readonly<Record<string, string>> = {}, wanted: readonly string[] = []) {
      const query = new URLSearchParams({ code: 'c', state: attempt.state, ...answer });
      return provider.redeem(new URL(`${REDIRECT_URI}?${query}`), attempt, wanted);
    },
  };
}

const INVALID = { name: 'ProviderFailure', kind: 'invalid' };

test('an honest answer says who it is', async () => {
  const { redeem, url } = await startLiar({ claims: one => ({ ...one, groups: ['a'] }) });
  expect(await redeem()).toMatchObject({ issuer: url, subject: 's-1', claims: { groups: ['a'] } });
});

const twice = (text: string): string => text.replace('"s-1"', '"s-2","sub":"s-1"');

test.each<[string, Liar]>([
  ['the claims of the token', { claimsText: twice }],
  ['a nested claim of the token', { claimsText: text => text.replace('}', ',"a":{"b":1,"b":2}}') }],
  ['an escaped name in the token', { claimsText: text => text.replace('}', ',"s\\u0075b":"s-2"}') }],
  [
    'the answer with the token',
    { text: (text, path) => (path === '/token' ? text.replace('{', '{"id_token":"x",') : text) },
  ],
  ['the keys', { text: (text, path) => (path === '/jwks' ? text.replace('{', '{"keys":[],') : text) }],
  [
    'the metadata',
    { text: (text, path) => (path.includes('well-known') ? text.replace('{', '{"issuer":"x",') : text) },
  ],
  [
    'the userinfo',
    {
      userinfo: { sub: 's-1', groups: ['b'] },
      text: (text, path) => (path === '/me' ? text.replace('{', '{"groups":["a"],') : text),
    },
  ],
])('a member that stands twice in %s is refused', async (_where, liar) => {
  const { redeem } = await startLiar(liar);
  await expect(redeem({}, ['groups'])).rejects.toMatchObject(INVALID);
});

test.each([
  ['a byte order mark', (text: string) => `\ufeff${text}`],
  ['a way to a prototype', (text: string) => text.replace('}', ',"__proto__":{"groups":["a"]}}')],
])('claims with %s are refused', async (_what, claimsText) => {
  const { redeem } = await startLiar({ claimsText });
  await expect(redeem()).rejects.toMatchObject(INVALID);
});

test.each<[string, Liar['claims']]>([
  ['another nonce', one => ({ ...one, nonce: 'another' })],
  ['no nonce', ({ nonce: _nonce, ...one }) => one],
  ['another issuer', one => ({ ...one, iss: 'https://evil.example' })],
  ['another audience', one => ({ ...one, aud: 'another' })],
  ['a further audience without naming us', one => ({ ...one, aud: [CLIENT, 'another'], azp: 'another' })],
  ['an end that is past', one => ({ ...one, exp: 1 })],
  ['no end', ({ exp: _exp, ...one }) => one],
  ['no subject', ({ sub: _sub, ...one }) => one],
])('an ID token with %s is refused', async (_what, claims) => {
  const { redeem } = await startLiar(claims === undefined ? {} : { claims });
  await expect(redeem()).rejects.toMatchObject(INVALID);
});

const strangers = await generateKeyPair('RS256');

test.each<[string, Liar]>([
  ['no signature', { idToken: claims => new UnsecuredJWT(claims).encode() }],
  [
    'no signature, which the provider says it does',
    {
      idToken: claims => new UnsecuredJWT(claims).encode(),
      metadata: { id_token_signing_alg_values_supported: ['none', 'RS256'] },
    },
  ],
  [
    "the signature of somebody else's key",
    {
      idToken: claims =>
        new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(strangers.privateKey),
    },
  ],
  [
    'the client secret for a key',
    {
      idToken: claims =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from('secret'.padEnd(32, '!'))),
      metadata: { id_token_signing_alg_values_supported: ['HS256', 'RS256'] },
    },
  ],
  ['nothing of a token', { idToken: () => 'token' }],
])('an ID token with %s is refused', async (_what, liar) => {
  const { redeem } = await startLiar(liar);
  await expect(redeem()).rejects.toMatchObject(INVALID);
});

test.each([
  ['another state', { state: 'another' }],
  ['another issuer', { iss: 'https://evil.example' }],
])('an answer with %s is refused before its code is shown to anybody', async (_what, answer) => {
  const { redeem, asked } = await startLiar();
  await expect(redeem(answer)).rejects.toMatchObject(INVALID);
  expect(asked).not.toContain('/token');
});

test('a provider that promises to name itself in its answers must do so', async () => {
  const { redeem, url } = await startLiar({
    metadata: { authorization_response_iss_parameter_supported: true },
  });
  await expect(redeem()).rejects.toMatchObject(INVALID);
  expect(await redeem({ iss: url })).toMatchObject({ subject: 's-1' });
});

test('claims that the ID token lacks are asked for, and must be of the same user', async () => {
  const honest = await startLiar({ userinfo: { sub: 's-1', groups: ['a'] } });
  expect(await honest.redeem({}, ['groups'])).toMatchObject({ claims: { groups: ['a'] } });
  expect(await honest.redeem({}, ['sub'])).not.toHaveProperty('claims.groups');
  const mixed = await startLiar({ userinfo: { sub: 's-2', groups: ['admins'] } });
  await expect(mixed.redeem({}, ['groups'])).rejects.toMatchObject(INVALID);
});

const one = { email: 'a@corp.example' };
const other = { email: 'b@corp.example' };
const verified = { email_verified: true };
test.each<[string, object, object, object]>([
  ['nothing of either', {}, {}, {}],
  ['an address, vouched for at the userinfo endpoint', one, { ...one, ...verified }, { ...one, ...verified }],
  ['an address alone, where the other is vouched for', one, { ...other, ...verified }, one],
  ['a word alone, where there is an address', verified, other, other],
  ['both, where the other is not vouched for', { ...one, ...verified }, other, { ...one, ...verified }],
])('an ID token with %s borrows no word for another address', async (_what, token, userinfo, expected) => {
  const { redeem } = await startLiar({
    claims: claims => ({ ...claims, ...token }),
    userinfo: { sub: 's-1', ...userinfo },
  });
  const { claims } = await redeem({}, ['email', 'email_verified']);
  expect({ email: claims.email, email_verified: claims.email_verified }).toEqual({
    email: undefined,
    email_verified: undefined,
    ...expected,
  });
});

test('a provider that calls itself otherwise than the settings do is asked for nothing more', async () => {
  const { provider, redeem, asked } = await startLiar({ metadata: { issuer: 'https://evil.example' } });
  await expect(provider.discover()).rejects.toMatchObject({ kind: 'invalid' });
  await expect(redeem()).rejects.toThrow();
  expect(asked.filter(path => !path.includes('/.well-known/'))).toEqual([]);
});

test.each(['token_endpoint', 'jwks_uri'])(
  'a provider whose %s leads to metadata of the cloud is not followed there',
  async endpoint => {
    const { redeem, refused } = await startLiar({
      metadata: { [endpoint]: 'http://169.254.169.254/latest' },
    });
    await expect(redeem()).rejects.toThrow();
    expect(refused).toEqual([expect.stringContaining('never allowed')]);
  },
);

test('is discovered once an hour, and known on when it does not answer then', async () => {
  const { provider, attempt, asked, clock, die } = await startLiar();
  const discoveries = () => asked.filter(path => path.includes('/.well-known/')).length;
  await Promise.all([1, 2, 3].map(() => provider.authorizationUrl(attempt, REDIRECT_URI)));
  await clock.advance(3_599_000);
  await provider.authorizationUrl(attempt, REDIRECT_URI);
  expect(discoveries()).toBe(1);
  die();
  await clock.advance(1000);
  expect(await provider.authorizationUrl(attempt, REDIRECT_URI)).toContain('/auth?');
  await provider.authorizationUrl(attempt, REDIRECT_URI);
  expect(discoveries()).toBe(2);
});

test('that cannot be reached is left alone for five seconds', async () => {
  const { provider, asked, clock, die } = await startLiar();
  die();
  for (let count = 0; count < 3; count++)
    await expect(provider.discover()).rejects.toMatchObject({ kind: 'unreachable' });
  expect(asked).toHaveLength(1);
  die(false);
  await clock.advance(5000);
  await provider.discover();
});

test.each([
  ['https://idp.example', true],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080/realms/a', true],
  ['http://idp.example', false],
  ['http://localhost.evil.example', false],
  ['https://idp.example/.well-known/openid-configuration', false],
  ['https://idp.example/?tenant=a', false],
  ['https://user:password@idp.example', false],
  ['idp.example', false],
])('the issuer %s is allowed: %s', (issuer, isAllowed) => {
  expect(authSchema.safeParse({ openid: { issuer, client_id: 'a' } }).success).toBe(isAllowed);
});
