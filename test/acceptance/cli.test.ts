import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { configStatus, login, notificationItem } from './client.ts';
import {
  ADMIN_PASSWORD,
  headgate,
  installation,
  logIn,
  noData,
  serve,
  serveAtOnce,
  sink,
  stop,
  until,
  webhook,
  writeConfiguration,
  writeFileText,
} from './harness.ts';
import { listenLocally } from './listen-locally.ts';

it('writes its files at the first start, and shows the password it made in a private file only', async () => {
  const folders = installation();
  const server = await serve({ ...folders, environment: {} });
  const file = join(folders.data, 'initial-admin-password');
  const password = readFileSync(file, 'utf8').trimEnd();
  expect(password.length).toBeGreaterThanOrEqual(20);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  expect((statSync(folders.data).mode & 0o777).toString(8)).toBe('700');
  expect((await login(server.url, password)).forcePasswordChange).toBe(true);
  for (const name of ['headgate.yml', 'notifications.yml']) {
    const lines = readFileSync(join(folders.config, name), 'utf8').split('\n');
    expect(lines.filter(line => line !== '' && !line.startsWith('#'))).toEqual([]);
  }
  expect(server.stdout()).toBe(`headgate ready on ${server.url}\n`);
  expect(server.stderr()).toContain(file);
  expect(server.stderr()).not.toContain(password);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});

it('takes the first password from HEADGATE_ADMIN_PASSWORD, and only while there is no user', async () => {
  const folders = installation();
  const weak = 'weak';
  const first = await serve({ ...folders, environment: { HEADGATE_ADMIN_PASSWORD: weak } });
  expect((await login(first.url, weak)).forcePasswordChange).toBe(false);
  expect(first.records()).toContainEqual(
    expect.objectContaining({ level: 'warn', msg: 'the first admin has a weak password' }),
  );
  expect(existsSync(join(folders.data, 'initial-admin-password'))).toBe(false);
  await stop(first);
  const second = await serve({ ...folders, environment: { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD } });
  await expect(login(second.url, ADMIN_PASSWORD)).rejects.toThrow('401');
  expect((await login(second.url, weak)).token).toMatch(/^Bearer ey/);
  await stop(second);
});

it('keeps tokens valid over a restart', async () => {
  const folders = installation();
  const first = await serve(folders);
  const { token } = await login(first.url);
  await stop(first);
  const second = await serve(folders);
  const answer = await fetch(`${second.url}/api/v1/notifications`, { headers: { authorization: token } });
  expect(answer.status).toBe(200);
  await stop(second);
});

it('says which port is in use and ends with 1', async () => {
  const { config, data } = installation();
  const other = await listenLocally(createServer());
  onTestFinished(() => other.end());
  const { port } = new URL(other.url);
  const { code, stdout, stderr } = await headgate([
    'serve',
    '--config',
    config,
    '--data',
    data,
    '--port',
    port,
  ]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(
    `headgate: port ${port} on 127.0.0.1 is in use by another process; set api.port or --port`,
  );
});

it('refuses a data directory that another server uses, and leaves that one alone', async () => {
  const folders = installation();
  const server = await serve(folders);
  const { config, data } = folders;
  const second = await headgate(['serve', '--config', config, '--data', data, '--port', '0']);
  expect([second.code, second.stdout]).toEqual([1, '']);
  expect(second.stderr).toContain(`'${data}' is already in use by another headgate process`);
  await logIn(server.url);
  await server.kill();
  const third = await serve(folders);
  await stop(third);
});

it.each([
  ['a folder where nothing can be made', () => '/proc/headgate'],
  ['a file', (root: string) => writeFileText(root, 'file', '')],
])('refuses %s as data directory with one line and exit code 1', async (_, make) => {
  const { config, root } = installation({ settings: {}, notifications: {} });
  const data = make(root);
  const { code, stdout, stderr } = await headgate([
    'serve',
    '--config',
    config,
    '--data',
    data,
    '--port',
    '0',
  ]);
  expect([code, stdout]).toEqual([1, '']);
  const complaint = stderr.split('\n').filter(line => line.startsWith('headgate: '));
  expect(complaint).toEqual([expect.stringContaining(`'${data}`)]);
  expect(complaint[0]).toContain('choose another data directory with --data');
  expect(stderr).not.toContain('    at ');
});

it('stops within seconds while a webhook hangs, and delivers after the next start under the same id', async () => {
  const hook = await sink();
  hook.become('hang');
  const folders = installation({
    settings: {},
    notifications: { targets: [webhook('hook', hook)], notifications: [noData('silent', 'a:b', '1s')] },
  });
  const first = await serve(folders);
  await until(() => hook.requests.length > 0, 'a request that hangs');
  const begun = performance.now();
  expect(await stop(first)).toEqual({ code: 0, signal: null });
  expect(performance.now() - begun).toBeLessThan(25_000);
  hook.become('accept');
  const second = await serve(folders);
  await until(() => hook.taken.length > 0, 'the alarm');
  expect(await stop(second)).toEqual({ code: 0, signal: null });
  expect(hook.events()).toMatchObject([{ status: 'ALARM', input: 'a:b' }]);
  expect(hook.requests).toEqual([hook.requests[0], hook.requests[0]]);
});

it('ends at once at a second signal', async () => {
  const hook = await sink();
  hook.become('hang');
  const server = await serve(
    installation({
      settings: {},
      notifications: { targets: [webhook('hook', hook)], notifications: [noData('silent', 'a:b', '1s')] },
    }),
  );
  await until(() => hook.requests.length > 0, 'a request that hangs');
  server.signal('SIGTERM');
  await until(() => server.records().some(record => record.msg === 'stopping'), 'the graceful stop');
  const begun = performance.now();
  let isOver = false;
  void server.ended.then(() => {
    isOver = true;
  });
  // The first of these may still count as the one before.
  await until(() => {
    if (!isOver) server.signal('SIGTERM');
    return isOver;
  }, 'the end');
  expect(await server.ended).toEqual({ code: null, signal: 'SIGTERM' });
  expect(performance.now() - begun).toBeLessThan(9000);
});

it('stops although it was told to while it starts', async () => {
  const starting = serveAtOnce(installation());
  await until(() => starting.stderr().includes('configuration loaded'), 'the start');
  starting.signal('SIGTERM');
  expect(await starting.ended).toEqual({ code: 0, signal: null });
});

it('takes up a changed notification, keeps what runs when a file breaks, and says so', async () => {
  const hook = await sink();
  const files = (...notifications: object[]) => ({
    settings: {},
    notifications: { targets: [webhook('hook', hook)], notifications },
  });
  const folders = installation(files(noData('first', 'a:first', '1h')));
  const server = await serve(folders);
  const api = await logIn(server.url);
  const ids = async () => (await api.items('/notifications', notificationItem)).map(({ id }) => id);
  const status = async () => (await api.items('/system/config/status', configStatus))[0];
  expect(await ids()).toEqual(['first']);
  expect(await status()).toMatchObject({ state: 'ok', errors: [] });

  writeConfiguration(
    folders.config,
    files(noData('first', 'a:first', '1h'), noData('second', 'a:second', '1s')),
  );
  await until(() => hook.events().length > 0, 'the alarm of the new notification');
  expect(hook.events()).toMatchObject([{ cribl_notification: 'second', status: 'ALARM' }]);
  expect(await ids()).toEqual(['first', 'second']);

  const file = writeFileText(folders.config, 'notifications.yml', 'targets: []\nnotifications:\n  - id: [\n');
  await until(async () => (await status())?.state === 'error', 'the error in the status');
  expect((await status())?.errors).toEqual([
    expect.objectContaining({ file, line: 4, column: 1, message: expect.stringMatching(/^YAML: /) }),
  ]);
  expect(await ids()).toEqual(['first', 'second']);
  expect(hook.events()).toHaveLength(1);

  writeConfiguration(folders.config, files(noData('first', 'a:first', '1h')));
  await until(() => hook.events().length > 1, 'the end of the incident');
  expect(hook.events()[1]).toMatchObject({ cribl_notification: 'second', status: 'OK' });
  expect(hook.events()[1]?._raw).toContain('the notification was removed');
  expect(await status()).toMatchObject({ state: 'ok', errors: [] });
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});

it('reads its files again at SIGHUP', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  const server = await serve(folders);
  const loads = () => server.records().filter(record => record.msg === 'configuration loaded').length;
  expect(loads()).toBe(1);
  server.signal('SIGHUP');
  await until(() => loads() > 1, 'the reload');
  writeFileSync(join(folders.config, 'notifications.yml'), 'targets: 1\n');
  server.signal('SIGHUP');
  await until(
    () => server.records().some(record => record.msg === 'configuration refused, nothing changed'),
    'the refusal',
  );
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});
