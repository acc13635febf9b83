import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { operations } from '../../src/api/v1/index.ts';
import { type TestClock, testClock } from '../helpers/clock.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';
import { addedUser, GOOD_PASSWORD } from '../helpers/users.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const streams = operations.filter(({ answer }) => answer.kind === 'stream');

const READS = { roles: ['reader'] };

interface Listener {
  /** Everything that came. */
  readonly heard: () => string;
  readonly isOver: () => boolean;
}

/** Begins to listen; resolves once the stream has begun. */
async function listen(url: string, headers: Readonly<Record<string, string>>): Promise<Listener> {
  let heard = '';
  let isOver = false;
  const call = request(url, { headers, agent: false }, response => {
    response.setEncoding('utf8').on('data', part => {
      heard += part;
    });
    response.on('close', () => {
      isOver = true;
    });
    response.on('error', () => {});
  });
  call.on('error', () => {});
  call.end();
  onTestFinished(() => void call.destroy());
  await until(() => heard.includes('retry:') || isOver, 'the stream');
  if (isOver) throw new Error(heard);
  return { heard: () => heard, isOver: () => isOver };
}

/** A second passes, of which the stream does not see the end. */
async function endsWithinASecond(clock: TestClock, listener: Listener): Promise<void> {
  await clock.advance(1000);
  await until(listener.isOver, 'the end of the stream');
}

it('no other answer goes on after its request was authorised', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const hijacking = files.filter(name => readFileSync(join('src', name), 'utf8').includes('.hijack('));
  // The other one hands the request to a process that answers it with all its checks.
  expect(hijacking.sort()).toEqual(['api/event-stream.ts', 'api/hooks.ts']);
  expect(streams.length).toBeGreaterThan(0);
});

describe.each(streams)('self-managed, $id', ({ path }) => {
  let clock: TestClock;
  let server: ApiServer;
  beforeAll(async () => {
    clock = testClock(Date.now());
    const settings = { api: { authTokenTTL: 3600, loginRateLimit: '100/second' } };
    server = await startApiServer({ settings }, {}, clock);
  });
  afterAll(() => server.stop());

  const open = (token: string): Promise<Listener> =>
    listen(`${server.url}/api/v1${path}`, { authorization: token });
  const asAdmin = (method: string, of: string, body?: object) => jsonCaller(server)(method, of, body);

  it('goes on while its token is good', async () => {
    const listener = await open((await addedUser(server, 'stays', READS)).token);
    await clock.advance(20_000);
    await until(() => listener.heard().includes(': here'), 'a sign of life');
    expect(listener.isOver()).toBe(false);
  });

  it.each([
    ['is disabled', (id: string) => asAdmin('PATCH', `/system/users/${id}`, { disabled: true })],
    ['is deleted', (id: string) => asAdmin('DELETE', `/system/users/${id}`)],
    [
      'gets a role that may not read it',
      (id: string) => asAdmin('PATCH', `/system/users/${id}`, { roles: ['user'] }),
    ],
    [
      'gets another password',
      (id: string) => asAdmin('PATCH', `/system/users/${id}`, { password: `${GOOD_PASSWORD}-2` }),
    ],
  ])('ends within a second after its user %s', async (what, change) => {
    const { id, token } = await addedUser(server, `eve-${what.replaceAll(' ', '-')}`, READS);
    const listener = await open(token);
    expect((await change(id)).status).toBe(200);
    await endsWithinASecond(clock, listener);
  });

  it('ends within a second after its token was given back', async () => {
    const { token, call } = await addedUser(server, 'leaves', READS);
    const listener = await open(token);
    expect((await call('POST', '/auth/logout')).status).toBe(200);
    await endsWithinASecond(clock, listener);
  });

  it('ends within a second after its browser has signed out', async () => {
    await addedUser(server, 'browses', READS);
    const own = ['sec-fetch-site', 'same-origin'] as const;
    const body = JSON.stringify({ username: 'browses', password: GOOD_PASSWORD });
    const signedIn = await server.call('POST', '/session/login', { headers: [JSON_BODY, own], body });
    const [cookie = ''] = [signedIn.headers['set-cookie'] ?? []].flat();
    const csrf = ['x-csrf-token', JSON.parse(signedIn.text).csrfToken] as const;
    const headers = [['cookie', cookie.split(';')[0] ?? ''] as const, csrf, own, JSON_BODY];
    const issued = await server.call('POST', '/session/token', { headers, body: '{}' });
    const listener = await open(`Bearer ${JSON.parse(issued.text).token}`);
    expect((await server.call('DELETE', '/session', { headers })).status).toBe(200);
    await endsWithinASecond(clock, listener);
  });

  it('ends within a second after its token has expired', async () => {
    const { token } = await addedUser(server, 'waits', READS);
    const listener = await open(token);
    await clock.advance(3_599_000);
    expect(listener.isOver()).toBe(false);
    await clock.advance(1000);
    await endsWithinASecond(clock, listener);
  });
});

describe.each(streams)('hosted, $id', ({ path }) => {
  let clock: TestClock;
  let hosted: HostedApp;
  beforeAll(async () => {
    clock = testClock(Date.now());
    hosted = await startHostedApp({ clock });
  });
  afterAll(() => hosted.stop());

  const POST = { method: 'POST' };
  let programs = 0;

  /** Listens as a program with those roles. */
  async function program(roles: object, more: object = {}) {
    const body = { name: `listens ${programs++}`, roles, ...more };
    const { body: made } = await hosted.plane('acme', '/api-credentials', { ...POST, body });
    const token = await hosted.tokenFor(made);
    const headers = { host: `main-acme.localhost:${hosted.port}`, authorization: `Bearer ${token}` };
    const listener = await listen(`${hosted.url}/api/v1${path}`, headers);
    return { place: `/api-credentials/${made.clientId}`, listener, token };
  }
  const READER = {
    organizationRole: 'user',
    workspaces: [
      { workspaceId: 'main', workspaceRole: 'user', products: [{ product: 'stream', role: 'reader' }] },
    ],
  };
  const NOBODY = {
    ...READER,
    workspaces: [
      { workspaceId: 'main', workspaceRole: 'user', products: [{ product: 'stream', role: 'user' }] },
    ],
  };

  it.each([
    ['is disabled', { method: 'PATCH', body: { enabled: false } }],
    ['is deleted', { method: 'DELETE' }],
    ['has no role in the workspace any more', { method: 'PATCH', body: { roles: NOBODY } }],
  ])('ends within a second after its program %s', async (_, change) => {
    const { place, listener } = await program(READER);
    const { status } = await hosted.plane('acme', place, change);
    expect(status).toBe(204);
    await endsWithinASecond(clock, listener);
  });

  it('ends within a second after the credential of its program has expired', async () => {
    const expiresDate = new Date(clock.now() + 60_000).toISOString();
    const { listener } = await program(READER, { expiresDate });
    await clock.advance(59_000);
    expect(listener.isOver()).toBe(false);
    await clock.advance(1000);
    await endsWithinASecond(clock, listener);
  });
});
