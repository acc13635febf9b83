import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { certificateAuthority } from '../helpers/certificates.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';

const api = { requestTimeout: '1s' };
/** Without an interval of its own, Node looks after half a minute only. */
const SOON_MS = 20_000;

const removals: (() => void)[] = [];
let plain: HostedApp;
let encrypted: HostedApp;
beforeAll(async () => {
  const { cert, key } = certificateAuthority('the authority', remove => removals.push(remove)).issue(
    'server',
  );
  plain = await startHostedApp({ clock: systemClock, settings: { api } });
  encrypted = await startHostedApp({
    clock: systemClock,
    settings: { api: { ...api, tls: { certPath: cert, privKeyPath: key } } },
  });
});
afterAll(async () => {
  await plain.stop();
  await encrypted.stop();
  for (const remove of removals) remove();
});

const plainTo = (port: number): Socket => connectPlain(port, '127.0.0.1');
const tlsTo = (port: number): Socket => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });

describe.each([
  ['the API', '/session/login', () => plainTo(plain.port)],
  ['the API over TLS', '/session/login', () => tlsTo(encrypted.port)],
  ['the login service', '/oauth/token', () => plainTo(plain.port + 1)],
  ['the login service over TLS', '/oauth/token', () => tlsTo(encrypted.port + 1)],
])('%s', (_, path, open) => {
  const HEAD = `POST ${path} HTTP/1.1\r\nHost: main-acme.localhost\r\nSec-Fetch-Site: same-origin\r\n`;
  const BODY = `${HEAD}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n`;
  const CHUNKED = `${HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;

  it.each([
    ['headers that come byte by byte', HEAD, 'a'],
    ['headers that stop coming', HEAD, ''],
    ['a body that comes byte by byte', BODY, ' '],
    ['a body that stops coming', BODY, ''],
    ['a body in chunks of one byte', CHUNKED, '1\r\n \r\n'],
    ['nothing at all', '', ''],
  ])('answers %s with 408 in time, and ends the connection', async (__, begin, more) => {
    const begun = performance.now();
    const socket = open();
    onTestFinished(() => void socket.destroy());
    let answer = '';
    socket
      .on('error', () => {})
      .on('data', part => {
        answer += part;
      });
    socket.write(begin);
    await until(() => {
      if (more !== '' && socket.writable) socket.write(more);
      return socket.destroyed;
    }, 'the end of the connection');
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"invalid-request"/);
    expect(performance.now() - begun).toBeLessThan(SOON_MS);
  });
});

it('ends a handshake of TLS that does not go on', async () => {
  const begun = performance.now();
  const socket = plainTo(encrypted.port);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {}).resume();
  await until(() => socket.destroyed, 'the end of the connection');
  expect(performance.now() - begun).toBeLessThan(SOON_MS);
});
