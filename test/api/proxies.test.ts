import { afterEach, describe, expect, it } from 'vitest';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

let server: ApiServer;
afterEach(() => server.stop());

async function start(api: object): Promise<void> {
  server = await startApiServer({ settings: { api } });
}

let count = 0;

/** A login that fails, each time of another name, so that only the address counts. */
async function guess(forwardedFor?: string): Promise<number> {
  const body = JSON.stringify({ username: `nobody${count++}`, password: 'wrong' });
  const said = forwardedFor === undefined ? [] : [['x-forwarded-for', forwardedFor] as const];
  return (await server.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY, ...said], body })).status;
}

async function guessUntilLimited(forwardedFor: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) if ((await guess(forwardedFor)) === 429) return;
  throw new Error(`${forwardedFor} was never limited`);
}

describe('behind a proxy that is trusted', () => {
  it('failed logins count for whom the proxy names, whatever the caller has invented before', async () => {
    await start({ loginRateLimit: '1/day', trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    await guessUntilLimited('192.0.2.1');
    expect(await guess('198.51.100.9, 192.0.2.1')).toBe(429);
    expect(await guess('198.51.100.9, 192.0.2.1, 10.0.0.7')).toBe(429);
    expect(await guess('192.0.2.200')).toBe(401);
    expect(server.log()).toContain('192.0.2.1');
    expect(server.log()).not.toContain('198.51.100.9');
  });

  it('it stays trusted only as long as the settings say so', async () => {
    await start({ loginRateLimit: '1/day', trustedProxies: ['127.0.0.1'] });
    await guessUntilLimited('192.0.2.1');
    const call = jsonCaller(server);
    await call('PATCH', '/system/settings/conf', { api: { trustedProxies: [] } });
    expect(await guess('192.0.2.1')).toBe(401);
  });
});

it('without one, nobody escapes the limit by another X-Forwarded-For', async () => {
  await start({ loginRateLimit: '1/day', trustedProxies: ['10.0.0.0/8'] });
  await guessUntilLimited('192.0.2.1');
  expect(await guess('192.0.2.2')).toBe(429);
  expect(await guess('10.0.0.1')).toBe(429);
  expect(await guess()).toBe(429);
});

it('keeps the metrics from whoever a trusted proxy forwards, though he says he is this machine', async () => {
  await start({ trustedProxies: ['127.0.0.1'] });
  const read = (forwardedFor: string) =>
    server.call('GET', '/metrics', { headers: [['x-forwarded-for', forwardedFor]] });
  expect((await read('127.0.0.1, 192.0.2.1')).status).toBe(401);
  expect((await read('127.0.0.1')).status).toBe(401);
  expect((await server.call('GET', '/metrics', { headers: [] })).status).toBe(200);
});

describe('headers of the settings', () => {
  const headers = { 'Strict-Transport-Security': 'max-age=63072000', 'X-Served-By': 'north' };

  it('come with every answer, refusals and the page included, and change without a restart', async () => {
    await start({ headers });
    for (const path of [
      '/',
      '/api/v1/health',
      '/api/v1/nothing',
      '/nothing',
      '/metrics',
      '/ingest/samples',
    ]) {
      const answer = await server.call('GET', path, { headers: [] });
      expect([path, answer.headers['strict-transport-security']]).toEqual([path, 'max-age=63072000']);
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    }
    const call = jsonCaller(server);
    await call('PATCH', '/system/settings/conf', { api: { headers: { 'X-Served-By': null } } });
    const after = await server.call('GET', '/api/v1/health');
    expect(after.headers['x-served-by']).toBeUndefined();
    expect(after.headers['strict-transport-security']).toBe('max-age=63072000');
  });

  it.each([
    ['of the type', 'Content-Type', 'text/plain', "cannot be set, as the server itself sets 'Content-Type'"],
    ['of a cookie', 'set-cookie', 'a=b', 'cannot be set'],
    ['of the framing', 'transfer-encoding', 'chunked', 'cannot be set'],
    ['of the request', 'X-Request-Id', '1', 'cannot be set'],
    ['with a space in their name', 'X Y', '1', 'must have the name of a header'],
    ['without a name', '', '1', 'must have the name of a header'],
    ['with a line break', 'X-A', 'a\r\nSet-Cookie: b=c', 'without line breaks'],
    ['with a space in front', 'X-A', ' a', 'spaces around'],
    ['beyond ASCII', 'X-A', 'ä', 'ASCII'],
    ['too long', 'X-A', 'a'.repeat(5000), 'at most 4096'],
    ['given twice', 'x-served-by', 'south', "'X-Served-By' is the same header"],
  ])('are refused %s', async (_, name, value, message) => {
    await start({ headers });
    const answer = await jsonCaller(server)('PATCH', '/system/settings/conf', {
      api: { headers: { [name]: value } },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].message).toContain(message);
  });

  it.each([
    [{ trustedProxies: ['0.0.0.0/0'] }, 'api.trustedProxies[0]', 'must not hold every address'],
    [{ trustedProxies: ['::/0'] }, 'api.trustedProxies[0]', 'must not hold every address'],
    [{ trustedProxies: ['127.0.0.1', 'proxy.example'] }, 'api.trustedProxies[1]', 'an address or a range'],
    [{ trustedProxies: '127.0.0.1' }, 'api.trustedProxies', 'must be a list'],
  ])('proxies are refused as %j', async (api, path, message) => {
    await start({});
    const answer = await jsonCaller(server)('PATCH', '/system/settings/conf', { api });
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ path, message: expect.stringContaining(message) }] },
    });
  });
});
