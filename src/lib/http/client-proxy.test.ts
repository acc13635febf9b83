import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { certificateAuthority } from '../../../test/helpers/certificates.ts';
import { systemClock } from '../clock.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from './client.ts';
import type { HttpFailureReason } from './failure.ts';
import type { Resolve } from './guard.ts';
import { proxiesFrom } from './proxy.ts';

const CREDENTIALS = 'ada:p-s3cret';
const AUTHORIZATION = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen');
  return address.port;
}

const greet: RequestListener = (incoming, response) => {
  incoming.resume();
  response.end(`hello from ${incoming.headers.host}${incoming.url}`);
};

const receiver = (): Promise<number> => listening(createServer(greet));

function secureReceiver(): Promise<number> {
  const { cert, key } = certificateAuthority().issue('receiver');
  const tls = { cert: readFileSync(cert), key: readFileSync(key) };
  return listening(createTlsServer(tls, greet));
}

interface TestProxy {
  readonly port: number;
  /** First lines of the requests that it got. */
  readonly asked: string[];
}

/** Knows every name as this machine; with a `refusal`, hands nothing on. */
async function forwardProxy(refusal?: number): Promise<TestProxy> {
  const asked: string[] = [];
  const tunnels = new Set<Duplex>();
  const verdictOn = ({ method, url, headers }: IncomingMessage): number | undefined => {
    asked.push(`${method} ${url}`);
    return refusal ?? (headers['proxy-authorization'] === AUTHORIZATION ? undefined : 407);
  };
  const server = createServer((incoming, outgoing) => {
    const verdict = verdictOn(incoming);
    if (verdict !== undefined) return void outgoing.writeHead(verdict).end(JSON.stringify(incoming.headers));
    const { port, pathname, search, host } = new URL(incoming.url ?? '');
    if (incoming.headers.host !== host) return void outgoing.writeHead(400).end('another host');
    if (incoming.headers['x-one'] !== '1') return void outgoing.writeHead(400).end('a header is missing');
    const onward = { host: '127.0.0.1', port, path: pathname + search, headers: { host }, agent: false };
    request(onward, answer => answer.pipe(outgoing)).end();
  });
  server.on('connect', (incoming, socket) => {
    tunnels.add(socket.on('error', () => {}));
    const verdict = verdictOn(incoming);
    if (verdict !== undefined) return void socket.end(`HTTP/1.1 ${verdict} No\r\n\r\n`);
    const onward = connect(Number(/\d+$/.exec(incoming.url ?? '')?.[0]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    tunnels.add(onward.on('error', () => {}));
  });
  const port = await listening(server);
  onTestFinished(() => {
    for (const socket of tunnels) socket.destroy();
  });
  return { port, asked };
}

const namesOf =
  (addresses: Readonly<Record<string, string>>): Resolve =>
  (hostname, done) => {
    const address = addresses[hostname];
    if (address === undefined) done(Object.assign(new Error('no name'), { code: 'ENOTFOUND' }), []);
    else done(null, [{ address, family: 4 }]);
  };

function clientOf(
  environment: Readonly<Record<string, string>>,
  more: Partial<Parameters<typeof createHttpClient>[0]> = {},
): HttpClient {
  const made = createHttpClient({
    privateAddresses: 'refuse',
    allowedAddresses: [],
    clock: systemClock,
    proxies: proxiesFrom(environment),
    resolve: namesOf({ 'proxy.example': '127.0.0.1' }),
    ...more,
  });
  onTestFinished(() => made.close());
  return made;
}

const at = (port: number, credentials = `${CREDENTIALS}@`): Record<string, string> => ({
  HTTP_PROXY: `http://${credentials}proxy.example:${port}`,
  HTTPS_PROXY: `http://${credentials}127.0.0.1:${port}`,
});

const get = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  url,
  method: 'GET',
  headers: { 'x-one': '1' },
  timeoutMs: 10_000,
  maxAnswerBytes: 1000,
  proxied: true,
  skipsVerification: true,
  ...more,
});

const failure = (reason: HttpFailureReason, text: string) =>
  expect.objectContaining({ name: 'HttpFailure', reason, message: expect.stringContaining(text) });

test('http goes through the proxy as a whole address, with its name and password', async () => {
  const [port, proxy] = [await receiver(), await forwardProxy()];
  const answer = await clientOf(at(proxy.port)).request(get(`http://a.example:${port}/in?x=1`));
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.body.toString()).toBe(`hello from a.example:${port}/in?x=1`);
  expect(proxy.asked).toEqual([`GET http://a.example:${port}/in?x=1`]);
});

test('https goes through a tunnel, in which the certificate of the receiver counts', async () => {
  const [port, proxy] = [await secureReceiver(), await forwardProxy()];
  const http = clientOf(at(proxy.port), { connections: 1 });
  const url = `https://a.example:${port}/in`;
  expect((await http.request(get(url))).body.toString()).toBe(`hello from a.example:${port}/in`);
  expect((await http.request(get(url))).status).toBe(200);
  expect(proxy.asked).toEqual([`CONNECT a.example:${port}`]);
  await expect(http.request(get(url, { skipsVerification: false }))).rejects.toEqual(
    failure('tls', 'a.example'),
  );
});

test('a request that does not ask for the proxy goes without it, and so does one to a host of NO_PROXY', async () => {
  const [port, proxy] = [await receiver(), await forwardProxy()];
  const resolve = namesOf({ 'a.example': '127.0.0.1', 'b.example': '127.0.0.1' });
  const environment = { ...at(proxy.port), NO_PROXY: 'b.example' };
  const http = clientOf(environment, { resolve, privateAddresses: 'allow' });
  expect((await http.request(get(`http://a.example:${port}/`, { proxied: false }))).status).toBe(200);
  expect((await http.request(get(`http://b.example:${port}/`))).status).toBe(200);
  expect(proxy.asked).toEqual([]);
  const guarded = clientOf(environment, { resolve });
  await expect(guarded.request(get(`http://b.example:${port}/`))).rejects.toEqual(
    failure('forbidden-address', 'not public'),
  );
});

test.each(['http://10.0.0.1/', 'https://10.0.0.1/', 'https://[fd00::1]/', 'http://169.254.169.254/'])(
  'the forbidden address %s is refused before the proxy is asked',
  async url => {
    const proxy = await forwardProxy();
    await expect(clientOf(at(proxy.port)).request(get(url))).rejects.toEqual(
      failure('forbidden-address', new URL(url).origin),
    );
    expect(proxy.asked).toEqual([]);
  },
);

test.each(['http', 'https'])('a proxy at a metadata address is never connected to, for %s', async scheme => {
  const environment = { HTTP_PROXY: 'http://proxy.example', HTTPS_PROXY: 'http://169.254.169.254' };
  const http = clientOf(environment, { resolve: namesOf({ 'proxy.example': '169.254.169.254' }) });
  await expect(http.request(get(`${scheme}://a.example/`))).rejects.toEqual(
    failure('forbidden-address', 'metadata'),
  );
});

test.each([
  ['http', 407, 'p-wrong'],
  ['https', 407, 'p-wrong'],
  ['https', 502, 'p-wrong'],
])('a proxy that refuses %s with %i is named without its password', async (scheme, status, password) => {
  const proxy = await forwardProxy(status === 407 ? undefined : status);
  const error = await clientOf(at(proxy.port, `ada:${password}@`))
    .request(get(`${scheme}://a.example/`))
    .catch((thrown: unknown) => thrown);
  expect(error).toEqual(failure('other', `:${proxy.port} answered ${status}`));
  expect(error).toEqual(failure('other', `${scheme}://a.example: the proxy http://`));
  expect(String(error)).not.toContain(password);
  expect(proxy.asked).toHaveLength(1);
});

test('the answer of a proxy for a receiver over http is an answer, without the credentials that the proxy got', async () => {
  const proxy = await forwardProxy(502);
  const answer = await clientOf(at(proxy.port)).request(get('http://a.example/'));
  expect(answer.status).toBe(502);
  expect(answer.body.toString()).toContain('"proxy-authorization":"Basic ********"');
});

test.each(['http', 'https'])('a proxy that does not listen is named, for %s', async scheme => {
  const http = clientOf(at(1));
  await expect(http.request(get(`${scheme}://a.example/`))).rejects.toEqual(
    failure('refused', `${scheme}://a.example through the proxy http://`),
  );
});

test.each<[string, (socket: Socket) => void, HttpFailureReason]>([
  ['closes the connection', socket => void socket.destroy(), 'reset'],
  ['closes it within its answer', socket => void socket.end('HTTP/1.1 20'), 'reset'],
  [
    'closes the tunnel that it opened',
    socket => void socket.end('HTTP/1.1 200 Connection established\r\n\r\n'),
    'reset',
  ],
  ['speaks something else', socket => void socket.end('220 mail.example ESMTP\r\n'), 'other'],
])('a proxy that %s is asked once, and the exchange has failed', async (_, talk, reason) => {
  let connections = 0;
  const server = createTcpServer(socket => {
    connections++;
    socket.on('error', () => {}).once('data', () => talk(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const http = clientOf(at(typeof address === 'object' ? (address?.port ?? 0) : 0));
  await expect(http.request(get('https://a.example/'))).rejects.toEqual(
    failure(reason, 'https://a.example through the proxy http://'),
  );
  expect(connections).toBeLessThanOrEqual(2);
});
