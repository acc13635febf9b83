import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { noData } from '../acceptance/files.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

const TARGETS = ['a', 'b', 'c', 'd', 'e'];
const LISTS = [
  '/system/inputs',
  '/system/outputs',
  '/system/status/inputs',
  '/system/status/outputs',
  '/system/engines',
  '/system/messages',
  '/master/groups',
  '/products/stream/groups',
  '/conditions',
  '/m/default/system/inputs',
  '/m/default/notifications',
  '/notifications',
  '/notification-targets',
  '/incidents',
  '/deliveries',
];

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: { api: { loginRateLimit: '1000/second' } },
    notifications: {
      targets: TARGETS.map(id => ({ id, type: 'bulletin_message' })),
      notifications: [noData('silent', 'syslog:app', '1h', 'a')],
    },
  });
});

afterAll(() => server.stop());

const errorBody = z.strictObject({
  status: z.literal('error'),
  message: z.string().min(1),
  code: z.string().min(1),
  requestId: z.string().min(1),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

/** Sends a request that must be refused, and answers how. */
async function refused(...[method, path, options]: Parameters<ApiServer['call']>) {
  const answer = await server.call(method, path, options);
  const body = errorBody.parse(JSON.parse(answer.text));
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['x-request-id']).toBe(body.requestId);
  return { ...body, http: answer.status, headers: answer.headers };
}

async function listed(path: string) {
  const answer = await server.call('GET', `/api/v1${path}`);
  expect(answer.status).toBe(200);
  return JSON.parse(answer.text);
}

describe('a token first', () => {
  it.each([
    ['GET', '/api/v1/notifications'],
    ['GET', '/api/v1/notifications/silent'],
    ['GET', '/api/v1/nothing/here'],
    ['DELETE', '/api/v1/notifications'],
    ['POST', '/api/v1/system/inputs'],
    ['GET', '/api/v1/auth/login'],
    ['POST', '/api/v1/health'],
    ['GET', '/api/v1/Health'],
    ['GET', '/api/v1//health'],
    ['GET', '/api/v1/%68ealth/x'],
    ['GET', '/api/v1/%zz'],
    ['GET', '/api/v1/%00'],
    ['GET', '/api/v1/notifications/%zz'],
    ['GET', `/api/v1/notifications/${'x'.repeat(700)}`],
    ['GET', '/api/v1'],
    ['GET', '/api/v1/'],
  ])('answers 401 to %s %s without one', async (method, path) => {
    const { http, code, headers } = await refused(method, path, { headers: [] });
    expect([http, code]).toEqual([401, 'unauthenticated']);
    expect(headers['www-authenticate']).toBe('Bearer realm="api"');
  });

  it.each([
    ['of another kind', 'Basic YWRtaW46eA=='],
    ['without a token', 'Bearer'],
    ['that is no token', 'Bearer nonsense-nonsense-nonsense'],
    ['with an empty signature', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.'],
    ['with two tokens', 'Bearer aaaaaaaaaaaaaaaaaaaa, Bearer bbbbbbbbbbbbbbbbbbbb'],
  ])('answers 401 to a header %s', async (_, authorization) => {
    const { http, headers } = await refused('GET', '/api/v1/notifications', {
      headers: [['authorization', authorization]],
    });
    expect(http).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer realm="api", error="invalid_token"');
  });

  it.each([
    ['once', (token: string) => token, 200],
    ['twice', (token: string) => `Bearer ${token}`, 200],
    ['in lower case', (token: string) => token.replace('Bearer', 'bearer'), 200],
    ['thrice', (token: string) => `Bearer Bearer ${token}`, 401],
    ['never', (token: string) => token.replace('Bearer ', ''), 401],
  ])('takes the word Bearer as documented: %s', async (_, header, status) => {
    const answer = await server.call('GET', '/api/v1/notifications', {
      headers: [['authorization', header(server.token)]],
    });
    expect(answer.status).toBe(status);
  });

  it('refuses two Authorization headers, though one of them be good', async () => {
    for (const second of [server.token, 'Bearer nonsense-nonsense']) {
      const headers = [
        ['authorization', server.token],
        ['Authorization', second],
      ] as const;
      expect(await refused('GET', '/api/v1/notifications', { headers })).toMatchObject({
        http: 400,
        code: 'invalid-request',
      });
    }
  });

  it('refuses a token with one changed character, wherever it is', async () => {
    const at = [7, 20, Math.floor(server.token.length / 2), server.token.length - 20];
    for (const position of at) {
      const changed = server.token[position] === 'A' ? 'B' : 'A';
      const token = `${server.token.slice(0, position)}${changed}${server.token.slice(position + 1)}`;
      const headers = [['authorization', token]] as const;
      expect((await refused('GET', '/api/v1/notifications', { headers })).http).toBe(401);
    }
  });
});

describe('what does not exist', () => {
  it.each([
    ['/api/v1/nothing', 'not-found'],
    ['/api/v1/', 'not-found'],
    ['/api/v1/notifications/other', 'not-found'],
    ['/api/v1/notifications/%2f', 'not-found'],
    ['/api/v1/notifications/..%2f..%2fetc', 'not-found'],
    ['/api/v1/notifications/%00', 'not-found'],
    ['/api/v1/notifications/__proto__', 'not-found'],
    ['/api/v1/notifications/constructor', 'not-found'],
    ['/api/v1/deliveries/%F0%9F%92%A9', 'not-found'],
    [`/api/v1/deliveries/${'x'.repeat(512)}`, 'not-found'],
    ['/api/v1/notifications/%zz', 'not-found'],
    ['/api/v1/notifications/%ff', 'not-found'],
    ['/%zz', 'not-found'],
    ['/nothing', 'not-found'],
    ['/api/v2/notifications', 'not-found'],
    ['/page/../../package.json', 'not-found'],
    ['/oauth/token', 'not-found'],
  ])('answers 404 to %s', async (path, code) => {
    expect(await refused('GET', path)).toMatchObject({ http: 404, code });
  });

  it.each([513, 600, 5000])('answers 400 to an id of %i characters', async length => {
    const path = `/api/v1/deliveries/${'x'.repeat(length)}`;
    expect(await refused('GET', path)).toMatchObject({ http: 400, errors: [{ path: 'id' }] });
  });

  it.each([
    ['PUT', '/api/v1/notifications', 'GET, HEAD, POST'],
    ['POST', '/api/v1/notifications/silent', 'GET, HEAD, PATCH, DELETE'],
    ['PUT', '/api/v1/m/default/system/inputs/x', 'GET, HEAD, PATCH, DELETE'],
    ['PATCH', '/api/v1/system/messages/x', 'GET, HEAD, DELETE'],
    ['PUT', '/api/v1/master/groups', 'GET, HEAD, POST'],
    ['PUT', '/api/v1/health', 'GET, HEAD'],
    ['OPTIONS', '/api/v1/deliveries', 'GET, HEAD'],
    ['GET', '/api/v1/auth/login', 'POST'],
    ['POST', '/api/v1/deliveries?limit=1', 'GET, HEAD'],
    ['GET', '/ingest/samples', 'POST'],
    ['DELETE', '/', 'GET, HEAD'],
  ])('answers 405 with Allow to %s %s', async (method, path, allow) => {
    const { http, code, headers } = await refused(method, path);
    expect([http, code, headers.allow]).toEqual([405, 'method-not-allowed', allow]);
  });

  it('never breaks on a path, whatever stands in it', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }).map(text => encodeURIComponent(text)),
      fc.stringMatching(/^[!$-;=@-Z_a-z~%]{0,20}$/),
      fc.constantFrom(
        '..',
        '.',
        '%2e%2e',
        '%2f',
        '%00',
        '%',
        '*',
        ':id',
        'notifications',
        'system',
        'inputs',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 4 }), fc.boolean(), async (pieces, inside) => {
        const path = `${inside ? '/api/v1' : ''}/${pieces.join('/')}`;
        const stranger = await server.call('GET', path, { headers: [] });
        if (inside) expect(stranger.status).toBe(401);
        const answer = await server.call('GET', path);
        expect([200, 400, 404, 405]).toContain(answer.status);
        if (answer.status !== 200) errorBody.parse(JSON.parse(answer.text));
      }),
      { numRuns: 150 },
    );
  });
});

describe('bodies', () => {
  const login = (body: string | Buffer, type = 'application/json') =>
    refused('POST', '/api/v1/auth/login', { headers: [['content-type', type]], body });
  const credentials = { username: 'admin', password: ADMIN_PASSWORD };

  it.each([
    ['GET', '/api/v1/notifications'],
    ['GET', '/api/v1/health'],
    ['HEAD', '/api/v1/health'],
  ])('accepts a Content-Type of JSON with no body on %s %s', async (method, path) => {
    const headers = [['authorization', server.token], JSON_BODY] as const;
    expect((await server.call(method, path, { headers })).status).toBe(200);
  });

  it.each([
    ['a key twice', `{"username":"admin","username":"x","password":"${ADMIN_PASSWORD}"}`],
    ['the same key in disguise', `{"username":"admin","\\u0075sername":"x","password":"${ADMIN_PASSWORD}"}`],
    ['__proto__', `{"username":"admin","password":"x","__proto__":{}}`],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`],
    ['broken JSON', '{"username":'],
    ['another type', '[]'],
    ['no password', '{"username":"admin"}'],
    ['a number as password', '{"username":"admin","password":1}'],
    ['null', 'null'],
    ['nothing', ''],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00])],
  ])('answers 400 to a body of %s', async (_, body) => {
    expect(await login(body)).toMatchObject({ http: 400, code: 'invalid-request' });
  });

  it('answers 413 to a body over 5 MB', async () => {
    const body = JSON.stringify({ ...credentials, filling: 'x'.repeat(5 * 1024 * 1024) });
    expect(await login(body)).toMatchObject({ http: 413, code: 'body-too-large' });
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'multipart/form-data',
    'x',
  ])('answers 415 to %s', async type => {
    expect(await login(JSON.stringify(credentials), type)).toMatchObject({
      http: 415,
      code: 'unsupported-media-type',
    });
  });

  it('takes a charset beside the type', async () => {
    const answer = await server.call('POST', '/api/v1/auth/login', {
      headers: [['content-type', 'application/json; charset=utf-8']],
      body: JSON.stringify(credentials),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(JSON.parse(answer.text)).toEqual({
      token: expect.stringMatching(/^Bearer [\w-]+\.[A-Za-z0-9]+\.[\w-]+$/),
      forcePasswordChange: false,
    });
  });
});

describe('health', () => {
  it('answers to everybody, HEAD as well', async () => {
    const answer = await server.call('GET', '/api/v1/health', { headers: [] });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({
      status: 'healthy',
      role: 'primary',
      startTime: expect.any(Number),
      overlay: { state: 'inactive' },
    });
    const head = await server.call('HEAD', '/api/v1/health', { headers: [] });
    expect([head.status, head.text]).toEqual([200, '']);
  });
});

describe('request ids', () => {
  it("takes the caller's when it is a plain one, and makes one otherwise", async () => {
    const given = [['x-request-id', 'build-42']] as const;
    expect((await refused('GET', '/api/v1/x', { headers: given })).requestId).toBe('build-42');
    const odd = [['x-request-id', 'a b\tc']] as const;
    expect((await refused('GET', '/api/v1/x', { headers: odd })).requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('paging', () => {
  const ids = async (query: string): Promise<string[]> =>
    (await listed(`/notification-targets${query}`)).items.map((item: { id: string }) => item.id);

  it('answers all, with nothing but items and count, when no limit is asked for', async () => {
    for (const path of LISTS) expect(Object.keys(await listed(path)).sort()).toEqual(['count', 'items']);
    expect(await ids('')).toEqual(TARGETS);
  });

  it('tells where a page lies when a limit is asked for', async () => {
    for (const path of LISTS)
      expect(await listed(`${path}?limit=2`)).toMatchObject({
        offset: 0,
        limit: 2,
        totalCount: expect.any(Number),
      });
    expect(await listed('/notification-targets?limit=2&offset=4')).toMatchObject({
      items: [{ id: 'e' }],
      count: 1,
      offset: 4,
      limit: 2,
      totalCount: 5,
    });
  });

  it('begins at 0 without an offset, and at the offset without a limit', async () => {
    expect(await ids('?limit=2')).toEqual(['a', 'b']);
    expect(await ids('?offset=3')).toEqual(['d', 'e']);
  });

  it('answers an empty page past the end', async () => {
    for (const path of LISTS)
      expect(await listed(`${path}?limit=10&offset=9007199254740991`)).toMatchObject({ items: [], count: 0 });
  });

  it.each([
    'limit=0',
    'limit=-1',
    'limit=1001',
    'limit=1.5',
    'limit=x',
    'offset=-1',
    'offset=NaN',
    'limit=1&limit=2',
  ])('refuses %s and names it', async query => {
    for (const path of LISTS) {
      const { http, errors } = await refused('GET', `/api/v1${path}?${query}`);
      expect([http, errors?.[0]?.path]).toEqual([400, query.split('=')[0]]);
    }
  });

  it('answers 200 or 400 to whatever stands in offset and limit', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.integer().map(String),
      fc.double().map(String),
      fc.constantFrom(
        '',
        ' ',
        '1e3',
        '0x10',
        '٣',
        'null',
        'Infinity',
        '-0',
        '1_000',
        '9007199254740993',
        "1' or 1=1",
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...LISTS),
        fc.option(text),
        fc.option(text),
        async (path, offset, limit) => {
          const query = [
            ...(offset === null ? [] : [`offset=${encodeURIComponent(offset)}`]),
            ...(limit === null ? [] : [`limit=${encodeURIComponent(limit)}`]),
          ].join('&');
          const answer = await server.call('GET', `/api/v1${path}?${query}`);
          expect([200, 400]).toContain(answer.status);
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each(['/deliveries?state=nothing', '/incidents?state=sent'])('refuses the filter of %s', async path => {
    expect(await refused('GET', `/api/v1${path}`)).toMatchObject({ http: 400, errors: [{ path: 'state' }] });
  });
});

it('serves the page with nothing but its own files allowed', async () => {
  for (const path of ['/', '/page.js', '/page.css']) {
    const answer = await server.call('GET', path, { headers: [] });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  }
});

it('has nothing of all this in its log above debug but what somebody must know', () => {
  expect(server.log()).not.toContain('request failed');
});
