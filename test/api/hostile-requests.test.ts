import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { API_PREFIX, servedRoutes } from '../../src/api/v1/index.ts';
import { noData } from '../acceptance/files.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

let server: ApiServer;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await startApiServer({
    settings: { api: { loginRateLimit: '1000/second' } },
    notifications: {
      targets: [{ id: 'a', type: 'bulletin_message' }],
      notifications: [noData('silent', 'syslog:app', '1h', 'a')],
    },
  });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => server.stop());

/** Sends bytes as they are, and gathers what comes back until the server ends the connection. */
function talk(text: string) {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  let isClosed = false;
  socket.setEncoding('latin1').on('data', chunk => {
    answer += chunk;
  });
  socket
    .on('error', () => {})
    .on('close', () => {
      isClosed = true;
    });
  socket.write(text, 'latin1');
  sockets.push(socket);
  return { answer: () => answer, isClosed: () => isClosed, socket };
}

const statusesIn = (answer: string): number[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(found => Number(found[1]));

const LOGIN = 'POST /api/v1/auth/login HTTP/1.1';
const TYPE = 'content-type: application/json';
/** What hides behind a request whose end two readers see in two places. */
const SECOND = 'GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n';

describe('requests that two readers could see differently', () => {
  it.each([
    [
      'Content-Length beside Transfer-Encoding',
      [
        LOGIN,
        'host: localhost',
        TYPE,
        'content-length: 4',
        'transfer-encoding: chunked',
        '',
        `0\r\n\r\n${SECOND}`,
      ],
    ],
    [
      'two lengths',
      [LOGIN, 'host: localhost', TYPE, 'content-length: 2', 'content-length: 40', '', `{}${SECOND}`],
    ],
    [
      'two lengths in one header',
      [LOGIN, 'host: localhost', TYPE, 'content-length: 2, 40', '', `{}${SECOND}`],
    ],
    ['a length with a sign', [LOGIN, 'host: localhost', TYPE, 'content-length: +2', '', `{}${SECOND}`]],
    [
      'chunked not as the last encoding',
      [LOGIN, 'host: localhost', TYPE, 'transfer-encoding: chunked, identity', '', `0\r\n\r\n${SECOND}`],
    ],
    [
      'chunks whose size is no number',
      [LOGIN, 'host: localhost', TYPE, 'transfer-encoding: chunked', '', `0x2\r\n{}\r\n0\r\n\r\n${SECOND}`],
    ],
    ['a space before the colon', [LOGIN, 'host: localhost', TYPE, 'content-length : 2', '', `{}${SECOND}`]],
    ['a header folded over two lines', [LOGIN, 'host: localhost', TYPE, 'x-a: b', ' c: d', '', SECOND]],
    ['no Host', ['GET /api/v1/health HTTP/1.1', '', SECOND]],
    [
      'a bare line feed in a header',
      ['GET /api/v1/health HTTP/1.1', 'host: localhost', 'x-a: b\rc: d', '', SECOND],
    ],
    ['a NUL in a header', ['GET /api/v1/health HTTP/1.1', 'host: localhost', 'x-a: b\0c', '', SECOND]],
  ])('are refused and end the connection: %s', async (_, lines) => {
    const { answer, isClosed } = talk(lines.join('\r\n'));
    await until(isClosed, 'the end of the connection');
    expect(statusesIn(answer())).toEqual([400]);
  });
});

describe('an Authorization header of', () => {
  it.each([
    ['15 KB', 15_000, 401],
    ['17 KB', 17_000, 431],
  ])('%s is refused, and the next request is answered as ever', async (_, length, status) => {
    const { answer, isClosed } = talk(
      `GET /api/v1/notifications HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${'a'.repeat(length)}\r\n\r\n${SECOND}`,
    );
    await until(() => isClosed() || answer().includes('"healthy"'), 'the answer');
    expect(statusesIn(answer())).toEqual(status === 431 ? [431] : [401, 200]);
    expect((await server.call('GET', '/api/v1/notifications')).status).toBe(200);
  });
});

describe('a body', () => {
  it.each([
    [16 * 1024, 400],
    [16 * 1024 + 1, 413],
  ])('of %i bytes for a login is answered %i', async (length, status) => {
    const filled = `{"a":"${'x'.repeat(length - 8)}"}`;
    const answer = await server.call('POST', '/api/v1/auth/login', {
      headers: [['content-type', 'application/json']],
      body: filled,
    });
    expect([filled.length, answer.status]).toEqual([length, status]);
  });

  it.each([
    [5 * 1024 * 1024, 400],
    [5 * 1024 * 1024 + 1, 413],
  ])('of %i bytes for anything else is answered %i', async (length, status) => {
    const answer = await server.call('POST', '/api/v1/notifications', {
      headers: [
        ['authorization', server.token],
        ['content-type', 'application/json'],
      ],
      body: `{"a":"${'x'.repeat(length - 8)}"}`,
    });
    expect(answer.status).toBe(status);
  });

  it('without end is cut off at the limit', async () => {
    const { answer, isClosed, socket } = talk(
      [LOGIN, 'host: localhost', TYPE, 'transfer-encoding: chunked', '', ''].join('\r\n'),
    );
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    await until(() => {
      if (!isClosed() && socket.writableLength === 0) socket.write(chunk);
      return isClosed();
    }, 'the end of the connection');
    expect(statusesIn(answer())).toEqual([413]);
  });
});

describe('other spellings of a request', () => {
  const paths = ['/api/v1/notifications', '/api/v1/system/users', '/api/v1/version/info', '/api/v1/auth/me'];
  const variants = (path: string): string[] => [
    `${path}/`,
    `/${path}`,
    path.replace('/v1/', '//v1//'),
    path.toUpperCase(),
    path.replace('/api', '/%61pi'),
    path.replace('/v1/', '/v1%2f'),
    path.replace('/v1/', '/v1/./'),
    path.replace('/v1/', '/v1/health/../'),
    path.replace('/v1/', '/v1/auth/login/..%2f..%2f'),
    path.replace('/v1/', '/v1;x/'),
    `${path};/health`,
    `${path}%20`,
    `${path}?x=/api/v1/health`,
    `${path}#/api/v1/health`,
    `${path}\\`,
    `/session/..${path}`,
    `http://x${path}`,
  ];

  it.each(paths)('of %s get nothing without a token', async path => {
    for (const variant of variants(path)) {
      const answer = await server.call('GET', variant, { headers: [] });
      expect([variant, [400, 401, 404].includes(answer.status)]).toEqual([variant, true]);
      expect(JSON.parse(answer.text).status).toBe('error');
    }
  });

  it.each(['HEAD', 'OPTIONS', 'TRACE', 'SEARCH', 'PROPFIND', 'QUERY'])('with %s neither', async method => {
    for (const { path } of servedRoutes) {
      const url = API_PREFIX + path.replace(/:(\w+)/g, 'x');
      const { status, text } = await server.call(method, url, { headers: [] });
      expect([url, status]).toEqual([url, 401]);
      if (method === 'HEAD') expect(text).toBe('');
    }
  });

  it('with a header that names another method are what they are', async () => {
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      const call = (method: string, path: string, override: string, headers = [] as [string, string][]) =>
        server.call(method, path, { headers: [...headers, [name, override]] });
      expect((await call('POST', '/api/v1/notifications', 'GET')).status).toBe(401);
      const known: [string, string] = ['authorization', server.token];
      expect((await call('GET', '/api/v1/notifications/silent', 'DELETE', [known])).status).toBe(200);
      expect((await call('GET', '/api/v1/notifications/silent', 'GET', [known])).status).toBe(200);
      expect((await call('GET', '/api/v1/notifications?_method=DELETE', 'x', [known])).status).toBe(200);
    }
    for (const name of ['x-original-url', 'x-rewrite-url'])
      expect(
        (await server.call('GET', '/api/v1/health', { headers: [[name, '/api/v1/notifications']] })).text,
      ).toContain('healthy');
  });

  it('show nothing of the headers that came: TRACE is no method here', async () => {
    for (const path of ['/', '/api/v1/health', '/session', '/metrics']) {
      const { status, text } = await server.call('TRACE', path, { headers: [['cookie', 'sid=shown']] });
      expect([401, 404, 405, 403]).toContain(status);
      expect(text).not.toContain('shown');
    }
  });
});
