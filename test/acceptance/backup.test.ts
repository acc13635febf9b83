import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import {
  type Folders,
  headgate,
  installation,
  noData,
  serve,
  sink,
  stop,
  until,
  webhook,
} from './harness.ts';

const run = ({ config, data }: Folders, ...args: readonly string[]) =>
  headgate([...args, '--config', config, '--data', data]);

async function emptyDatabase(): Promise<string> {
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  return url;
}

it('moves an installation to PostgreSQL while it runs, and back, and goes on where it was', async () => {
  const hook = await sink();
  const notifications = { targets: [webhook('hook', hook)], notifications: [noData('n', 'a:b', '1s')] };
  const first = installation({ settings: {}, notifications });
  const server = await serve(first);
  await until(() => hook.events().length === 1, 'the alarm');
  const file = join(first.data, '..', 'one.backup');
  const backup = await run(first, 'backup', '--to', file);
  expect([backup.code, backup.stderr]).toEqual([0, '']);
  expect(backup.stdout).toContain('1 incidents');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await stop(server)).toEqual({ code: 0, signal: null });

  const url = await emptyDatabase();
  const second = installation({ settings: { storage: { url } }, notifications });
  const restored = await run(second, 'restore', file);
  expect([restored.code, restored.stderr]).toEqual([0, '']);
  expect(readFileSync(join(second.data, 'keys'))).toEqual(readFileSync(join(first.data, 'keys')));
  const moved = await serve(second);
  const again = join(first.data, '..', 'two.backup');
  expect(await run(second, 'backup', '--to', again)).toMatchObject({ code: 0, stderr: '' });
  expect(await run(second, 'restore', again)).toMatchObject({ code: 1 });
  expect(await stop(moved)).toEqual({ code: 0, signal: null });

  const third = installation({ settings: {}, notifications });
  expect(await run(third, 'restore', again, '--json')).toMatchObject({ code: 0, stderr: '' });
  const back = await serve(third);
  await stop(back);
  expect(hook.events()).toHaveLength(1);
});

it('tells what is outstanding, runs it, and says so', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  const outstanding = await run(folders, 'migrate', '--check');
  expect([outstanding.code, outstanding.stderr]).toEqual([1, '']);
  expect(outstanding.stdout).toContain('outstanding 0.2-initial');
  expect(existsSync(join(folders.data, 'headgate.db'))).toBe(false);
  expect(await run(folders, 'migrate')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('migrated 0.2-initial'),
  });
  const server = await serve(folders);
  expect(await run(folders, 'migrate', '--check')).toMatchObject({
    code: 0,
    stdout: 'the store is up to date\n',
  });
  expect(await run(folders, 'migrate')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('already in use'),
  });
  await stop(server);
});

it('backs up a folder that no server has open, and says what is missing', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  const file = join(folders.data, '..', 'none.backup');
  expect(await run(folders, 'backup', '--to', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no store'),
  });
  await stop(await serve(folders));
  expect(await run(folders, 'backup', '--to', file)).toMatchObject({ code: 0 });
  expect(await run(folders, 'backup', '--to', '/proc/none.backup')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot be written'),
  });
  expect(await run(folders, 'backup')).toMatchObject({ code: 2 });
});
