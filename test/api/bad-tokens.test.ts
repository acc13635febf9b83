import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openView } from '../../src/storage/open-view.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
let server: ApiServer;
let jwt: string;
let key: KeyObject;
let header: Record<string, unknown>;
let claims: Record<string, unknown>;
let now: number;

beforeAll(async () => {
  server = await startApiServer({ settings: { auth: { signingAlgorithm: 'RS256' } } });
  jwt = server.token.replace('Bearer ', '');
  header = { ...decodeProtectedHeader(jwt) };
  claims = { ...decodeJwt(jwt) };
  now = Number(claims.iat);
  key = await keyOfServer();
});
afterAll(() => server.stop());

/** The very key of the server: what is refused is refused for what it says, not for its signature. */
async function keyOfServer(): Promise<KeyObject> {
  const view = await openView({ url: 'sqlite:headgate.db', dataFolder: server.data, logger: silentLogger });
  try {
    const kid = String(header.kid);
    const row = await view.db.selectFrom('keys').where('kid', '=', kid).selectAll().executeTakeFirstOrThrow();
    const ring = await openKeyRing({ path: join(server.data, 'keys'), mayCreate: false });
    return createPrivateKey(ring.decrypt(row.private_key, `keys|private_key|${kid}`));
  } finally {
    await view.close();
  }
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

interface Forgery {
  readonly header?: Record<string, unknown>;
  readonly claims?: Record<string, unknown> | string;
  readonly by?: KeyObject;
}

function forged({ header: more = {}, claims: other = {}, by = key }: Forgery): string {
  const payload = typeof other === 'string' ? other : { ...claims, ...other };
  const input = `${encode({ ...header, ...more })}.${encode(payload)}`;
  return `${input}.${sign('sha256', Buffer.from(input), by).toString('base64url')}`;
}

/** By the public key as a shared secret: the algorithm would come from the token then. */
function mac(before: string): string {
  const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  const input = `${encode({ ...header, alg: 'HS256' })}.${encode(claims)}`;
  return `${input}.${createHmac('sha256', before + pem)
    .update(input)
    .digest('base64url')}`;
}

function withSignature(change: (signature: Buffer) => Buffer): string {
  const [first, second, third = ''] = jwt.split('.');
  return `${first}.${second}.${change(Buffer.from(third, 'base64url')).toString('base64url')}`;
}

function flipped(signature: Buffer): Buffer {
  const changed = Buffer.from(signature);
  changed[20] = (changed[20] ?? 0) ^ 1;
  return changed;
}

const ask = (authorization: string) =>
  server.call('GET', '/api/v1/auth/me', { headers: [['authorization', authorization]] });

it('takes what the server could have signed itself', async () => {
  expect((await ask(`Bearer ${forged({})}`)).status).toBe(200);
});

/** Row by row as attacks on tokens are listed; each is answered alike. */
it.each<[string, () => string]>([
  ['alg none', () => `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`],
  ['alg None', () => `${encode({ ...header, alg: 'None' })}.${encode(claims)}.AAAA`],
  ['an empty signature', () => withSignature(() => Buffer.alloc(0))],
  ['HS256 by the public key', () => mac('')],
  ['HS256 by the public key behind a blank', () => mac(' ')],
  ['a kid that is a path', () => forged({ header: { kid: '../../dev/null' } })],
  ['a kid that is SQL', () => forged({ header: { kid: "' or '1'='1" } })],
  ['a kid of 3 KB', () => forged({ header: { kid: 'k'.repeat(3000) } })],
  ['a kid of 10 KB', () => forged({ header: { kid: 'k'.repeat(10_000) } })],
  ['a kid that is __proto__', () => forged({ header: { kid: '__proto__' } })],
  ['a kid that is a number', () => forged({ header: { kid: 7 } })],
  ['no kid', () => forged({ header: { kid: undefined } })],
  [
    'a key of its own in jwk',
    () => forged({ header: { jwk: stranger.publicKey.export({ format: 'jwk' }) }, by: stranger.privateKey }),
  ],
  ['jku', () => forged({ header: { jku: `${server.url}/.well-known/jwks.json` } })],
  ['x5u', () => forged({ header: { x5u: `${server.url}/cert` } })],
  ['an unknown crit', () => forged({ header: { crit: ['x'], x: 1 } })],
  ['b64 false', () => forged({ header: { b64: false, crit: ['b64'] } })],
  ['typ JWT', () => forged({ header: { typ: 'JWT' } })],
  ['typ at+jwt', () => forged({ header: { typ: 'at+jwt' } })],
  ['exp 31 s ago', () => forged({ claims: { iat: now - 3600, exp: now - 31 } })],
  ['exp as text', () => forged({ claims: { exp: String(now + 60) } })],
  ['exp 1e30', () => forged({ claims: { exp: 1e30 } })],
  ['exp -1', () => forged({ claims: { exp: -1 } })],
  ['no exp', () => forged({ claims: { exp: undefined } })],
  ['exp with a fraction', () => forged({ claims: { exp: now + 60.5 } })],
  ['iat an hour ahead', () => forged({ claims: { iat: now + 3600, exp: now + 7200 } })],
  ['nbf an hour ahead', () => forged({ claims: { nbf: now + 3600 } })],
  ['another aud', () => forged({ claims: { aud: 'other' } })],
  ['an aud list with more', () => forged({ claims: { aud: ['headgate-api', 'other'] } })],
  ['another iss', () => forged({ claims: { iss: 'headgate:other' } })],
  ['an iss list', () => forged({ claims: { iss: [claims.iss] } })],
  [
    'an own __proto__ key',
    () => forged({ claims: JSON.stringify(claims).replace('{', '{"__proto__":{"role":"admin"},') }),
  ],
  ['a flipped bit in the signature', () => withSignature(flipped)],
  ['a signature of zeros', () => withSignature(signature => Buffer.alloc(signature.length))],
  ['the key of another', () => forged({ by: stranger.privateKey })],
])('answers 401 to %s', async (_, make) => {
  const { status, text, headers } = await ask(`Bearer ${make()}`);
  expect({ status, code: JSON.parse(text).code }).toEqual({ status: 401, code: 'unauthenticated' });
  expect(headers['www-authenticate']).toMatch(/^Bearer realm="api"/);
});

it('keeps to the token it has verified: another payload under its signature is no hit', async () => {
  expect((await ask(`Bearer ${jwt}`)).status).toBe(200);
  const [first, , third] = jwt.split('.');
  const swapped = `${first}.${encode({ ...claims, exp: Number(claims.exp) + 60 })}.${third}`;
  expect((await ask(`Bearer ${swapped}`)).status).toBe(401);
});

it.each<[string, number]>([
  ['Bearer ', 200],
  ['Bearer Bearer ', 200],
  ['bearer\t', 200],
  ['Bearer  ', 200],
  ['Bearer Bearer Bearer ', 401],
  ['Basic ', 401],
])('answers a token behind %j with %i, and logs none of it', async (before, status) => {
  expect((await ask(before + jwt)).status).toBe(status);
  expect(server.log()).not.toContain(jwt);
});

it.each(['Bearer', 'Bearer Bearer', ''])('answers 401 to the header %j', async authorization => {
  expect((await ask(authorization)).status).toBe(401);
});
