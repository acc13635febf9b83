import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { openKeyRing } from '../../lib/keyring.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import { newUserRow } from '../users/user.ts';
import { type BrowserSessions, createBrowserSessions, isCsrfToken } from './sessions.ts';

const HOUR_MS = 3_600_000;
const ANN: UserRow = newUserRow({
  id: 'u-1',
  username: 'ann',
  password: 'hash',
  role: 'reader',
  created_at: 0,
  version: 7,
});

let store: TestStorage;
let folder: string;
let clock: TestClock;
let sessions: BrowserSessions;
let user: UserRow | undefined;

beforeEach(async () => {
  store = await openTestStorage();
  folder = await mkdtemp(join(tmpdir(), 'headgate-sessions-'));
  clock = testClock();
  user = ANN;
  const keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
  sessions = createBrowserSessions({
    storage: {
      ...store.storage,
      users: { ...store.storage.users, byId: async id => (id === user?.id ? user : undefined) },
    },
    keyRing,
    tokens: {
      issue: async (subject, ttl, version, session) =>
        `${subject}/${ttl}/${version}${session === undefined ? '' : '/of a session'}`,
    },
    clock,
    idleSeconds: () => 3600,
  });
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const begin = async (former?: string): Promise<string> =>
  (await sessions.begin({ user: ANN, method: 'password', former })).secret;

const isThere = async (secret: string): Promise<boolean> => (await sessions.find(secret)) !== undefined;

test('a session is found by its secret, which the store does not hold', async () => {
  const { secret, session } = await sessions.begin({ user: ANN, method: 'sso', idToken: 'a.b.c' });
  expect(await sessions.find(secret)).toEqual(session);
  expect(session).toMatchObject({ user: ANN, method: 'sso' });
  expect(await isThere(`${secret}x`)).toBe(false);
  const row = await store.storage.sessions.byId(secret);
  expect(row).toBeUndefined();
});

test('a session that is used goes on while an idle one ends, and twelve hours are the most', async () => {
  const [idle, used] = [await begin(), await begin()];
  for (let minutes = 0; minutes < 12 * 60; minutes += 45) {
    expect([minutes, await isThere(used), await isThere(idle)]).toEqual([minutes, true, minutes < 60]);
    await clock.advance(45 * 60_000);
    await sessions.touch(used);
  }
  expect(await isThere(used)).toBe(false);
});

test('a clock set back by a minute keeps a session, by more it does not', async () => {
  const secret = await begin();
  clock.step(-60_000);
  expect(await isThere(secret)).toBe(true);
  clock.step(-1);
  expect([await isThere(secret), await sessions.touch(secret)]).toEqual([false, undefined]);
});

test('looking at a session is no use of it', async () => {
  const secret = await begin();
  await clock.advance(HOUR_MS - 1);
  expect(await isThere(secret)).toBe(true);
  await clock.advance(1);
  expect(await isThere(secret)).toBe(false);
  await sessions.touch(secret);
  expect(await isThere(secret)).toBe(false);
});

test.each([
  ['what ends the tokens of the user', { ...ANN, version: 8 }],
  ['a user that is disabled', { ...ANN, disabled: 1 }],
  ['no user any more', undefined],
] as const)('%s ends the session', async (_what, changed) => {
  const secret = await begin();
  user = changed;
  expect(await isThere(secret)).toBe(false);
});

test('a sign-in has a new secret and ends what the browser had before', async () => {
  const first = await begin();
  const second = await begin(first);
  expect(second).not.toBe(first);
  expect([await isThere(first), await isThere(second)]).toEqual([false, true]);
});

test('a user has twenty sessions, the oldest makes room', async () => {
  const secrets: string[] = [];
  for (let count = 0; count < 21; count++) {
    secrets.push(await begin());
    await clock.advance(1);
  }
  expect(await Promise.all(secrets.map(isThere))).toEqual(secrets.map((_, index) => index > 0));
});

test('the end hands out what the identity provider said, once, and the store holds it encrypted', async () => {
  const { secret } = await sessions.begin({ user: ANN, method: 'sso', idToken: 'who.she.is' });
  expect(await sessions.end(secret)).toEqual({ idToken: 'who.she.is' });
  expect(await isThere(secret)).toBe(false);
  expect(await sessions.end(secret)).toEqual({ idToken: undefined });
});

test('a token lives for five minutes, and never longer than its session, idle or not', async () => {
  const { secret, session } = await sessions.begin({ user: ANN, method: 'password' });
  expect(await sessions.issueToken(session)).toEqual({
    token: 'Bearer u-1/300/7/of a session',
    expiresIn: 300,
  });
  await clock.advance(HOUR_MS - 42_000);
  expect(await sessions.issueToken(session)).toMatchObject({ expiresIn: 42 });
  const used = await sessions.touch(secret);
  expect(await sessions.issueToken(used ?? session)).toMatchObject({ expiresIn: 300 });
  await clock.advance(HOUR_MS);
  expect(await sessions.touch(secret)).toBeUndefined();
});

test('a token ends at the latest twelve hours after the sign-in', async () => {
  const { session } = await sessions.begin({ user: ANN, method: 'password' });
  const endsAt = clock.now() + 42_000;
  expect(await sessions.issueToken({ ...session, endsAt })).toMatchObject({ expiresIn: 42 });
});

test('the token against foreign pages belongs to one session', async () => {
  const [one, other] = [
    await sessions.begin({ user: ANN, method: 'password' }),
    await sessions.begin({ user: ANN, method: 'password' }),
  ];
  expect(isCsrfToken(one.session, one.session.csrfToken)).toBe(true);
  expect(isCsrfToken(one.session, other.session.csrfToken)).toBe(false);
  expect(one.session.csrfToken).not.toBe(one.secret);
});

test('a sweep removes what is over and nothing else', async () => {
  await begin();
  await clock.advance(HOUR_MS);
  const young = await begin();
  expect(await sessions.sweep()).toBe(1);
  expect(await sessions.sweep()).toBe(0);
  expect(await isThere(young)).toBe(true);
});
