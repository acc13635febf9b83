import { createHmac, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader, exportJWK, importSPKI } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { MAX_TOKEN_TTL_SECONDS, type TokenKeys } from './keys.ts';
import { createSessionTokens, type SessionTokens } from './session-tokens.ts';

const START = Date.UTC(2026, 0, 1);
const NOW = START / 1000;
const KID = 'a-kid';

let pair: { publicKey: KeyObject; privateKey: KeyObject };
let other: { publicKey: KeyObject; privateKey: KeyObject };
let keys: TokenKeys;

beforeAll(async () => {
  pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  keys = await keysOf(pair, 'inst');
});

async function keysOf(of: typeof pair, instanceId: string): Promise<TokenKeys> {
  const algorithm = 'RS256';
  const publicKey = await importSPKI(pem(of.publicKey), algorithm);
  return {
    instanceId,
    signing: { kid: KID, algorithm, privateKey: of.privateKey },
    verifying: new Map([[KID, { kid: KID, algorithm, publicKey }]]),
    refresh: async () => {},
  };
}

const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

function setup(): { tokens: SessionTokens; clock: TestClock } {
  const clock = testClock(START);
  return { tokens: createSessionTokens({ keys, clock, ids: monotonicIds(clock) }), clock };
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Signs whatever it is given with the true key, as only the server could. */
function forge(header: unknown, payload: unknown, key = pair.privateKey): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signBytes('sha256', Buffer.from(input), key).toString('base64url')}`;
}

const HEADER = { alg: 'RS256', typ: 'session+jwt', kid: KID };
const CLAIMS = {
  iss: 'headgate:inst',
  aud: 'headgate-api',
  sub: 'user-1',
  iat: NOW,
  exp: NOW + 3600,
  jti: 'id-1',
  ver: 7,
};
/** Claims with one left out or in another form. */
const claims = (change: Record<string, unknown>): unknown => ({ ...CLAIMS, ...change });

test('an issued token has the documented header and claims, and verifies', async () => {
  const { tokens } = setup();
  const token = await tokens.issue('user-1', 3600, 7);
  expect(decodeProtectedHeader(token)).toEqual(HEADER);
  expect(decodeJwt(token)).toEqual({ ...CLAIMS, jti: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(await tokens.verify(token)).toEqual({ kind: 'valid', claims: decodeJwt(token) });
  expect(decodeJwt(await tokens.issue('user-1', 3600, 7)).jti).not.toBe(decodeJwt(token).jti);
});

test('the control of the attacks: the same form with nothing wrong verifies', async () => {
  expect(await setup().tokens.verify(forge(HEADER, CLAIMS))).toMatchObject({ kind: 'valid' });
});

test('the payload of any token decodes with plain base64 and holds neither - nor _', async () => {
  const { tokens } = setup();
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), async name => {
      const segment = (await tokens.issue(name, 60, 7)).split('.')[1] ?? '';
      expect(segment).not.toMatch(/[-_]/);
      expect(JSON.parse(atob(segment)).sub).toBe(name);
    }),
    { numRuns: 60 },
  );
});

test.each<[string, () => string]>([
  ['no segments', () => 'garbage-garbage-garbage'],
  ['four segments', () => `${forge(HEADER, CLAIMS)}.more`],
  ['an empty signature', () => `${encode(HEADER)}.${encode(CLAIMS)}.`],
  ['alg none', () => `${encode({ ...HEADER, alg: 'none' })}.${encode(CLAIMS)}.`],
  ['alg None with some signature', () => `${encode({ ...HEADER, alg: 'None' })}.${encode(CLAIMS)}.AAAA`],
  ['a header that is no JSON', () => forge('{', CLAIMS)],
  ['a header that is a list', () => forge([HEADER], CLAIMS)],
  ['a missing kid', () => forge({ alg: 'RS256', typ: 'session+jwt' }, CLAIMS)],
  ['a kid that is a number', () => forge({ ...HEADER, kid: 7 }, CLAIMS)],
  ['a kid of 2 KB', () => forge({ ...HEADER, kid: 'k'.repeat(2048) }, CLAIMS)],
  ['a kid that is a path', () => forge({ ...HEADER, kid: '../../dev/null' }, CLAIMS)],
  ['a kid that is SQL', () => forge({ ...HEADER, kid: "' or 1=1 --" }, CLAIMS)],
  ['a kid that is __proto__', () => forge({ ...HEADER, kid: '__proto__' }, CLAIMS)],
  ['a kid that is constructor', () => forge({ ...HEADER, kid: 'constructor' }, CLAIMS)],
  [
    'a jwk header',
    () => forge({ ...HEADER, jwk: other.publicKey.export({ format: 'jwk' }) }, CLAIMS, other.privateKey),
  ],
  ['a jku header', () => forge({ ...HEADER, jku: 'http://127.0.0.1:1/jwks' }, CLAIMS)],
  ['an x5u header', () => forge({ ...HEADER, x5u: 'http://127.0.0.1:1/cert' }, CLAIMS)],
  ['an x5c header', () => forge({ ...HEADER, x5c: ['AAAA'] }, CLAIMS)],
  ['an unknown crit', () => forge({ ...HEADER, crit: ['x'], x: 1 }, CLAIMS)],
  ['b64 false', () => forge({ ...HEADER, b64: false, crit: ['b64'] }, CLAIMS)],
  ['b64 true', () => forge({ ...HEADER, b64: true }, CLAIMS)],
  ['zip', () => forge({ ...HEADER, zip: 'DEF' }, CLAIMS)],
  ['cty', () => forge({ ...HEADER, cty: 'JWT' }, CLAIMS)],
  ['typ JWT', () => forge({ ...HEADER, typ: 'JWT' }, CLAIMS)],
  ['typ at+jwt', () => forge({ ...HEADER, typ: 'at+jwt' }, CLAIMS)],
  ['typ in capitals', () => forge({ ...HEADER, typ: 'SESSION+JWT' }, CLAIMS)],
  ['typ with application/', () => forge({ ...HEADER, typ: 'application/session+jwt' }, CLAIMS)],
  ['no typ', () => forge({ alg: 'RS256', kid: KID }, CLAIMS)],
  ['alg RS512', () => forge({ ...HEADER, alg: 'RS512' }, CLAIMS)],
  ['alg PS256', () => forge({ ...HEADER, alg: 'PS256' }, CLAIMS)],
  ['another key', () => forge(HEADER, CLAIMS, other.privateKey)],
  ['an expired token', () => forge(HEADER, claims({ iat: NOW - 3600, exp: NOW - 31 }))],
  ['a token that expires now', () => forge(HEADER, claims({ iat: NOW - 3600, exp: NOW }))],
  ['exp as text', () => forge(HEADER, claims({ exp: String(NOW + 3600) }))],
  ['exp 1e30', () => forge(HEADER, claims({ exp: 1e30 }))],
  ['exp -1', () => forge(HEADER, claims({ exp: -1 }))],
  ['exp missing', () => forge(HEADER, claims({ exp: undefined }))],
  ['exp null', () => forge(HEADER, claims({ exp: null }))],
  ['exp with a fraction', () => forge(HEADER, claims({ exp: NOW + 3600.5 }))],
  ['a lifetime over the longest', () => forge(HEADER, claims({ exp: NOW + MAX_TOKEN_TTL_SECONDS + 1 }))],
  ['exp before iat', () => forge(HEADER, claims({ iat: NOW + 50, exp: NOW + 40 }))],
  ['iat an hour ahead', () => forge(HEADER, claims({ iat: NOW + 3600, exp: NOW + 7200 }))],
  ['iat 61 s ahead', () => forge(HEADER, claims({ iat: NOW + 61 }))],
  ['iat missing', () => forge(HEADER, claims({ iat: undefined }))],
  ['nbf an hour ahead', () => forge(HEADER, claims({ nbf: NOW + 3600 }))],
  ['another aud', () => forge(HEADER, claims({ aud: 'other-api' }))],
  ['an aud list', () => forge(HEADER, claims({ aud: ['headgate-api'] }))],
  ['an aud list with more', () => forge(HEADER, claims({ aud: ['headgate-api', 'other'] }))],
  ['another iss', () => forge(HEADER, claims({ iss: 'headgate:other' }))],
  ['an iss with a slash', () => forge(HEADER, claims({ iss: 'headgate:inst/' }))],
  ['an iss list', () => forge(HEADER, claims({ iss: ['headgate:inst'] }))],
  ['sub missing', () => forge(HEADER, claims({ sub: undefined }))],
  ['sub empty', () => forge(HEADER, claims({ sub: '' }))],
  ['sub a number', () => forge(HEADER, claims({ sub: 1 }))],
  ['jti missing', () => forge(HEADER, claims({ jti: undefined }))],
  ['a payload that is a list', () => forge(HEADER, [CLAIMS])],
  ['a payload that is no JSON', () => forge(HEADER, 'hello')],
  [
    'an own __proto__ key',
    () => forge(HEADER, JSON.stringify(CLAIMS).replace('{', '{"__proto__":{"sub":"admin"},')),
  ],
  ['a space inside', () => forge(HEADER, CLAIMS).replace('.', ' .')],
  ['padding', () => `${forge(HEADER, CLAIMS)}==`],
])('a token with %s is refused without a throw', async (_, make) => {
  expect(await setup().tokens.verify(make())).toMatchObject({ kind: 'refused' });
});

test('an HMAC made with the public key is refused', async () => {
  const { tokens } = setup();
  const text = pem(pair.publicKey);
  const jwk = JSON.stringify(await exportJWK(pair.publicKey));
  for (const secret of [text, text.trim(), `\n ${text}`, jwk]) {
    const input = `${encode({ ...HEADER, alg: 'HS256' })}.${encode(CLAIMS)}`;
    const mac = createHmac('sha256', secret).update(input).digest('base64url');
    expect(await tokens.verify(`${input}.${mac}`)).toEqual({ kind: 'refused', reason: 'unknown-key' });
  }
});

test('a flipped bit anywhere in the signature is refused, also in the bits no decoder reads', async () => {
  const { tokens } = setup();
  const [header, payload, signature = ''] = (await tokens.issue('user-1', 60, 7)).split('.');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (const at of [0, 1, 170, signature.length - 2, signature.length - 1])
    for (const bit of [1, 2, 32]) {
      const letter = alphabet[alphabet.indexOf(signature[at] ?? '') ^ bit];
      const flipped = signature.slice(0, at) + letter + signature.slice(at + 1);
      expect(await tokens.verify(`${header}.${payload}.${flipped}`)).toMatchObject({ kind: 'refused' });
    }
});

test('a token of another installation with the same key id is refused', async () => {
  const { tokens, clock } = setup();
  const elsewhere = createSessionTokens({
    keys: await keysOf(other, 'inst'),
    clock,
    ids: monotonicIds(clock),
  });
  expect(await tokens.verify(await elsewhere.issue('user-1', 60, 7))).toEqual({
    kind: 'refused',
    reason: 'bad-signature',
  });
  const sameKey = createSessionTokens({ keys: await keysOf(pair, 'twin'), clock, ids: monotonicIds(clock) });
  expect(await tokens.verify(await sameKey.issue('user-1', 60, 7))).toEqual({
    kind: 'refused',
    reason: 'wrong-claims',
  });
});

test('a token over 4096 characters is refused before anything is decoded', async () => {
  const token = forge(HEADER, claims({ sub: 'x'.repeat(4000) }));
  expect(await setup().tokens.verify(token)).toEqual({ kind: 'refused', reason: 'malformed' });
});

test('a token that was verified before still expires, to the second', async () => {
  const { tokens, clock } = setup();
  const token = await tokens.issue('user-1', 2, 7);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  await clock.advance(1999);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  await clock.advance(1);
  expect(await tokens.verify(token)).toEqual({ kind: 'refused', reason: 'expired' });
});

test('a token that was verified before costs no signature check', async () => {
  const clock = testClock(START);
  const verifying = new Map(keys.verifying);
  const tokens = createSessionTokens({ keys: { ...keys, verifying }, clock, ids: monotonicIds(clock) });
  const token = await tokens.issue('user-1', 60, 7);
  await tokens.verify(token);
  // Nothing it signed would verify with this one.
  for (const [kid, key] of (await keysOf(other, 'inst')).verifying) verifying.set(kid, key);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
});

test('a token whose key is gone is not taken, though it was verified before', async () => {
  const clock = testClock(START);
  const verifying = new Map(keys.verifying);
  const tokens = createSessionTokens({ keys: { ...keys, verifying }, clock, ids: monotonicIds(clock) });
  const token = await tokens.issue('user-1', 60, 7);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  verifying.clear();
  expect(await tokens.verify(token)).toEqual({ kind: 'refused', reason: 'unknown-key' });
});

test('a remembered token stands for itself only', async () => {
  const { tokens } = setup();
  const token = await tokens.issue('user-1', 60, 7);
  await tokens.verify(token);
  const [header, , signature] = token.split('.');
  const swapped = `${header}.${encode(claims({ sub: 'admin' }))}.${signature}`;
  expect(await tokens.verify(swapped)).toEqual({ kind: 'refused', reason: 'bad-signature' });
});

test('a clock set back by a minute keeps tokens valid, by more it does not', async () => {
  const { tokens, clock } = setup();
  const token = await tokens.issue('user-1', 3600, 7);
  clock.step(-60_000);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  clock.step(-1000);
  expect(await tokens.verify(token)).toEqual({ kind: 'refused', reason: 'wrong-claims' });
});

test('no lifetime is issued that would not be accepted', async () => {
  const { tokens } = setup();
  expect(await tokens.verify(await tokens.issue('user-1', 1e9, 7))).toMatchObject({
    kind: 'valid',
    claims: { exp: NOW + MAX_TOKEN_TTL_SECONDS },
  });
});
