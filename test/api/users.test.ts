import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { addedUser, callerWith, GOOD_PASSWORD, loginAt } from '../helpers/users.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const OTHER_PASSWORD = 'seven quiet otters paint a bridge';

let server: ApiServer;
let asAdmin: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({ settings: { api: { loginRateLimit: '1000/second' } } });
  asAdmin = jsonCaller(server);
});
afterAll(() => server.stop());

const create = (body: object) => asAdmin('POST', '/system/users', { password: GOOD_PASSWORD, ...body });

describe('users', () => {
  it('are made, listed, got, changed and removed as the family of this API does it', async () => {
    const made = await create({
      id: 'Zoe_1',
      username: '  ZOE ',
      email: 'zoe@example.com',
      first: 'Zoë',
      last: 'Quist',
      roles: ['reader', 'editor'],
      disabled: false,
      teams: [],
    });
    const zoe = {
      id: 'Zoe_1',
      username: 'zoe',
      email: 'zoe@example.com',
      first: 'Zoë',
      last: 'Quist',
      roles: ['editor'],
      disabled: false,
      kind: 'person',
      forcePasswordChange: true,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    };
    expect([made.status, made.body]).toEqual([200, { items: [zoe], count: 1 }]);
    expect((await asAdmin('GET', '/system/users/zoe')).body.items).toEqual([zoe]);
    expect((await asAdmin('GET', '/system/users/Zoe_1')).body.items).toEqual([zoe]);
    const names = (await asAdmin('GET', '/system/users')).body.items.map(
      (one: { username: string }) => one.username,
    );
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['admin', 'zoe']));
    const changed = await asAdmin('PATCH', '/system/users/zoe', { first: null, roles: ['reader'] });
    expect(changed.body.items[0]).toMatchObject({ first: '', last: 'Quist', roles: ['reader'] });
    const removed = await asAdmin('DELETE', '/system/users/zoe');
    expect([removed.status, removed.body.items[0].id]).toEqual([200, 'Zoe_1']);
    expect((await asAdmin('GET', '/system/users/zoe')).status).toBe(404);
  });

  it('show no password and nothing that is kept of one, in no answer and no line of the log', async () => {
    const made = await create({ username: 'quiet' });
    const texts = [made.text, (await asAdmin('GET', '/system/users')).text, server.log()].join('');
    expect(texts).not.toContain(GOOD_PASSWORD);
    expect(texts).not.toMatch(/argon2|"hash"|initial_password/);
    expect(Object.keys(made.body.items[0])).not.toContain('password');
  });

  it('have names and ids of their own, by which no two are meant', async () => {
    await create({ id: 'one', username: 'first.one' });
    expect((await create({ username: 'FIRST.ONE' })).status).toBe(409);
    expect((await create({ id: 'one', username: 'another' })).status).toBe(409);
    expect((await create({ username: 'one' })).status).toBe(409);
    expect((await create({ id: 'admin', username: 'another' })).status).toBe(409);
    expect((await asAdmin('PATCH', '/system/users/one', { username: 'else' })).body).toMatchObject({
      code: 'invalid-request',
      errors: [{ path: 'username' }],
    });
    expect((await asAdmin('PATCH', '/system/users/one', { id: 'one', username: 'first.one' })).status).toBe(
      200,
    );
  });

  it.each([
    [{ username: '' }, 'username'],
    [{ username: 'a\u0000b' }, 'username'],
    [{ username: 'x'.repeat(255) }, 'username'],
    [{ username: 'pat', id: '../etc' }, 'id'],
    [{ username: 'pat', roles: ['root'] }, 'roles[0]'],
    [{ username: 'pat', roles: 'admin' }, 'roles'],
    [{ username: 'pat', teams: ['blue'] }, 'teams'],
    [{ username: 'pat', first: 'a\r\nBcc: b' }, 'first'],
    [{ username: 'pat', email: 'x'.repeat(300) }, 'email'],
    [{ username: 'pat', kind: 'machine', forcePasswordChange: true }, 'forcePasswordChange'],
    [{ username: 'pat', password: 'short' }, 'password'],
    [{ username: 'pat', password: '\u{1f600}'.repeat(257) }, 'password'],
    [{ username: 'pat', password: `${GOOD_PASSWORD}\ud800` }, 'password'],
    [{ username: 'ann@example.com', password: 'the-secret-of-ANN@example' }, 'password'],
    [{ username: 'pat', password: 'Password123456789' }, 'password'],
  ])('refuse %j and name the place', async (body, path) => {
    const answer = await create(body);
    expect(answer.body).toMatchObject({ code: 'invalid-request', errors: [{ path }] });
    expect(answer.text).not.toContain(GOOD_PASSWORD);
  });

  it('take a key no twice and no key that is nobody’s', async () => {
    const twice = `{"username":"x","username":"y","password":"${GOOD_PASSWORD}","roles":["user"],"roles":["admin"]}`;
    expect((await asAdmin('POST', '/system/users', twice)).status).toBe(400);
    expect((await create({ username: 'x', role: 'admin' })).status).toBe(400);
    const proto = `{"username":"x","password":"${GOOD_PASSWORD}","__proto__":{"roles":["admin"]}}`;
    expect((await asAdmin('POST', '/system/users', proto)).status).toBe(400);
  });

  it('may have passwords of spaces and signs of any writing, which are taken exactly as they are', async () => {
    const password = ' 🔑 schöne Grüße vom Fluß ';
    await create({ username: 'writing', password, forcePasswordChange: false });
    expect((await loginAt(server, 'writing', password)).status).toBe(200);
    expect((await loginAt(server, 'writing', password.trim())).status).toBe(401);
  });

  it('keep one admin who can log in, also when two take each other’s right at once', async () => {
    for (const change of [{ disabled: true }, { roles: ['editor'] }]) {
      const answer = await asAdmin('PATCH', '/system/users/admin', change);
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
      expect(answer.body.message).toContain('last admin');
    }
    expect((await asAdmin('DELETE', '/system/users/admin')).status).toBe(409);
    const second = await addedUser(server, 'second.admin', { roles: ['admin'] });
    const answers = await Promise.all([
      asAdmin('PATCH', '/system/users/second.admin', { roles: ['reader'] }),
      second.call('PATCH', '/system/users/admin', { disabled: true }),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const admins = (await loginAt(server, 'admin', ADMIN_PASSWORD)).status === 200;
    if (!admins) await second.call('PATCH', '/system/users/admin', { disabled: false });
    const { token } = (await loginAt(server, 'admin', ADMIN_PASSWORD)).body;
    asAdmin = callerWith(server, token);
    expect((await asAdmin('DELETE', '/system/users/second.admin')).status).toBe(200);
  });
});

describe('tokens of a user', () => {
  it.each([
    ['another role', { roles: ['editor'] }],
    ['another password', { password: OTHER_PASSWORD }],
    ['being disabled', { disabled: true }],
  ])('end with %s', async (what, change) => {
    const user = await addedUser(server, `live.${what.replaceAll(' ', '.')}`, { roles: ['reader'] });
    expect((await user.call('GET', '/notifications')).status).toBe(200);
    expect((await asAdmin('PATCH', `/system/users/${user.id}`, change)).status).toBe(200);
    const answer = await user.call('GET', '/notifications');
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
  });

  it('do not end with a change of what the user is called', async () => {
    const user = await addedUser(server, 'renamed');
    await asAdmin('PATCH', `/system/users/${user.id}`, { first: 'Re', email: 're@example.com' });
    expect((await user.call('GET', '/auth/me')).status).toBe(200);
  });

  it('do not come back when the user is enabled again, nor with a user of the same id', async () => {
    const user = await addedUser(server, 'again', { id: 'again' });
    await asAdmin('PATCH', '/system/users/again', { disabled: true });
    expect((await loginAt(server, 'again', GOOD_PASSWORD)).status).toBe(401);
    await asAdmin('PATCH', '/system/users/again', { disabled: false });
    expect((await user.call('GET', '/auth/me')).status).toBe(401);
    const fresh = callerWith(server, (await loginAt(server, 'again', GOOD_PASSWORD)).body.token);
    expect((await fresh('GET', '/auth/me')).status).toBe(200);
    await asAdmin('DELETE', '/system/users/again');
    expect((await fresh('GET', '/auth/me')).status).toBe(401);
    await addedUser(server, 'again', { id: 'again' });
    expect([(await user.call('GET', '/auth/me')).status, (await fresh('GET', '/auth/me')).status]).toEqual([
      401, 401,
    ]);
  });

  it('end all at once when an admin says so, and the user logs in again', async () => {
    const user = await addedUser(server, 'ended');
    const other = callerWith(server, (await loginAt(server, 'ended', GOOD_PASSWORD)).body.token);
    const ended = await asAdmin('DELETE', '/auth/users/ended/token');
    expect([ended.status, ended.body]).toEqual([200, { items: [{ success: true }], count: 1 }]);
    expect([(await user.call('GET', '/auth/me')).status, (await other('GET', '/auth/me')).status]).toEqual([
      401, 401,
    ]);
    expect((await loginAt(server, 'ended', GOOD_PASSWORD)).status).toBe(200);
    expect((await asAdmin('DELETE', '/auth/users/nobody/token')).status).toBe(404);
  });

  it('end one by one with a logout', async () => {
    const user = await addedUser(server, 'leaving');
    const other = callerWith(server, (await loginAt(server, 'leaving', GOOD_PASSWORD)).body.token);
    expect((await user.call('POST', '/auth/logout')).body).toEqual({ items: [{ success: true }], count: 1 });
    expect((await user.call('GET', '/auth/me')).body.message).toContain('given back');
    expect((await other('GET', '/auth/me')).status).toBe(200);
  });
});

describe('the first login of a user that an admin made', () => {
  it('opens nothing but the change of the password, which answers a token that opens the rest', async () => {
    await create({ username: 'newcomer', roles: ['editor'] });
    const login = (await loginAt(server, 'newcomer', GOOD_PASSWORD)).body;
    expect(login.forcePasswordChange).toBe(true);
    const newcomer = callerWith(server, login.token);
    const refused = await newcomer('GET', '/notifications');
    expect([refused.status, refused.body.code]).toEqual([403, 'password-change-required']);
    expect(refused.body.message).toMatch(/PATCH .*\/system\/users\/.*\/info/);
    expect((await newcomer('GET', '/auth/me')).status).toBe(200);

    const change = { currentPassword: GOOD_PASSWORD, password: OTHER_PASSWORD };
    for (const same of [GOOD_PASSWORD, 'Password123456789', 'newcomer-and-his-boat'])
      expect(
        (await newcomer('PATCH', '/system/users/newcomer/info', { ...change, password: same })).body,
      ).toMatchObject({ code: 'invalid-request', errors: [{ path: 'password' }] });
    const changed = await newcomer('PATCH', '/system/users/newcomer/info', change);
    expect(changed.body.items[0]).toMatchObject({
      username: 'newcomer',
      forcePasswordChange: false,
      token: expect.stringMatching(/^Bearer /),
    });
    expect((await newcomer('GET', '/auth/me')).status).toBe(401);
    const settled = callerWith(server, changed.body.items[0].token);
    expect((await settled('GET', '/notifications')).status).toBe(200);
    expect((await loginAt(server, 'newcomer', GOOD_PASSWORD)).status).toBe(401);

    const back = { currentPassword: OTHER_PASSWORD, password: GOOD_PASSWORD };
    const initial = await settled('PATCH', '/system/users/newcomer/info', back);
    expect(initial.body.errors[0].message).toContain('an admin chose');
  });

  it('holds a token that lives already when an admin asks for another password', async () => {
    const user = await addedUser(server, 'asked', { roles: ['reader'] });
    await asAdmin('PATCH', '/system/users/asked', { forcePasswordChange: true });
    expect((await user.call('GET', '/notifications')).body.code).toBe('password-change-required');
  });

  it('is asked again after an admin chose another password, and a machine never is', async () => {
    await addedUser(server, 'reset');
    await asAdmin('PATCH', '/system/users/reset', { password: OTHER_PASSWORD });
    expect((await loginAt(server, 'reset', OTHER_PASSWORD)).body.forcePasswordChange).toBe(true);
    await create({ username: 'robot', kind: 'machine' });
    expect((await loginAt(server, 'robot', GOOD_PASSWORD)).body.forcePasswordChange).toBe(false);
    await asAdmin('PATCH', '/system/users/robot', { password: OTHER_PASSWORD });
    expect((await loginAt(server, 'robot', OTHER_PASSWORD)).body.forcePasswordChange).toBe(false);
  });
});

describe('the own profile', () => {
  it('is the user’s own, whoever else is there', async () => {
    const user = await addedUser(server, 'own');
    const path = `/system/users/${user.id}/info`;
    expect((await user.call('GET', path)).body.items[0].username).toBe('own');
    expect((await user.call('PATCH', path, { first: 'O', last: 'Wn' })).body.items[0]).toMatchObject({
      first: 'O',
      last: 'Wn',
    });
    for (const other of ['admin', 'nobody', 'Own2'])
      for (const method of ['GET', 'PATCH'])
        expect(
          (await user.call(method, `/system/users/${other}/info`, method === 'GET' ? undefined : {})).status,
        ).toBe(403);
    expect((await asAdmin('PATCH', path, { first: 'X' })).status).toBe(403);
  });

  it('takes back what was read of it, and no change that only an admin makes', async () => {
    const user = await addedUser(server, 'limited', { email: 'l@example.com' });
    const path = `/system/users/${user.id}/info`;
    const { id, username, email, roles, disabled } = (await user.call('GET', path)).body.items[0];
    expect(
      (await user.call('PATCH', path, { id, username, email, roles, disabled, first: 'L' })).status,
    ).toBe(200);
    for (const change of [
      { roles: ['admin'] },
      { disabled: true },
      { email: 'x@example.com' },
      { username: 'x' },
    ])
      expect([change, (await user.call('PATCH', path, change)).status]).toEqual([change, 403]);
    expect((await user.call('PATCH', path, { userId: 'admin' })).status).toBe(400);
  });

  it('changes the password with the current one only', async () => {
    const user = await addedUser(server, 'careful');
    const path = `/system/users/${user.id}/info`;
    for (const currentPassword of [undefined, 'wrong', '', OTHER_PASSWORD, 'x'.repeat(1000)]) {
      const answer = await user.call('PATCH', path, { password: OTHER_PASSWORD, currentPassword });
      expect(answer.body).toMatchObject({ code: 'invalid-request', errors: [{ path: 'currentPassword' }] });
    }
    expect((await loginAt(server, 'careful', GOOD_PASSWORD)).status).toBe(200);
  });

  it('needs the current password of an admin too, on whichever way the own one is changed', async () => {
    const admin = await addedUser(server, 'chief', { roles: ['admin'] });
    const path = `/system/users/${admin.id}`;
    expect((await admin.call('PATCH', path, { password: OTHER_PASSWORD })).body.errors[0].path).toBe(
      'currentPassword',
    );
    const change = { password: OTHER_PASSWORD, currentPassword: GOOD_PASSWORD };
    expect((await admin.call('PATCH', path, change)).status).toBe(200);
    expect((await loginAt(server, 'chief', OTHER_PASSWORD)).status).toBe(200);
  });
});

it('counts guesses of the current password like failed logins', async () => {
  const slow = await startApiServer({ settings: { api: { loginRateLimit: '2/hour' } } });
  try {
    const user = await addedUser(slow, 'guessed');
    const guess = () =>
      user.call('PATCH', '/system/users/guessed/info', {
        password: OTHER_PASSWORD,
        currentPassword: 'guess',
      });
    expect([(await guess()).status, (await guess()).status, (await guess()).status]).toEqual([400, 400, 429]);
  } finally {
    await slow.stop();
  }
});

it('tells callers their roles and what these may do', async () => {
  const reader = await addedUser(server, 'curious', { roles: ['reader'] });
  expect((await reader.call('GET', '/authorize/roles')).body).toEqual({ items: ['reader'], count: 1 });
  expect((await reader.call('GET', '/authorize/policy')).body.items).toContainEqual({
    object: 'inputs',
    actions: ['read'],
  });
  const nobody = await addedUser(server, 'nothing', { roles: [] });
  expect((await nobody.call('GET', '/authorize/policy')).body).toEqual({ items: [], count: 0 });
  const roles = (await asAdmin('GET', '/system/roles')).body.items;
  expect(roles.map(({ id }: { id: string }) => id)).toEqual([
    'admin',
    'editor',
    'notification_admin',
    'reader',
    'user',
  ]);
});

it('keeps no password in the clear on disk', () => {
  const bytes = ['headgate.db', 'headgate.db-wal'].map(name =>
    readFileSync(join(server.data, name), 'latin1'),
  );
  expect(bytes.join('')).not.toContain(GOOD_PASSWORD);
});
