import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as argon2 from '@node-rs/argon2';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { notedAudit } from '../../test/helpers/audit.ts';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { noHttp } from '../../test/helpers/no-http.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { AppError } from '../lib/errors.ts';
import { monotonicIds } from '../lib/ids.ts';
import { openKeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { Secret } from '../lib/secret.ts';
import type { UserRow } from '../storage/stores/users.ts';
import type { Actor } from './actor.ts';
import { createIdentity, type Identity, type IdentitySettings } from './identity.ts';
import { authSchema } from './settings.ts';
import { createPasswords } from './users/passwords.ts';
import { newUserRow } from './users/user.ts';
import { resetPassword } from './users/users.ts';

const PASSWORD = 'correct horse battery';

let store: TestStorage;
let folder: string;
let clock: TestClock;
let settings: IdentitySettings;
let lines: { level: string; message: string; [field: string]: unknown }[];

beforeEach(async () => {
  store = await openTestStorage();
  folder = await mkdtemp(join(tmpdir(), 'headgate-identity-'));
  clock = testClock();
  settings = {
    authTokenTTL: 3600,
    idleSessionTTL: 3600,
    loginRateLimit: { count: 1000, perMs: 1000 },
    loginBackOff: { after: 5, longestMs: 60_000 },
    auth: authSchema.parse({}),
    externalUrl: undefined,
  };
  lines = [];
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

function recorder(): Logger {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, ...fields });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: recorder };
}

async function start(): Promise<Identity> {
  const keyRing = await openKeyRing({
    path: join(folder, 'keys'),
    mayCreate: (await store.storage.keys()).length === 0,
  });
  return createIdentity({
    storage: store.storage,
    keyRing,
    http: noHttp,
    clock,
    ids: monotonicIds(clock),
    logger: recorder(),
    audit: notedAudit(),
    isShared: false,
    settings: () => settings,
  });
}

async function startWithAdmin(password = PASSWORD): Promise<Identity> {
  const identity = await start();
  await identity.ensureFirstAdmin({ password: new Secret(password), dataFolder: folder });
  return identity;
}

const login = (identity: Identity, username: string, password: string, address = '192.0.2.1') =>
  identity.login({ username, password, address });

async function addUser(change: Partial<UserRow>): Promise<void> {
  const row = newUserRow({
    id: 'u-1',
    username: 'ann',
    password: await createPasswords().hash(PASSWORD),
    role: 'reader',
    created_at: clock.now(),
    version: 1,
    ...change,
  });
  await store.storage.transaction(tx => tx.addUser(row));
}

const failure = (call: Promise<unknown>): Promise<AppError> =>
  call.then(
    () => {
      throw new Error('it did not fail');
    },
    error => {
      if (error instanceof AppError) return error;
      throw error;
    },
  );

test('the first admin logs in with the given password and is who the token says, written once or twice', async () => {
  const identity = await startWithAdmin();
  const { token, forcePasswordChange } = await login(identity, ' ADMIN ', PASSWORD);
  expect(token).toMatch(/^Bearer eyJ[A-Za-z0-9+/]+\.[A-Za-z0-9]+\.[\w-]+$/);
  expect(forcePasswordChange).toBe(false);
  const actor = {
    kind: 'user',
    id: expect.any(String),
    name: 'admin',
    role: 'admin',
    token: { id: expect.any(String), expiresAt: clock.now() + 3_600_000 },
  };
  expect(await identity.authenticate(token)).toEqual(actor);
  expect(await identity.authenticate(`Bearer ${token}`)).toEqual(actor);
});

test('a generated password is in a file for its owner only, works until it is changed and is asked to be', async () => {
  const identity = await start();
  const made = await identity.ensureFirstAdmin({ password: undefined, dataFolder: folder });
  const file = join(folder, 'initial-admin-password');
  expect(made).toMatchObject({ username: 'admin', file });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, 'utf8')).toBe(`${made?.password.reveal()}\n`);
  expect(made?.password.reveal()).toMatch(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/);
  for (let round = 0; round < 2; round++)
    expect(await login(identity, 'admin', made?.password.reveal() ?? '')).toMatchObject({
      forcePasswordChange: true,
    });
  expect(JSON.stringify(lines)).not.toContain(made?.password.reveal());
});

test('an empty given password counts as none', async () => {
  const identity = await start();
  const made = await identity.ensureFirstAdmin({ password: new Secret(''), dataFolder: folder });
  expect(made?.password.reveal()).toBeTruthy();
});

test('once a user exists no admin is made and no password counts', async () => {
  const identity = await startWithAdmin();
  const again = await identity.ensureFirstAdmin({ password: undefined, dataFolder: folder });
  expect(again).toBeUndefined();
  await identity.ensureFirstAdmin({ password: new Secret('another password'), dataFolder: folder });
  expect(await failure(login(identity, 'admin', 'another password'))).toMatchObject({
    code: 'unauthenticated',
  });
  expect(await store.storage.users.count()).toBe(1);
  expect(await readdir(folder)).toEqual(['keys']);
});

test('of starts at the same moment one makes the admin, and the file holds the password that works', async () => {
  const identity = await start();
  const made = await Promise.all(
    Array.from({ length: 4 }, () => identity.ensureFirstAdmin({ password: undefined, dataFolder: folder })),
  );
  expect(made.filter(one => one !== undefined)).toHaveLength(1);
  expect((await readdir(folder)).sort()).toEqual(['initial-admin-password', 'keys']);
  const written = (await readFile(join(folder, 'initial-admin-password'), 'utf8')).trim();
  await expect(login(identity, 'admin', written)).resolves.toBeDefined();
});

test('no admin is made when the password file cannot be written, and the error names the file', async () => {
  const identity = await start();
  const missing = join(folder, 'missing');
  const error = await failure(identity.ensureFirstAdmin({ password: undefined, dataFolder: missing }));
  expect(error.message).toContain(join(missing, 'initial-admin-password'));
  expect(await store.storage.users.count()).toBe(0);
});

test.each([
  ['short', true],
  ['x'.repeat(14), true],
  ['x'.repeat(15), false],
])('the password %j is accepted, with a warning when weak (%s)', async (password, isWeak) => {
  const identity = await startWithAdmin(password);
  await expect(login(identity, 'admin', password)).resolves.toBeDefined();
  expect(lines.some(line => line.level === 'warn' && /weak/.test(line.message))).toBe(isWeak);
});

test('a given password no login could present is refused by name and not quoted', async () => {
  const identity = await start();
  const error = await failure(
    identity.ensureFirstAdmin({ password: new Secret('s'.repeat(257)), dataFolder: folder }),
  );
  expect(error.message).toMatch(/HEADGATE_ADMIN_PASSWORD/);
  expect(error.message).not.toContain('sss');
});

test('whatever is wrong, the refusal is the same', async () => {
  const identity = await startWithAdmin();
  const errors = [
    await failure(login(identity, 'admin', 'wrong')),
    await failure(login(identity, 'nobody', PASSWORD)),
    await failure(login(identity, 'admin', '')),
    await failure(login(identity, 'nobody', '')),
    await failure(login(identity, 'admin', 'x'.repeat(257))),
    await failure(login(identity, 'nobody', 'x'.repeat(257))),
    await failure(login(identity, '', '')),
    await failure(login(identity, 'admin', `${PASSWORD} `)),
  ];
  expect(new Set(errors.map(error => `${error.code} ${error.message}`)).size).toBe(1);
  expect(errors[0]).toMatchObject({ code: 'unauthenticated' });
});

test('a name over its length is refused before any work', async () => {
  const identity = await startWithAdmin();
  const name = await failure(login(identity, 'x'.repeat(255), PASSWORD));
  expect(name).toMatchObject({ code: 'invalid-request', problems: [{ path: 'username' }] });
});

test('a name is logged only when the user exists, and a password never', async () => {
  const identity = await startWithAdmin();
  await login(identity, 'admin', PASSWORD);
  await failure(login(identity, 'admin', 'wrong-secret', '192.0.2.2'));
  await failure(login(identity, 'my-secret-in-the-wrong-field', 'x', '192.0.2.3'));
  expect(lines).toContainEqual({
    level: 'info',
    message: 'login succeeded',
    user: 'admin',
    address: '192.0.2.1',
  });
  expect(lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message: 'login failed',
      address: '192.0.2.2',
      users: ['admin'],
    }),
  );
  expect(lines).toContainEqual(
    expect.objectContaining({ message: 'login failed', address: '192.0.2.3', users: [] }),
  );
  expect(JSON.stringify(lines)).not.toMatch(/secret|correct horse|eyJ/);
});

test('after too many failures even the right password waits, and the refusal is logged', async () => {
  settings = { ...settings, loginRateLimit: { count: 2, perMs: 3_600_000 } };
  const identity = await startWithAdmin();
  await failure(login(identity, 'admin', 'wrong'));
  await failure(login(identity, 'admin', 'wrong'));
  expect(await failure(login(identity, 'admin', PASSWORD))).toMatchObject({
    code: 'rate-limited',
    retryAfterSeconds: 5,
  });
  expect(lines).toContainEqual(expect.objectContaining({ message: 'login refused by the rate limit' }));
});

test('a changed token lifetime counts for the next token only', async () => {
  const identity = await startWithAdmin();
  const { token: first } = await login(identity, 'admin', PASSWORD);
  settings = { ...settings, authTokenTTL: 1 };
  const { token: second } = await login(identity, 'admin', PASSWORD);
  const lifetime = ({ exp = 0, iat = 0 }) => exp - iat;
  expect(lifetime(decodeJwt(first.slice(7)))).toBe(3600);
  expect(lifetime(decodeJwt(second.slice(7)))).toBe(1);
  await clock.advance(1000);
  expect(await failure(identity.authenticate(second))).toMatchObject({
    code: 'unauthenticated',
    message: expect.stringContaining('expired'),
  });
  await expect(identity.authenticate(first)).resolves.toMatchObject({ name: 'admin' });
});

test.each([undefined, '', 'Bearer', 'Basic YWRtaW46YWRtaW4=', 'Bearer aaaaaaaa.bbbbbbbb.cccccccc'])(
  'the Authorization header %j lets nobody in',
  async header => {
    const identity = await start();
    expect(await failure(identity.authenticate(header))).toMatchObject({ code: 'unauthenticated' });
  },
);

test('a token outlives a restart, but not its installation', async () => {
  const { token } = await login(await startWithAdmin(), 'admin', PASSWORD);
  await expect((await start()).authenticate(token)).resolves.toMatchObject({ name: 'admin' });

  await store.close();
  store = await openTestStorage();
  await rm(join(folder, 'keys'));
  const other = await startWithAdmin();
  expect(await failure(other.authenticate(token))).toMatchObject({ code: 'unauthenticated' });
});

test('the role is the one in the store, and a role nobody knows opens nothing', async () => {
  const identity = await start();
  await addUser({});
  const { token } = await login(identity, 'ann', PASSWORD);
  expect(await identity.authenticate(token)).toMatchObject({
    kind: 'user',
    id: 'u-1',
    name: 'ann',
    role: 'reader',
  });
  await addUser({ id: 'u-2', username: 'bob', role: 'root' });
  const bob = await login(identity, 'bob', PASSWORD);
  expect(await failure(identity.authenticate(bob.token))).toMatchObject({ code: 'internal' });
});

test('the private key lies encrypted in the store, once, however many open it first', async () => {
  const keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
  expect(keyRing).toBeDefined();
  const opened = await Promise.all([start(), start(), start()]);
  const keys = await store.storage.keys();
  expect(keys).toHaveLength(1);
  expect(keys[0]?.private_key).toMatch(/^v1\.[\w-]+\.[\w-]+\.[\w-]+\.[\w-]+$/);
  expect(keys[0]?.public_key).not.toMatch(/"(d|p|q|dp|dq|qi)"/);
  expect(await store.storage.instanceValue('instance_id')).toMatch(/^[0-9a-f]{32}$/);
  const [first, second] = opened;
  await first?.ensureFirstAdmin({ password: new Secret(PASSWORD), dataFolder: folder });
  const answer = first === undefined ? undefined : await login(first, 'admin', PASSWORD);
  await expect(second?.authenticate(answer?.token)).resolves.toMatchObject({ name: 'admin' });
});

test('a process whose ring lacks the key that is needed does not start and names its id', async () => {
  await start();
  const path = join(folder, 'keys');
  const [id] = (await readFile(path, 'utf8')).split(':');
  await writeFile(path, `other:${Buffer.alloc(32, 1).toString('base64')}\n`);
  expect((await failure(start())).message).toContain(`lacks the key '${id}'`);
  await rm(path);
  expect((await failure(start())).message).toContain(`${path} is missing`);
});

test('a private key moved to another row does not start', async () => {
  await start();
  const [key] = await store.storage.keys();
  if (key === undefined) throw new Error('no key');
  await store.storage.transaction(tx => tx.addKey({ ...key, kid: 'moved', created_at: key.created_at + 1 }));
  expect((await failure(start())).message).toMatch(/keys\|private_key\|moved was changed/);
});

test('a hash of a lower cost is made anew at the login, and tokens live on', async () => {
  const identity = await start();
  const weak = await argon2.hash(PASSWORD, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
  await addUser({ password: weak });
  const { token } = await login(identity, 'ann', PASSWORD);
  const stored = await store.storage.users.byName('ann');
  expect(stored?.password).toMatch(/^nfc\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect((await login(identity, 'ann', PASSWORD)).forcePasswordChange).toBe(false);
  expect((await store.storage.users.byName('ann'))?.password).toBe(stored?.password);
  await expect(identity.authenticate(token)).resolves.toMatchObject({ name: 'ann' });
});

describe('letters composed or in parts are one password', () => {
  const COMPOSED = 'fünf müde Bären träumen';
  const IN_PARTS = COMPOSED.normalize('NFD');
  const changeOwn = (identity: Identity, actor: Actor, password: string, currentPassword: string) =>
    identity.users.updateProfile(actor, { password, currentPassword }, '192.0.2.1');

  test.each<[string, (identity: Identity) => Promise<string>]>([
    [
      'of the first admin',
      async identity => {
        await identity.ensureFirstAdmin({ password: new Secret(IN_PARTS), dataFolder: folder });
        return 'admin';
      },
    ],
    [
      'of a new user',
      async identity => {
        const fields = { role: 'reader', disabled: false, kind: 'machine' } as const;
        return (await identity.users.create({ username: 'bob', password: IN_PARTS, ...fields })).username;
      },
    ],
    [
      'that an admin chose',
      async identity => {
        await addUser({});
        return (await identity.users.update('ann', { password: IN_PARTS })).username;
      },
    ],
    [
      'that its user chose',
      async identity => {
        await addUser({});
        const actor = await identity.authenticate((await login(identity, 'ann', PASSWORD)).token);
        return (await changeOwn(identity, actor, IN_PARTS, PASSWORD)).user.username;
      },
    ],
    [
      'that was reset on the machine',
      async () => {
        await addUser({});
        const { storage } = store;
        const reset = { storage, audit: notedAudit(), clock, actor: 'root' };
        return (await resetPassword(reset, 'ann', IN_PARTS)).username;
      },
    ],
    [
      'that was stored as it was sent',
      async () => {
        await addUser({ password: await argon2.hash(IN_PARTS) });
        return 'ann';
      },
    ],
  ])('%s', async (_, choose) => {
    const identity = await start();
    const name = await choose(identity);
    await login(identity, name, IN_PARTS);
    await login(identity, name, COMPOSED);
    const actor = await identity.authenticate((await login(identity, name, COMPOSED)).token);
    await expect(identity.users.verifyCurrentPassword(actor, IN_PARTS, '192.0.2.1')).resolves.toBeUndefined();
    expect((await failure(changeOwn(identity, actor, COMPOSED, IN_PARTS))).message).toMatch(
      /another one than now/,
    );
  });
});

test('a user without a password here can be given none', async () => {
  const identity = await start();
  await addUser({ password: '' });
  const change = failure(identity.users.update('ann', { password: 'seven quiet otters paint a bridge' }));
  expect(await change).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('signs in elsewhere'),
  });
});
