import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type * as z from 'zod';
import { type Api, ledgerDetail, ledgerItem } from './client.ts';
import { installation, logIn, serve, stop, temporaryFolder, until } from './harness.ts';
import { alarm, monitors, POSTING, post } from './posting.ts';
import { hang, type Reply, scriptedSink, single, status, take } from './scripted-sink.ts';

const MEGABYTE = 1024 * 1024;
const TRIES = 3;

/** 50 MB as fast as they are read; counts what the system took. */
function largeAnswer(code: number, onEnd: (sentBytes: number) => void): Reply {
  return (_call, response) => {
    response.writeHead(code, { 'content-length': 50 * MEGABYTE });
    const chunk = Buffer.alloc(16 * 1024, 'an answer without end ');
    const before = response.socket?.bytesWritten ?? 0;
    let sent = 0;
    const write = (): void => {
      while (sent < 50 * MEGABYTE && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
    };
    response.once('close', () => onEnd((response.socket?.bytesWritten ?? before + sent) - before));
    write();
  };
}

/** A byte now and then, for ever. */
const drip: Reply = (_call, response) => {
  response.writeHead(200);
  const dripping = setInterval(() => response.write('.'), 100);
  response.once('close', () => clearInterval(dripping));
};

const reset: Reply = (_call, response) => void response.socket?.resetAndDestroy();
const cutOff: Reply = (_call, response) => {
  response.writeHead(200, { 'content-length': 100 });
  response.write('half', () => response.socket?.destroy());
};

/** The port of the discard service, where nothing listens: a free one may be somebody's by the time it is asked. */
const CLOSED = 'http://127.0.0.1:9';

function selfSigned(): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -keyout ${key} -out ${cert}`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  );
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

interface Expected {
  readonly state: string;
  readonly attempts: number;
  readonly lastStatus?: number;
  readonly lastError?: string | RegExp;
}

const sent = (lastStatus: number): Expected => ({ state: 'sent', attempts: 1, lastStatus });
const refused = (lastStatus: number, lastError: string | RegExp): Expected => ({
  state: 'refused',
  attempts: 1,
  lastStatus,
  lastError,
});
const exhausted = (lastStatus: number): Expected => ({
  state: 'exhausted',
  attempts: TRIES,
  lastStatus,
  lastError: new RegExp(`^the receiver answered ${lastStatus}`),
});
const unanswered = (lastError: RegExp): Expected => ({ state: 'unknown', attempts: TRIES, lastError });
const failed = (lastError: RegExp): Expected => ({ state: 'exhausted', attempts: TRIES, lastError });

const REDIRECT = 'redirect not followed, Location host login.example';

const inspect = async (api: Api, target: string) => {
  const [found] = await api.items(`/deliveries?target=${target}`, ledgerItem);
  const [detail] = await api.items(`/deliveries/${found?.id}`, ledgerDetail);
  if (detail === undefined) throw new Error(`nothing was delivered to ${target}`);
  return detail;
};

it('does with each kind of answer what the reference says, and keeps a ledger of it', async () => {
  const moved = { location: 'https://login.example/secret-path?key=hidden' };
  const sizes: number[] = [];
  const replies: Record<string, readonly [Reply, Expected]> = {
    ...Object.fromEntries([200, 201, 202, 204, 299].map(code => [`s${code}`, [status(code), sent(code)]])),
    ...Object.fromEntries(
      [301, 302, 303, 307, 308].map(code => [`s${code}`, [status(code, moved), refused(code, /redirect/)]]),
    ),
    s302: [status(302, moved), refused(302, `the receiver answered 302 Found: ${REDIRECT}`)],
    s304: [status(304), refused(304, /Location missing/)],
    ...Object.fromEntries(
      [400, 402, 406, 409, 413, 415, 418, 422, 431, 451, 501, 505].map(code => [
        `s${code}`,
        [status(code), refused(code, /^the receiver answered/)],
      ]),
    ),
    s401: [status(401), refused(401, /check the authentication settings/)],
    s403: [status(403), refused(403, /check the authentication settings/)],
    s404: [status(404), refused(404, /check the url/)],
    s405: [status(405), refused(405, /check the method/)],
    s410: [status(410), refused(410, /gone for good/)],
    ...Object.fromEntries(
      [408, 425, 500, 502, 503, 504, 507, 599].map(code => [`s${code}`, [status(code), exhausted(code)]]),
    ),
    s429: [status(429, { 'retry-after': '1' }), exhausted(429)],
    dated: [
      (call, response) =>
        status(503, { 'retry-after': new Date(Date.now() + 3000).toUTCString() })(call, response),
      exhausted(503),
    ],
    silly: [status(503, { 'retry-after': 'soon' }), exhausted(503)],
    reset: [reset, unanswered(/connection was closed before the answer/)],
    cut: [cutOff, unanswered(/connection was closed before the answer/)],
    hang: [hang, unanswered(/timed out after 1 s waiting for the first byte of the answer/)],
    drip: [drip, unanswered(/timed out after 1 s reading the answer/)],
    heals: [
      (call, response) => (call.number < TRIES ? status(500) : take)(call, response),
      { state: 'sent', attempts: TRIES, lastStatus: 200 },
    ],
    large: [largeAnswer(200, bytes => sizes.push(bytes)), sent(200)],
    largest: [largeAnswer(500, bytes => sizes.push(bytes)), exhausted(500)],
  };
  const hook = await scriptedSink();
  hook.reply((call, response) => (replies[call.path.slice(1)]?.[0] ?? take)(call, response));
  const tls = await scriptedSink(listener => createTlsServer(selfSigned(), listener));
  const others: Record<string, readonly [string, Expected]> = {
    refusing: [CLOSED, failed(/the connection was refused/)],
    nameless: ['http://nowhere.invalid/', failed(/the name cannot be resolved/)],
    untrusted: [
      tls.url.replace('http:', 'https:'),
      { state: 'waiting', attempts: 1, lastError: /the TLS certificate is not trusted/ },
    ],
    plain: [
      hook.url.replace('http:', 'https:'),
      { state: 'waiting', attempts: 1, lastError: /does the port speak TLS/ },
    ],
  };
  const expected = Object.fromEntries(
    [...Object.entries(replies), ...Object.entries(others)].map(([id, [, one]]) => [id, one]),
  );
  const targets = [
    ...Object.keys(replies).map(id =>
      single(id, `${hook.url}/${id}`, { timeoutSec: ['hang', 'drip'].includes(id) ? 1 : 60 }),
    ),
    ...Object.entries(others).map(([id, [url]]) => single(id, url)),
  ];
  const folders = installation({
    settings: { pipelines: [POSTING], delivery: { retrySchedule: ['0s', '1s', '1s'] } },
    notifications: { targets, notifications: [monitors(...Object.keys(expected))] },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  await post(server, [alarm('key')]);
  await until(
    async () => (await api.total('/deliveries?state=waiting')) === 2,
    'the end of all but certificates',
  );
  await until(async () => (await inspect(api, 'plain')).attempts === 1, 'the attempt without TLS');

  const ledger = await api.items('/deliveries?limit=1000', ledgerItem);
  const shown = (one: z.output<typeof ledgerItem>): Expected => ({
    state: one.state,
    attempts: one.attempts,
    ...(one.lastStatus !== undefined && { lastStatus: one.lastStatus }),
    ...(one.lastError !== undefined && { lastError: one.lastError }),
  });
  expect(Object.fromEntries(ledger.map(one => [one.target, shown(one)]))).toEqual(
    Object.fromEntries(
      Object.entries(expected).map(([id, one]) => [
        id,
        one.lastError instanceof RegExp ? { ...one, lastError: expect.stringMatching(one.lastError) } : one,
      ]),
    ),
  );

  // One request each time it was tried and none to where a redirect leads.
  const perTarget = (id: string) => hook.calls.filter(call => call.path === `/${id}`);
  for (const [id, [, { attempts }]] of Object.entries(replies)) {
    const requests = perTarget(id).length;
    // The reset of a connection that stood idle is followed by one request on a fresh one, within the attempt.
    if (id !== 'reset') expect([id, requests]).toEqual([id, attempts]);
    else expect(requests >= attempts && requests <= 2 * attempts, `${requests} requests`).toBe(true);
  }
  expect(new Set(hook.calls.map(call => call.id)).size).toBe(Object.keys(replies).length);

  const waits = async (id: string): Promise<number[]> => {
    const starts = (await inspect(api, id)).log.map(one => Date.parse(one.startedAt));
    return starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
  };
  for (const wait of await waits('s500')) expect(wait).toBeGreaterThanOrEqual(800);
  for (const wait of await waits('s429')) expect(wait).toBeGreaterThanOrEqual(1000);
  for (const wait of await waits('dated')) expect(wait).toBeGreaterThanOrEqual(2000);
  for (const one of (await inspect(api, 'hang')).log) expect(one.durationMs).toBeGreaterThanOrEqual(990);
  for (const one of (await inspect(api, 'drip')).log) expect(one.durationMs).toBeLessThan(20_000);
  expect((await inspect(api, 's200')).log).toEqual([]);
  expect((await inspect(api, 'heals')).log.map(one => one.outcome)).toEqual(['retry', 'retry', 'sent']);

  // A certificate is given minutes, in which a person may mend it.
  const { nextAt } = await inspect(api, 'untrusted');
  expect(Date.parse(nextAt ?? '') - Date.now()).toBeGreaterThan(200_000);
  expect(tls.calls).toEqual([]);

  // What the kernels of both sides hold is more than what is read, and far less than all of it.
  expect(sizes).toHaveLength(1 + TRIES);
  expect(Math.max(...sizes)).toBeLessThan(10 * MEGABYTE);
  for (const { answer = '' } of (await inspect(api, 'largest')).log) {
    expect(answer).toContain('an answer without end');
    expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(2048);
  }

  const shownText = JSON.stringify(await Promise.all(Object.keys(expected).map(id => inspect(api, id))));
  expect(shownText).not.toContain('secret-path');
  expect(shownText + server.stderr()).not.toContain('key=hidden');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});
