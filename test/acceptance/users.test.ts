import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, startApiServer } from '../api/api-server.ts';
import { jsonCaller } from '../api/json.ts';
import { GOOD_PASSWORD, loginAt } from '../helpers/users.ts';
import { ADMIN_PASSWORD, headgate } from './bin.ts';
import { login } from './client.ts';
import { type Folders, installation, serve, stop, temporaryFolder } from './harness.ts';

const OTHER_PASSWORD = 'seven quiet otters paint a bridge';

describe('headgate users, asking a server', () => {
  let server: ApiServer;

  beforeAll(async () => {
    server = await startApiServer({ settings: { api: { loginRateLimit: '1000/second' } } });
  });
  afterAll(() => server.stop());

  function home() {
    const XDG_CONFIG_HOME = temporaryFolder();
    const run = (args: readonly string[], input = '') => headgate(args, { XDG_CONFIG_HOME }, input);
    const logIn = (username: string, password: string) =>
      run(['login', '--url', server.url, '--username', username], `${password}\n`);
    return { run, logIn };
  }

  it('adds, lists, shows, changes and removes them', async () => {
    const { run, logIn } = home();
    await logIn('admin', ADMIN_PASSWORD);
    const body = { username: 'ann', password: GOOD_PASSWORD, roles: ['reader'] };
    const created = await run(['users', 'create', '--file', '-', '--json'], JSON.stringify(body));
    expect(JSON.parse(created.stdout)).toMatchObject({ username: 'ann', forcePasswordChange: true });
    expect((await run(['users', 'list'])).stdout).toMatch(/^ann +reader +person/m);
    expect((await run(['users', 'get', 'ann'])).stdout).toMatch(/^roles +\["reader"\]$/m);
    expect((await run(['users', 'update', 'ann', '--file', '-'], '{"roles":["editor"]}')).code).toBe(0);
    expect((await run(['users', 'remove', 'ann'])).code).toBe(0);
    expect((await run(['users', 'get', 'ann'])).stderr).toContain("user 'ann' not found");
  });

  it('lead whoever got a password from an admin to one of their own', async () => {
    const admin = home();
    await admin.logIn('admin', ADMIN_PASSWORD);
    const body = JSON.stringify({ username: 'bea', password: GOOD_PASSWORD, roles: ['reader'] });
    await admin.run(['users', 'create', '--file', '-'], body);
    const { run, logIn } = home();
    expect((await logIn('bea', GOOD_PASSWORD)).stderr).toContain('headgate users change-password');
    expect((await run(['notifications', 'list'])).stderr).toContain('must be changed first');
    const changed = await run(['users', 'change-password'], `${GOOD_PASSWORD}\n${OTHER_PASSWORD}\n`);
    expect(changed).toMatchObject({ code: 0, stderr: '' });
    expect((await run(['notifications', 'list'])).code).toBe(0);

    const reset = await admin.run(['users', 'reset-password', 'bea'], 'twelve green kettles sing\n');
    expect(reset).toMatchObject({ code: 0, stderr: '' });
    expect((await run(['notifications', 'list'])).code).toBe(1);
    expect((await logIn('bea', 'twelve green kettles sing')).code).toBe(0);
  });

  it('end the login at the server as well with a logout', async () => {
    const { run, logIn } = home();
    await logIn('admin', ADMIN_PASSWORD);
    const before = await jsonCaller(server)('GET', '/audit?action=auth.logout&limit=1');
    expect(await run(['logout'])).toMatchObject({ code: 0, stderr: '' });
    const after = await jsonCaller(server)('GET', '/audit?action=auth.logout&limit=1');
    expect(after.body.totalCount).toBe(before.body.totalCount + 1);
    expect((await loginAt(server, 'admin', ADMIN_PASSWORD)).status).toBe(200);
  });
});

describe('headgate users reset-password, on the store itself', () => {
  const reset = ({ config, data }: Folders, password: string) =>
    headgate(['users', 'reset-password', 'admin', '--config', config, '--data', data], {}, `${password}\n`);

  it('lets an admin in again who forgot the password, and is in the audit', async () => {
    const folders = installation({ settings: {} });
    const first = await serve(folders);
    expect(await reset(folders, OTHER_PASSWORD)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another headgate process'),
    });
    await stop(first);
    expect((await reset(folders, 'short')).stderr).toContain('at least 15');
    expect(await reset(folders, OTHER_PASSWORD)).toMatchObject({ code: 0, stderr: '' });

    const { url } = await serve(folders);
    await expect(login(url, ADMIN_PASSWORD)).rejects.toThrow('401');
    const { token, forcePasswordChange } = await login(url, OTHER_PASSWORD);
    expect(forcePasswordChange).toBe(true);
    const send = (method: string, path: string, authorization: string, body?: object) =>
      fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
    const change = { currentPassword: OTHER_PASSWORD, password: GOOD_PASSWORD };
    const changed = await send('PATCH', '/system/users/admin/info', token, change);
    const { items } = JSON.parse(await changed.text());
    const entries = await send('GET', '/audit?action=users.resetPassword', items[0].token);
    expect(JSON.parse(await entries.text()).items).toMatchObject([
      { actor: expect.stringMatching(/^cli:/), address: 'local', result: 'ok' },
    ]);
  });

  it('says that there is no such user', async () => {
    const folders = installation({ settings: {} });
    await stop(await serve(folders));
    const { config, data } = folders;
    const answer = await headgate(
      ['users', 'reset-password', 'nobody', '--config', config, '--data', data],
      {},
      `${OTHER_PASSWORD}\n`,
    );
    expect(answer).toMatchObject({ code: 1, stderr: "headgate: user 'nobody' not found\n" });
  });
});
