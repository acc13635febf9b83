import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { noDial } from '../../../test/helpers/no-http.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createHttpClient } from '../../lib/http/client.ts';
import type { Outcome } from '../outcome.ts';
import { webhook } from './webhook.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'Source syslog:app had no data for 60s\nsecond "line" €',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
  cribl_host: 'headgate',
};

/** The form that the settings require; the receiver refuses another. */
interface Form {
  readonly contentType: string;
  readonly encoding: string | undefined;
}
const NDJSON: Form = { contentType: 'application/x-ndjson', encoding: undefined };

interface Seen {
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  /** Decompressed. */
  readonly body: string;
  readonly bytes: number;
}

/**
 * A receiver as strict as vendors are: it answers 400 to a request of another form, and the test's answer to a good
 * one.
 */
async function sink(
  answer: (response: ServerResponse, seen: Seen) => void,
  { tls, form = NDJSON }: { tls?: { key: Buffer; cert: Buffer }; form?: Form } = {},
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const isPacked = request.headers['content-encoding'] === 'gzip';
      const one = {
        method: request.method,
        headers: request.headers,
        body: (isPacked ? gunzipSync(sent) : sent).toString(),
        bytes: sent.length,
      };
      seen.push(one);
      const fault = faultOf(one, form);
      if (fault === undefined) answer(response, one);
      else response.writeHead(400).end(fault);
    });
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise(resolve => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/in/path-is-secret`, seen };
}

function faultOf({ headers, body, bytes }: Seen, form: Form): string | undefined {
  if (headers['content-type'] !== form.contentType) return 'content type';
  if (headers['content-encoding'] !== form.encoding) return 'content encoding';
  if (Number(headers['content-length']) !== bytes) return 'content length';
  if (!/^headgate\/\d+\.\d+\.\d+/.test(headers['user-agent'] ?? '')) return 'user agent';
  if (form.contentType === 'application/json')
    return Array.isArray(JSON.parse(body)) ? undefined : 'no array';
  if (!body.endsWith('\n')) return 'a line without end';
  const lines = body.slice(0, -1).split('\n');
  return lines.every(line => typeof JSON.parse(line) === 'object') ? undefined : 'a line that is no object';
}

function send(
  settings: Readonly<Record<string, unknown>>,
  {
    events = [event],
    clock = systemClock,
    signal = new AbortController().signal,
  }: {
    events?: HeadgateEvent[];
    clock?: Clock;
    signal?: AbortSignal;
  } = {},
): Promise<Outcome> {
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock });
  cleanups.push(() => http.close());
  const target = webhook.configure({ id: 'hook', type: 'webhook', ...settings });
  return target.send(events, {
    deliveryId: '0190-delivery',
    http,
    dial: noDial,
    secretOf: () => undefined,
    clock,
    signal,
    logFolder: '/nowhere',
  });
}

test('events arrive as one JSON object a line, with the id of the delivery', async () => {
  const { url, seen } = await sink(response => response.writeHead(202).end());
  const second = { ...event, id: 'e2' };
  expect(await send({ url }, { events: [event, second] })).toEqual({ kind: 'sent', httpStatus: 202 });
  expect(seen).toHaveLength(1);
  expect(seen[0]?.method).toBe('POST');
  expect(seen[0]?.headers).toMatchObject({ 'webhook-id': '0190-delivery' });
  expect(seen[0]?.headers).not.toHaveProperty('authorization');
  expect(seen[0]?.body.split('\n').map(line => line && JSON.parse(line))).toEqual([event, second, '']);
});

test.each([
  [{ authType: 'token', token: 'tok-3n.~+/=' }, 'Bearer tok-3n.~+/='],
  [
    { authType: 'basic', username: 'uséር', password: 'pä:ss' },
    `Basic ${Buffer.from('uséር:pä:ss').toString('base64')}`,
  ],
  [{ authType: 'basic', username: 'u', password: '' }, 'Basic dTo='],
])('%j is sent as its Authorization header', async (settings, header) => {
  const { url, seen } = await sink(response => response.end());
  expect(await send({ url, method: 'PUT', ...settings })).toEqual({ kind: 'sent', httpStatus: 200 });
  expect([seen[0]?.method, seen[0]?.headers.authorization]).toEqual(['PUT', header]);
});

test('events arrive as one JSON array where that is the format', async () => {
  const form = { contentType: 'application/json', encoding: undefined };
  const { url, seen } = await sink(response => response.end(), { form });
  const second = { ...event, id: 'e2' };
  expect(await send({ url, format: 'json_array' }, { events: [event, second] })).toMatchObject({
    kind: 'sent',
  });
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual([event, second]);
});

test.each([
  [{}, 'keep-alive'],
  [{ keepAlive: false }, 'close'],
])('with %j the connection header is %s', async (settings, connection) => {
  const { url, seen } = await sink(response => response.end());
  await send({ url, ...settings });
  expect(seen[0]?.headers.connection).toBe(connection);
});

test('a compressed body is the same body', async () => {
  const { url, seen } = await sink(response => response.end(), { form: { ...NDJSON, encoding: 'gzip' } });
  const many = Array.from({ length: 100 }, () => event);
  expect(await send({ url, compress: true }, { events: many })).toMatchObject({ kind: 'sent' });
  expect(seen[0]?.body).toBe(`${JSON.stringify(event)}\n`.repeat(100));
  expect(seen[0]?.bytes).toBeLessThan(2000);
});

test('headers of the user are sent, and replace ours of the same name', async () => {
  const form = { ...NDJSON, contentType: 'text/plain' };
  const { url, seen } = await sink(response => response.end(), { form });
  const extraHttpHeaders = [
    { name: 'Content-Type', value: 'text/plain' },
    { name: 'X-Key', value: 'k\u00e9y' },
    { name: 'Authorization', value: 'GenieKey 1-2' },
  ];
  expect(await send({ url, extraHttpHeaders })).toMatchObject({ kind: 'sent' });
  expect(seen[0]?.headers).toMatchObject({ 'x-key': 'k\u00e9y', authorization: 'GenieKey 1-2' });
});

test('a Retry-After is ignored where the settings say so, and the target still pauses', async () => {
  const { url } = await sink(response => response.writeHead(429, { 'retry-after': '30' }).end());
  const outcome = await send({ url, responseHonorRetryAfterHeader: false });
  expect(outcome).toMatchObject({ kind: 'retry', pauseTarget: true });
  expect(outcome).not.toHaveProperty('retryAfterMs');
});

test('as many requests go at once as the settings say', () => {
  const configure = (settings: object) => webhook.configure({ id: 'a', type: 'webhook', url, ...settings });
  expect([configure({}).concurrency, configure({ concurrency: 12 }).concurrency]).toEqual([5, 12]);
});

test('a redirect is refused and neither followed nor counted as sent', async () => {
  const { url, seen } = await sink(response =>
    response.writeHead(301, { location: 'https://login.example/?next=secret' }).end('Moved'),
  );
  expect(await send({ url })).toEqual({
    kind: 'refused',
    httpStatus: 301,
    reason: expect.stringContaining('redirect not followed, Location host login.example'),
    answer: 'Moved',
  });
  expect(seen).toHaveLength(1);
});

test('a receiver that limits pauses the whole target for its Retry-After', async () => {
  const { url } = await sink(response => response.writeHead(429, { 'retry-after': '30' }).end('slow down'));
  expect(await send({ url })).toMatchObject({
    kind: 'retry',
    httpStatus: 429,
    retryAfterMs: 30_000,
    pauseTarget: true,
  });
});

test('an answer of 50 MB neither fails the delivery nor is read', async () => {
  let written = 0;
  const { url } = await sink(response => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const write = (): void => {
      while (written < 50_000_000) {
        written += chunk.length;
        if (response.write(chunk)) continue;
        response.once('drain', write);
        return;
      }
      response.end();
    };
    write();
  });
  expect(await send({ url })).toEqual({ kind: 'sent', httpStatus: 200, answer: 'x'.repeat(2048) });
  expect(written).toBeLessThan(25_000_000);
});

test.each([
  [{}, 30],
  [{ timeoutSec: 7 }, 7],
])(
  'with %j nobody knows after %i s whether a receiver that never answers has it',
  async (settings, seconds) => {
    const clock = testClock();
    let arrived = (): void => {};
    const arrival = new Promise<void>(resolve => {
      arrived = resolve;
    });
    const { url } = await sink(() => arrived());
    const outcome = send({ url, ...settings }, { clock });
    await arrival;
    await clock.advance(seconds * 1000);
    expect(await outcome).toEqual({
      kind: 'unknown',
      reason: expect.stringContaining(
        `timed out after ${seconds} s waiting for the first byte of the answer`,
      ),
    });
  },
);

test('nobody knows whether a message has arrived whose connection was reset', async () => {
  const { url } = await sink(response => response.socket?.resetAndDestroy());
  expect(await send({ url })).toEqual({ kind: 'unknown', reason: expect.stringContaining('closed before') });
});

test('when the process stops, the attempt ends at once, and nobody knows whether it has arrived', async () => {
  const stop = new AbortController();
  const { url } = await sink(() => stop.abort());
  expect(await send({ url }, { signal: stop.signal })).toMatchObject({ kind: 'unknown' });
});

test('a certificate that nobody vouches for is tried again a few times, with that reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'].concat([
      '-subj',
      '/CN=localhost',
      '-keyout',
      key,
      '-out',
      cert,
    ]),
    { stdio: 'ignore' },
  );
  const { url, seen } = await sink(response => response.end(), {
    tls: { key: readFileSync(key), cert: readFileSync(cert) },
  });
  expect(await send({ url })).toMatchObject({
    kind: 'retry',
    isTargetBroken: true,
    reason: expect.stringContaining('certificate'),
  });
  expect(seen).toEqual([]);
  expect(await send({ url, rejectUnauthorized: false })).toEqual({ kind: 'sent', httpStatus: 200 });
  expect(await send({ url })).toMatchObject({ kind: 'retry', isTargetBroken: true });
});

test('a metadata address is refused without a connection', async () => {
  expect(await send({ url: 'http://169.254.169.254/latest' })).toEqual({
    kind: 'refused',
    reason: expect.stringContaining('metadata'),
  });
});

test('no outcome shows a secret or the path, though the receiver echoes the whole request', async () => {
  const echo = (response: ServerResponse, { headers }: Seen): unknown =>
    response.writeHead(403).end(`/in/path-is-secret ${JSON.stringify(headers)} pass-w0rd`);
  for (const auth of [
    { authType: 'token', token: 't0ken-value' },
    { authType: 'basic', username: 'user', password: 'pass-w0rd' },
    { extraHttpHeaders: [{ name: 'X-Key', value: 't0ken-value' }] },
    { extraHttpHeaders: [{ name: 'Authorization', value: 'GenieKey t0ken-value' }] },
  ]) {
    const { url } = await sink(echo);
    const free = url.replace(/:\d+/, ':1');
    for (const outcome of [await send({ url, ...auth }), await send({ url: free, ...auth })]) {
      const shown = JSON.stringify(outcome);
      const encoded = Buffer.from('user:pass-w0rd').toString('base64');
      for (const secret of ['path-is-secret', 't0ken-value', encoded]) expect(shown).not.toContain(secret);
      if ('password' in auth) expect(shown).not.toContain('pass-w0rd');
    }
  }
});

const url = 'https://hooks.example/x';

test('an address is the only required setting', () => {
  expect(webhook.configure({ id: 'hook', type: 'webhook', url }).settings).toEqual({
    id: 'hook',
    type: 'webhook',
    url,
    method: 'POST',
    format: 'ndjson',
    authType: 'none',
    systemFields: ['cribl_host'],
    extraHttpHeaders: [],
    compress: false,
    rejectUnauthorized: true,
    flushPeriodSec: 1,
    concurrency: 5,
    maxPayloadSizeKB: 4096,
    maxPayloadEvents: 0,
    keepAlive: true,
    useRoundRobinDns: false,
    failedRequestLoggingMode: 'none',
    safeHeaders: [],
    responseRetrySettings: [],
    responseHonorRetryAfterHeader: true,
    redeliverOnRecovery: true,
    customDropWhenNull: false,
    customEventDelimiter: '\n',
    customContentType: 'application/x-ndjson',
    customPayloadExpression: expect.objectContaining({ text: '`${events}`' }),
  });
});

test('settings show secrets as masks', () => {
  const { settings } = webhook.configure({
    id: 'a',
    type: 'webhook',
    url,
    authType: 'token',
    token: 't0ken',
  });
  expect(JSON.stringify(settings)).not.toContain('t0ken');
});

test.each([
  [{}, 'url', /string/],
  [{ url: 'ftp://x/' }, 'url', /http/],
  [{ url: 'https://u:p@x/' }, 'url', /user name/],
  [{ url, method: 'GET' }, 'method', /POST/],
  [{ url, format: 'csv' }, 'format', /ndjson/],
  [{ url, authType: 'oauth' }, 'authType', /token/],
  [{ url, authType: 'token' }, 'token', /required with authType 'token'/],
  [{ url, authType: 'basic', password: 'p' }, 'username', /required with authType 'basic'/],
  [{ url, authType: 'basic', username: 'u' }, 'password', /required with authType 'basic'/],
  [{ url, token: 't' }, 'token', /not used with authType 'none'/],
  [{ url, authType: 'token', token: 't', username: 'u' }, 'username', /set authType to 'basic'/],
  [{ url, authType: 'basic', username: 'u', password: 'p', token: 't' }, 'token', /set authType to 'token'/],
  [{ url, authType: 'token', token: 'a\r\nx: y' }, 'token', /line breaks/],
  [{ url, authType: 'token', token: 'a\0' }, 'token', /ASCII/],
  [{ url, authType: 'token', token: '' }, 'token', /one or more/],
  [{ url, authType: 'token', token: 'schlüssel' }, 'token', /ASCII/],
  [{ url, authType: 'basic', username: 'a:b', password: 'p' }, 'username', /":"/],
  [{ url, authType: 'basic', username: 'a\nb', password: 'p' }, 'username', /line breaks/],
  [{ url, authType: 'basic', username: 'u', password: 'p\r\n' }, 'password', /line breaks/],
  [{ url, systemFields: ['cribl_hots'] }, 'systemFields[0]', /cribl_host/],
  [{ url, extra: 1 }, '', /extra/],
])('%j is refused at %s', (settings, path, message) => {
  const result = webhook.schema.safeParse({ id: 'hook', type: 'webhook', ...settings });
  const issues = (result.error?.issues ?? []).map(issue => ({
    path: issue.path.map(key => (typeof key === 'number' ? `[${key}]` : String(key))).join(''),
    message: issue.message,
  }));
  expect(issues).toEqual([{ path, message: expect.stringMatching(message) }]);
});

test('all errors show at once', () => {
  const result = webhook.schema.safeParse({ id: 'b a d', type: 'webhook', url: 1, authType: 'token' });
  expect(result.error?.issues.map(issue => issue.path.join('.')).sort()).toEqual(['id', 'token', 'url']);
});

test.each(['constructor', '__proto__', 'toString', 7, null])(
  'an authType that is none, %j, is an error at its place and no fault of ours',
  authType => {
    const read = webhook.schema.safeParse({ id: 'a', type: 'webhook', url: 'https://h.example/', authType });
    expect(read.error?.issues.map(issue => issue.path)).toEqual([['authType']]);
  },
);
