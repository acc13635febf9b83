import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { certificateAuthority } from '../../test/helpers/certificates.ts';
import { sendOnce } from '../../test/helpers/sending.ts';
import { networkTargets } from '../../test/helpers/target-samples.ts';
import { findTargetType } from './index.ts';

const read = (path: string): string => readFileSync(path, 'utf8');

/** Every type that speaks HTTP. */
const httpTargets = (host: string, port: number, scheme = 'http') =>
  networkTargets(host, port, scheme).filter(({ type }) => type !== 'smtp');
const TYPES = httpTargets('receiver.example', 1).map(({ type }) => type);
const settingsOf = (type: string, host: string, port: number, scheme?: string) => {
  const found = httpTargets(host, port, scheme).find(one => one.type === type);
  if (found === undefined) throw new Error(`no settings of ${type}`);
  return found;
};

async function listening(server: Server | ReturnType<typeof createHttpsServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** What each type takes for a success. */
const PUBLISHED = `<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`;
const bodyFor = ({ url = '' }: IncomingMessage): string => (url.endsWith('/in') ? 'ok' : PUBLISHED);

const authority = certificateAuthority('the authority', () => {});
const server = authority.issue('receiver');
const client = authority.issue('client', 'open sesame');
const identity = { cert: read(client.cert), key: read(client.key), passphrase: 'open sesame' };

test.each(TYPES)(
  '%s trusts its own authority, shows its certificate, and refuses old versions',
  async type => {
    const shown: string[] = [];
    const port = await listening(
      createHttpsServer(
        {
          ...{ cert: read(server.cert), key: read(server.key), ca: read(authority.cert) },
          ...{ requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' },
        },
        (request, response) => {
          const { socket } = request;
          shown.push(socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject?.CN) : '');
          response.end(bodyFor(request));
        },
      ),
    );
    const settings = settingsOf(type, '127.0.0.1', port, 'https');
    const ca = read(authority.cert);
    expect(await sendOnce({ ...settings, tls: { ca, ...identity } }, [alarm])).toMatchObject({
      kind: 'sent',
    });
    expect(shown).toEqual(['client']);
    expect(await sendOnce({ ...settings, tls: { ca } }, [alarm])).not.toMatchObject({ kind: 'sent' });
    expect(await sendOnce({ ...settings, tls: identity }, [alarm])).toMatchObject({
      kind: 'retry',
      isTargetBroken: true,
      reason: expect.stringContaining('certificate'),
    });
    const strict = { ca, ...identity, minVersion: 'TLSv1.3' };
    expect(await sendOnce({ ...settings, tls: strict }, [alarm])).toMatchObject({ kind: 'retry' });
    expect(shown).toEqual(['client']);
  },
);

/** A proxy that asks for a name and a password, and answers plain requests itself. */
async function proxy(password: string) {
  const asked: string[] = [];
  const isAllowed = ({ headers }: IncomingMessage): boolean =>
    headers['proxy-authorization'] === `Basic ${Buffer.from(`me:${password}`).toString('base64')}`;
  const running = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (isAllowed(request)) response.end(bodyFor(request));
    else response.writeHead(407).end(request.headers['proxy-authorization']);
  });
  running.on('connect', (request: IncomingMessage, socket) => {
    asked.push(`CONNECT ${request.url}`);
    if (!isAllowed(request)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const [, port] = (request.url ?? '').split(':');
    const onward = connect(Number(port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const one of [socket, onward]) one.on('error', () => {});
  });
  return { url: `http://127.0.0.1:${await listening(running)}`, asked };
}

test.each(TYPES)('%s goes through its own proxy, in clear and in a tunnel', async type => {
  const { url: proxyUrl, asked } = await proxy('s3cret');
  const own = { proxyUrl, proxyUsername: 'me', proxyPassword: 's3cret' };
  const plain = settingsOf(type, 'receiver.example', 80);
  expect(await sendOnce({ ...plain, ...own }, [alarm])).toMatchObject({ kind: 'sent' });
  expect(asked.splice(0)).toEqual([expect.stringMatching(/^POST http:\/\/receiver.example(:80)?\//)]);

  const port = await listening(
    createHttpsServer({ cert: read(server.cert), key: read(server.key) }, (request, response) =>
      response.end(bodyFor(request)),
    ),
  );
  const tls = { ca: read(authority.cert) };
  const encrypted = { ...settingsOf(type, 'localhost', port, 'https'), ...own, tls };
  expect(await sendOnce(encrypted, [alarm])).toMatchObject({ kind: 'sent' });
  expect(asked.splice(0)).toEqual([`CONNECT localhost:${port}`]);

  const refused = await sendOnce({ ...plain, ...own, proxyPassword: 'another' }, [alarm]);
  expect(refused).toMatchObject({
    reason: expect.stringMatching(/407; give its name and password in proxyUsername and proxyPassword/),
  });
  expect(JSON.stringify(refused)).not.toMatch(/another|bWU6/);
});

test.each(TYPES)('%s waits for each step as long as it is told to', type => {
  const of = (settings: object) =>
    findTargetType(type)?.configure({ ...settingsOf(type, 'a.example', 1), ...settings });
  expect(() => of({ timeouts: { firstByte: 600 } })).not.toThrow();
  expect(() => of({ timeouts: { firstByte: 601 } })).toThrow();
  expect(() => of({ timeouts: { answer: 1 } })).toThrow();
});

test.each([
  [{ cert: identity.cert }, 'tls.key'],
  [{ key: identity.key }, 'tls.cert'],
  [{ cert: identity.cert, key: identity.key }, 'tls.key'],
  [{ ...identity, cert: read(server.cert) }, 'tls.key'],
  [{ ca: 'none' }, 'tls.ca'],
  [{ minVersion: 'TLSv1.3', maxVersion: 'TLSv1.2' }, 'tls.minVersion'],
])('a certificate without its key is refused where it stands: %#', (tls, path) => {
  const configure = () =>
    findTargetType('webhook')?.configure({ id: 'w', type: 'webhook', url: 'https://a.example', tls });
  expect(configure).toThrow(
    expect.objectContaining({
      issues: [expect.objectContaining({ path: path.split('.') })],
    }),
  );
});
