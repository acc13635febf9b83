import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

let server: ApiServer;
let jwt: string;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second', loginBackOff: { after: 0 } },
      metrics: { token: 'token-of-the-metrics' },
    },
  });
  jwt = server.token.replace('Bearer ', '');
});
afterAll(() => server.stop());

/** What a header may hold (RFC 9110 section 5.5): everything but control characters, one byte each. */
const inHeader = fc
  .string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map(code => String.fromCharCode(code)),
    maxLength: 300,
  })
  .map(text => text.replace(/\x7f/g, '\t'));
const base64url = fc.stringMatching(/^[A-Za-z0-9_-]{0,400}$/);
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url');
const word = fc.constantFrom(
  'Bearer',
  'bearer',
  'BEARER',
  'Bearer Bearer',
  'Bearer\tBearer',
  'Basic',
  'Bearer,',
  '',
);
const gap = fc.constantFrom(' ', '  ', '\t', ', ', '', '\u00a0');

/** The real token with one stretch of it replaced, repeated, moved or taken away. */
const nearToken = fc
  .record({
    at: fc.nat(),
    length: fc.integer({ min: 0, max: 40 }),
    put: fc.oneof(
      fc.constant(''),
      base64url,
      fc.constantFrom('.', '..', '=', '==', '%2e', '+', '/', ' ', '\t'),
    ),
  })
  .map(({ at, length, put }) => {
    const start = at % jwt.length;
    return jwt.slice(0, start) + put + jwt.slice(start + length);
  });

/** Tokens whose parts are sound in themselves: header and claims of all kinds, with signatures of others. */
const forged = fc
  .record({
    header: fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record(
        {
          alg: fc.constantFrom<unknown>('none', 'RS256', 'ES256', 'HS256', 'rs256', '', null, 1),
          typ: fc.constantFrom<unknown>('session+jwt', 'JWT', 'at+jwt', null),
          kid: fc.constantFrom<unknown>(
            '',
            '../../dev/null',
            '__proto__',
            'constructor',
            "' or 1=1",
            1,
            null,
          ),
          jwk: fc.jsonValue({ maxDepth: 1 }),
          crit: fc.constant(['exp']),
        },
        { requiredKeys: [] },
      ),
      fc.constant('real'),
    ),
    claims: fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant('real')),
    signature: fc.oneof(base64url, fc.constant('real')),
  })
  // All three of the real one would be the token itself.
  .filter(({ header, claims, signature }) => [header, claims, signature].some(part => part !== 'real'))
  .map(({ header, claims, signature }) => {
    const [first = '', second = '', third = ''] = jwt.split('.');
    return [
      header === 'real' ? first : encoded(header),
      claims === 'real' ? second : encoded(claims),
      signature === 'real' ? third : signature,
    ].join('.');
  });

const huge = fc
  .tuple(
    fc.constantFrom('a', '.', ' ', 'Bearer ', '\t', 'eyJhbGciOiJSUzI1NiJ9.'),
    fc.integer({ min: 100, max: 14_000 }),
  )
  .map(([unit, length]) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length));

const authorization = fc.oneof(
  inHeader,
  fc.tuple(word, gap, fc.oneof(nearToken, forged, base64url, huge, inHeader)).map(parts => parts.join('')),
  fc.tuple(word, gap, word, gap, fc.oneof(nearToken, forged)).map(parts => parts.join('')),
  // Behind a real token: nothing of it may count.
  fc
    .tuple(fc.constantFrom(' ', ', ', ';', '\u00a0', '.'), inHeader)
    .map(([apart, more]) => `Bearer ${jwt}${apart}x${more}`),
);

/** The two spellings of the token that count, and the blanks around a value that are no part of it. */
const isTheToken = (header: string): boolean =>
  /^bearer[ \t]+(?:bearer[ \t]+)?(\S+)$/i.exec(header.replace(/^[ \t]+|[ \t]+$/g, ''))?.[1] === jwt;

describe('whatever the header Authorization holds', () => {
  const paths = [
    '/api/v1/system/users',
    '/api/v1/notifications',
    '/api/v1/stream',
    '/api/v1/nothing',
    '/metrics',
  ];

  it.each(paths)('%s answers nobody without a token', async path => {
    await fc.assert(
      fc.asyncProperty(
        authorization.filter(header => !isTheToken(header)),
        async header => {
          const { status, text, headers } = await server.call('GET', path, {
            headers: [['authorization', header]],
          });
          expect(status).toBe(401);
          expect(JSON.parse(text)).toMatchObject({ status: 'error', code: 'unauthenticated' });
          expect(headers['www-authenticate']).toMatch(/^Bearer realm="api"/);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('an ingest door takes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(authorization, async header => {
        const answer = await server.call('POST', '/ingest/samples', {
          headers: [['authorization', header], JSON_BODY],
          body: '{"samples":[]}',
        });
        expect([401, 403]).toContain(answer.status);
      }),
      { numRuns: 100 },
    );
  });
});

/** Values that stand where a name and a password should. */
const near = fc.oneof(
  fc.constantFrom<unknown>('admin', ' ADMIN ', 'nobody', '', null, true, 0, [], {}, ['admin'], { $ne: '' }),
  fc.constantFrom<unknown>(
    ADMIN_PASSWORD.slice(1),
    `${ADMIN_PASSWORD} `,
    `${ADMIN_PASSWORD}\0`,
    '\ud800',
    '\0',
  ),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.jsonValue({ maxDepth: 4 }),
);
const member = fc.constantFrom(
  'username',
  'password',
  'Username',
  'user',
  'token',
  'role',
  'constructor',
  '__proto__',
  'toString',
);
const pair = fc.oneof(
  near.map(value => `"username":${JSON.stringify(value)}`),
  near.map(value => `"password":${JSON.stringify(value)}`),
  fc.tuple(member, near).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`),
);
const good = (): string => JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD });
const body: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 4, arbitrary: fc.array(pair, { maxLength: 5 }).map(pairs => `{${pairs.join(',')}}`) },
  { weight: 2, arbitrary: fc.json() },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(), fc.nat(20), fc.string({ unit: 'binary', maxLength: 10 }))
      .map(([at, length, put]) => {
        const start = at % good().length;
        return good().slice(0, start) + put + good().slice(start + length);
      }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('[', '{"a":', '"', ' ', '\ufeff', '\\u'), fc.integer({ min: 1, max: 20_000 }))
      .map(([unit, count]) => unit.repeat(count)),
  },
);

/** Whether the text is the right name and password, however it is written, with anything else beside them. */
function isTheLogin(text: string): boolean {
  try {
    const { username, password } = JSON.parse(text.replace(/^\ufeff/, ''));
    return String(username).trim().toLowerCase() === 'admin' && password === ADMIN_PASSWORD;
  } catch {
    return false;
  }
}

describe('whatever the body of a login holds', () => {
  it.each(['/api/v1/auth/login', '/session/login'])('%s lets nobody in for nothing', async path => {
    const type = fc.oneof(
      { weight: 9, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/x-www-form-urlencoded', 'x', '') },
    );
    await fc.assert(
      fc.asyncProperty(
        body.filter(one => !isTheLogin(one.toString())),
        type,
        async (sent, contentType) => {
          const { status, text, headers } = await server.call('POST', path, {
            headers: [
              ['content-type', contentType],
              ['sec-fetch-site', 'same-origin'],
            ],
            body: sent,
          });
          expect([400, 401, 413, 415]).toContain(status);
          expect(JSON.parse(text).status).toBe('error');
          expect(headers['set-cookie']).toBeUndefined();
          expect(text).not.toMatch(/eyJ|csrfToken/);
        },
      ),
      { numRuns: 250 },
    );
  });
});

it('has made nothing of all this that somebody would have to look into, and keeps no token in the log', () => {
  expect(server.log()).not.toContain('request failed');
  expect(server.log()).not.toContain(jwt);
  expect(server.log()).not.toContain(ADMIN_PASSWORD);
});

it('still knows the token and the password', async () => {
  expect((await server.call('GET', '/api/v1/system/users')).status).toBe(200);
  const answer = await server.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY], body: good() });
  expect(answer.status).toBe(200);
});
