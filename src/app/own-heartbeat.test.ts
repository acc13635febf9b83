import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { eventually } from '../../test/helpers/eventually.ts';
import { systemClock } from '../lib/clock.ts';
import type { HttpClient } from '../lib/http.ts';
import { createHttpClient } from '../lib/http-client.ts';
import { silentLogger } from '../lib/logger.ts';
import { SecretUrl } from '../lib/secret.ts';
import { createOwnHeartbeat } from './own-heartbeat.ts';

let server: Server;
let http: HttpClient;
let clock: TestClock;
let url: string;
let asked: string[];
let status: number;
let logged: string[];
let evaluatedMs: number;
let stuckMs: number;

beforeEach(async () => {
  asked = [];
  logged = [];
  status = 200;
  evaluatedMs = 0;
  stuckMs = 0;
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(status).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen');
  url = `http://127.0.0.1:${address.port}/ping/private-token`;
  http = client('allow');
  clock = testClock();
});

afterEach(async () => {
  await http.close();
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});

const client = (privateAddresses: 'allow' | 'refuse'): HttpClient =>
  createHttpClient({ privateAddresses, allowedAddresses: [], clock: systemClock });

const keep = (fields: object, message: string): void =>
  void logged.push(`${message} ${JSON.stringify(fields)}`);

const heartbeat = (by = http, to: string | undefined = url) =>
  createOwnHeartbeat({
    http: by,
    clock,
    logger: { ...silentLogger, error: keep, warn: keep, info: keep },
    url: () => (to === undefined ? undefined : new SecretUrl(to)),
    evaluatedMs: () => evaluatedMs,
    stuckMs: () => stuckMs,
  });

it('calls the address every 30 seconds, and no more after a stop', async () => {
  const beating = heartbeat();
  beating.start();
  await eventually(() => asked[0] === 'GET /ping/private-token');
  await clock.advance(30_000);
  await eventually(() => asked.length === 2);
  await beating.stop();
  await clock.advance(60_000);
  expect(asked).toHaveLength(2);
});

it.each([
  ['evaluation', () => (evaluatedMs = 60_000)],
  ['deliveries', () => (stuckMs = 600_000)],
])('is silent while %s stand still, and goes on when they advance', async (what, stand) => {
  const beating = heartbeat();
  stand();
  beating.start();
  await clock.advance(60_000);
  expect(asked).toEqual([]);
  expect(logged).toEqual([expect.stringMatching(new RegExp(`held back .*${what} stand`))]);
  evaluatedMs = 0;
  stuckMs = 0;
  await clock.advance(30_000);
  await eventually(() => asked.length === 1);
  await beating.stop();
});

it('logs a failure once, without the path that is the key', async () => {
  status = 500;
  const beating = heartbeat();
  beating.start();
  await eventually(() => logged.length === 1);
  await clock.advance(30_000);
  await eventually(() => asked.length === 2);
  await beating.stop();
  const guarded = client('refuse');
  const refused = heartbeat(guarded);
  refused.start();
  await eventually(() => logged.length === 2);
  await refused.stop();
  await guarded.close();
  expect(asked).toHaveLength(2);
  expect(logged[0]).toContain('the answer was 500');
  expect(logged.join('\n')).not.toContain('private-token');
});
