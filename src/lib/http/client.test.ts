import { X509Certificate } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { certificateAuthority } from '../../../test/helpers/certificates.ts';
import { settle, testClock } from '../../../test/helpers/clock.ts';
import { systemClock } from '../clock.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from './client.ts';
import type { HttpFailureReason } from './failure.ts';
import type { Resolve } from './guard.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function serve(listener: RequestListener): Promise<{ port: number; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise(resolve => server.close(resolve));
  });
  return { port: portOf(server), server };
}

function portOf(server: { address(): unknown }): number {
  const address = server.address();
  if (typeof address === 'object' && address !== null && 'port' in address) return Number(address.port);
  throw new Error('the server does not listen');
}

function client(options: Partial<Parameters<typeof createHttpClient>[0]> = {}): HttpClient {
  const made = createHttpClient({
    privateAddresses: 'allow',
    allowedAddresses: [],
    clock: systemClock,
    ...options,
  });
  cleanups.push(() => made.close());
  return made;
}

const get = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  url,
  method: 'GET',
  timeoutMs: 10_000,
  maxAnswerBytes: 1000,
  ...more,
});

const failure = (reason: HttpFailureReason, text?: string) =>
  expect.objectContaining({
    name: 'HttpFailure',
    reason,
    ...(text && { message: expect.stringContaining(text) }),
  });

test('a request carries method, path, headers and body, and the answer comes back whole', async () => {
  const { port } = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.writeHead(201, { 'x-seen': `${request.method} ${request.url} ${request.headers['x-one']}` });
      response.end(Buffer.concat(chunks));
    });
  });
  const answer = await client().request(
    get(`http://127.0.0.1:${port}/a/b?c=d`, { method: 'PUT', headers: { 'x-one': '1' }, body: 'héllo' }),
  );
  expect(answer).toMatchObject({ status: 201, truncated: false });
  expect(answer.headers).toMatchObject({ 'x-seen': 'PUT /a/b?c=d 1', 'set-cookie': 'a=1, b=2' });
  expect(answer.body.toString()).toBe('héllo');
});

test('a redirect is an answer and is not followed', async () => {
  let requests = 0;
  const { port } = await serve((_, response) => {
    requests++;
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const answer = await client().request(get(`http://127.0.0.1:${port}/`));
  expect([answer.status, answer.headers.location, requests]).toEqual([302, '/elsewhere', 1]);
});

test('an answer of 50 MB is read to the limit and no further, and the next request still works', async () => {
  let sent = 0;
  const { port } = await serve((request, response) => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const write = (): void => {
      while (sent < 50_000_000) {
        sent += chunk.length;
        if (response.write(chunk)) continue;
        response.once('drain', write);
        return;
      }
      response.end();
    };
    if (request.url === '/small') response.end('small');
    else write();
  });
  const http = client();
  const answer = await http.request(get(`http://127.0.0.1:${port}/`));
  expect([answer.body.length, answer.truncated]).toEqual([1000, true]);
  expect((await http.request(get(`http://127.0.0.1:${port}/small`))).body.toString()).toBe('small');
  expect(sent).toBeLessThan(25_000_000);
});

test('a gzip answer is decoded, and what is too long after decoding is cut', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  const { port } = await serve((request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(request.url === '/bomb' ? bomb : gzipSync('plain'));
  });
  const http = client();
  expect((await http.request(get(`http://127.0.0.1:${port}/`))).body.toString()).toBe('plain');
  const cut = await http.request(get(`http://127.0.0.1:${port}/bomb`));
  expect([cut.body.length, cut.truncated]).toEqual([1000, true]);
});

test('an answer that says gzip and is not fails with that reason', async () => {
  const { port } = await serve((_, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end('plain');
  });
  await expect(client().request(get(`http://127.0.0.1:${port}/`))).rejects.toEqual(failure('other', 'gzip'));
});

test('a gzip answer that ends early fails, wherever it ends', async () => {
  const whole = gzipSync('in_total 5\n'.repeat(50));
  const { port } = await serve((request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(whole.subarray(0, Number(request.url?.slice(1))));
  });
  const http = client();
  for (const length of [1, 9, 12, whole.length - 8, whole.length - 1])
    await expect(http.request(get(`http://127.0.0.1:${port}/${length}`))).rejects.toEqual(failure('other'));
});

test('requests share the given number of connections to an origin', async () => {
  const held: (() => void)[] = [];
  let connections = 0;
  const { port, server } = await serve((_, response) => {
    held.push(() => response.end());
    if (held.length >= 3) for (const answer of held.splice(0)) answer();
  });
  server.on('connection', () => connections++);
  const http = client({ connections: 3 });
  await Promise.all(Array.from({ length: 30 }, () => http.request(get(`http://127.0.0.1:${port}/`))));
  expect(connections).toBe(3);
});

test.each([
  ['before the headers', false, 'waiting for the first byte of the answer'],
  ['inside the body', true, 'reading the answer'],
])('a receiver that hangs %s times out by the clock', async (_, headers, doing) => {
  const clock = testClock();
  let arrived = (): void => {};
  const arrival = new Promise<void>(resolve => {
    arrived = resolve;
  });
  const { port } = await serve((_, response) => {
    if (headers) response.write('part');
    arrived();
  });
  const http = client({ clock });
  const request = http.request(get(`http://127.0.0.1:${port}/secret`, { timeoutMs: 5000 }));
  const failed = expect(request).rejects.toEqual(
    failure('timeout', `http://127.0.0.1:${port}: timed out after 5 s ${doing}`),
  );
  await arrival;
  await clock.advance(4999);
  await clock.advance(1);
  await failed;
});

test('a name whose look-up hangs times out by the clock', async () => {
  const clock = testClock();
  const request = client({ clock, resolve: () => {} }).request(
    get('http://receiver.example/', { timeoutMs: 5000 }),
  );
  const failed = expect(request).rejects.toEqual(failure('timeout'));
  await clock.advance(5000);
  await failed;
});

test('an aborted request ends at once, also when it was aborted before', async () => {
  const { port } = await serve(() => {});
  const controller = new AbortController();
  const http = client();
  const request = http.request(get(`http://127.0.0.1:${port}/`, { signal: controller.signal }));
  await settle();
  controller.abort();
  await expect(request).rejects.toEqual(failure('aborted'));
  await expect(http.request(get(`http://127.0.0.1:${port}/`, { signal: controller.signal }))).rejects.toEqual(
    failure('aborted'),
  );
});

test('many requests may share a signal, and leave one listener on it, however many they were', async () => {
  const warnings: unknown[] = [];
  const onWarning = (warning: unknown): unknown => warnings.push(warning);
  process.on('warning', onWarning);
  cleanups.push(() => process.off('warning', onWarning));
  const { port } = await serve((_, response) => response.end());
  const { signal } = new AbortController();
  const http = client();
  const request = get(`http://127.0.0.1:${port}/`, { signal });
  await Promise.all(Array.from({ length: 20 }, () => http.request(request)));
  await settle();
  expect(warnings).toEqual([]);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
});

test('closing the client ends what is under way', async () => {
  let arrived = (): void => {};
  const arrival = new Promise<void>(resolve => {
    arrived = resolve;
  });
  const { port } = await serve(() => arrived());
  const http = client();
  const failed = expect(http.request(get(`http://127.0.0.1:${port}/`))).rejects.toEqual(failure('aborted'));
  await arrival;
  await http.close();
  await failed;
});

async function serveTcp(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createTcpServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => onSocket(socket));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise(resolve => server.close(resolve)));
  return portOf(server);
}

test('each way a connection fails has its reason, and no message holds the path', async () => {
  const reset = await serveTcp(socket => socket.resetAndDestroy());
  const closed = await serveTcp(socket => socket.end());
  const half = await serveTcp(socket => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
  const garbage = await serveTcp(socket => socket.end('220 mail.example ESMTP\r\n'));
  const free = await serveTcp(() => {});
  await cleanups.pop()?.();
  const { port: plain } = await serve((_, response) => response.end());
  const loopback = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];
  const resolve: Resolve = (name, done) =>
    name === 'both.example'
      ? done(null, loopback)
      : done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);

  const cases: [HttpFailureReason, string][] = [
    ['reset', `http://127.0.0.1:${reset}/s3cret`],
    ['reset', `http://127.0.0.1:${closed}/s3cret`],
    ['reset', `http://127.0.0.1:${half}/s3cret`],
    ['other', `http://127.0.0.1:${garbage}/s3cret`],
    ['refused', `http://127.0.0.1:${free}/s3cret`],
    ['refused', `http://both.example:${free}/s3cret`],
    ['dns', 'http://receiver.example/s3cret'],
    ['tls', `https://127.0.0.1:${plain}/s3cret`],
  ];
  const http = client({ resolve });
  for (const [reason, url] of cases) {
    const error = await http.request(get(url)).catch(thrown => thrown);
    expect([url, error.reason]).toEqual([url, reason]);
    expect(error.message).toContain(new URL(url).origin);
    expect(error.message).not.toContain('s3cret');
  }
  await expect(http.request(get('no address'))).rejects.toEqual(failure('other', 'malformed'));
});

test.each(['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', '[::1]'])(
  'where private addresses are refused, %s is never connected to',
  async host => {
    let requests = 0;
    const { port } = await serve((_, response) => {
      requests++;
      response.end();
    });
    await expect(
      client({ privateAddresses: 'refuse' }).request(get(`http://${host}:${port}/`)),
    ).rejects.toEqual(failure('forbidden-address', 'not public'));
    expect(requests).toBe(0);
  },
);

test('metadata is refused where private addresses are allowed, by address and by name', async () => {
  const resolve: Resolve = (_, done) => done(null, [{ address: '169.254.169.254', family: 4 }]);
  const http = client({ resolve });
  for (const url of [
    'http://169.254.169.254/latest',
    'https://[64:ff9b::a9fe:a9fe]/',
    'http://innocent.example/',
  ])
    await expect(http.request(get(url))).rejects.toEqual(failure('forbidden-address', 'never allowed'));
});

test('one forbidden address among those of a name refuses the name', async () => {
  const resolve: Resolve = (_, done) =>
    done(null, [
      { address: '8.8.8.8', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ]);
  await expect(
    client({ privateAddresses: 'refuse', resolve }).request(get('http://both.example/')),
  ).rejects.toEqual(failure('forbidden-address'));
});

test('a name is looked up once for a connection: what was judged is what is connected to', async () => {
  const { port } = await serve((request, response) => response.end(request.headers.host));
  let asked = 0;
  const resolve: Resolve = (_, done) =>
    done(null, [{ address: asked++ === 0 ? '127.0.0.1' : '169.254.169.254', family: 4 }]);
  const http = client({ privateAddresses: 'refuse', allowedAddresses: ['127.0.0.1'], resolve });
  const answer = await http.request(get(`http://receiver.example:${port}/`));
  expect([answer.body.toString(), asked]).toEqual([`receiver.example:${port}`, 1]);
});

test('a receiver says by its certificate until when that holds, and one without says nothing', async () => {
  const { cert, key } = certificateAuthority().issue('receiver');
  const server = createHttpsServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, response) =>
    response.end(),
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise(resolve => server.close(resolve));
  });
  const { port: plain } = await serve((_, response) => response.end());
  const seen = new Map<string, number>();
  const http = client({ onCertificate: (origin, notAfter) => void seen.set(origin, notAfter) });
  const origin = `https://127.0.0.1:${portOf(server)}`;
  await http.request(get(`${origin}/path`, { skipsVerification: true }));
  await http.request(get(`http://127.0.0.1:${plain}/`));
  const { validTo } = new X509Certificate(readFileSync(cert));
  expect([...seen]).toEqual([[origin, Date.parse(validTo)]]);
});
