import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { login } from './client.ts';
import {
  type Folders,
  headgate,
  installation,
  noData,
  serve,
  serveAtOnce,
  sink,
  stop,
  until,
  webhook,
  writeConfiguration,
} from './harness.ts';
import type { Sink } from './sink.ts';

const VALUE = 'the-hidden-token';
const REFERENCE = '${secret:ops_hook}';

const target = (hook: Sink): object => ({ ...webhook('hook', hook), authType: 'token', token: REFERENCE });
const filesWith = (...targets: readonly object[]) => ({
  settings: {},
  notifications: { targets, notifications: targets.map((_, index) => noData(`n${index}`, 'a:b', '1s')) },
});

/** Runs `headgate secrets …` on the folders. */
const secrets = ({ config, data }: Folders, args: readonly string[], input?: string) =>
  headgate(['secrets', ...args, '--config', config, '--data', data], {}, input);

const facts = z.object({
  name: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  updatedBy: z.string(),
});
const listAnswer = z.object({ items: z.array(facts), count: z.number() });

async function namesIn(folders: Folders): Promise<readonly string[]> {
  const { code, stdout } = await secrets(folders, ['list', '--json']);
  expect(code).toBe(0);
  return listAnswer.parse(JSON.parse(stdout)).items.map(({ name }) => name);
}

it('keeps a secret that was set before the server, uses it, and shows it nowhere', async () => {
  const hook = await sink(`Bearer ${VALUE}`);
  const folders = installation(filesWith(target(hook)));
  const { code, stdout, stderr } = await secrets(folders, ['set', 'ops_hook'], `${VALUE}\n`);
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining(REFERENCE), '']);

  const server = await serve({ ...folders, environment: { HEADGATE_LOG_LEVEL: 'debug' } });
  await until(() => hook.events().length > 0, 'the alarm');
  expect(hook.refusals).toEqual([]);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(server.stdout() + server.stderr()).not.toContain(VALUE);
  const files = readdirSync(folders.data, { withFileTypes: true }).filter(entry => entry.isFile());
  expect(files.map(({ name }) => name)).toContain('keys');
  for (const { name } of files)
    expect(readFileSync(join(folders.data, name)).includes(VALUE), name).toBe(false);
});

it('does not start without a secret that is referred to, says which, and starts once it is set', async () => {
  const hook = await sink(`Bearer ${VALUE}`);
  const folders = installation(filesWith(target(hook)));
  const running = serveAtOnce(folders);
  expect(await running.ended).toEqual({ code: 3, signal: null });
  expect(running.stderr()).toMatch(
    /notifications\.yml:\d+:\d+: \$\{secret:ops_hook\} .*headgate secrets set ops_hook/,
  );

  const check = await headgate(['check', '--config', folders.config]);
  expect([check.code, check.stdout]).toEqual([0, expect.stringContaining(`warning: `)]);
  expect(check.stdout).toContain(REFERENCE);

  expect((await secrets(folders, ['set', 'ops_hook'], VALUE)).code).toBe(0);
  const server = await serve(folders);
  await until(() => hook.events().length > 0, 'the alarm');
  expect(hook.refusals).toEqual([]);
  await stop(server);
});

it('lists names and times, sets one anew, and removes one that is not referred to', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  const first = await secrets(folders, ['set', 'b', '--json'], VALUE);
  const { name, createdAt, updatedBy } = facts.parse(JSON.parse(first.stdout));
  expect([name, updatedBy]).toEqual(['b', expect.stringMatching(/^cli:\w+/)]);
  await secrets(folders, ['set', 'a'], VALUE);
  const again = facts.parse(JSON.parse((await secrets(folders, ['set', 'b', '--json'], 'another')).stdout));
  expect(again.createdAt).toBe(createdAt);
  expect(again.updatedAt > createdAt).toBe(true);

  const list = await secrets(folders, ['list']);
  expect(list.stdout.split('\n')).toEqual([
    expect.stringMatching(/^NAME +UPDATED +BY$/),
    expect.stringMatching(/^a +\S+Z +cli:/),
    expect.stringContaining(`b     ${again.updatedAt}`),
    '',
  ]);
  const removed = await secrets(folders, ['remove', 'b', '--json']);
  expect([removed.code, facts.parse(JSON.parse(removed.stdout))]).toEqual([0, again]);
  expect(await namesIn(folders)).toEqual(['a']);
  const twice = await secrets(folders, ['remove', 'b']);
  expect([twice.code, twice.stdout, twice.stderr]).toEqual([1, '', "headgate: secret 'b' not found\n"]);
});

it('does not remove a secret while the configuration refers to it, and says where it does', async () => {
  const hook = await sink();
  const folders = installation(filesWith(target(hook)));
  await secrets(folders, ['set', 'ops_hook'], VALUE);
  const { code, stderr } = await secrets(folders, ['remove', 'ops_hook']);
  expect([code, stderr]).toEqual([1, expect.stringContaining("is used by target 'hook' (token)")]);
  expect(await namesIn(folders)).toEqual(['ops_hook']);

  writeConfiguration(folders.config, filesWith(webhook('hook', hook)));
  expect((await secrets(folders, ['remove', 'ops_hook'])).code).toBe(0);
  expect(await namesIn(folders)).toEqual([]);
});

it('refuses to touch the store of a running server', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  await secrets(folders, ['set', 'before'], VALUE);
  const server = await serve(folders);
  for (const args of [['set', 'during'], ['list'], ['remove', 'before']]) {
    const { code, stdout, stderr } = await secrets(folders, args, VALUE);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`'${folders.data}' is already in use by another headgate process`);
  }
  await stop(server);
  expect(await namesIn(folders)).toEqual(['before']);
});

it.each([
  ['a value among the arguments', ['set', 'ops_hook', VALUE], 2],
  ['no name', ['set'], 2],
  ['a name that is not allowed', ['set', 'ops hook'], 2],
  ['an unknown command', ['show', 'ops_hook'], 2],
  ['an empty value', ['set', 'ops_hook'], 1, '\n'],
  ['a value that is too long', ['set', 'ops_hook'], 1, 'x'.repeat(64 * 1024 + 1)],
])('refuses %s without quoting a value', async (_, args, expected, input = VALUE) => {
  const folders = installation({ settings: {}, notifications: {} });
  const { code, stdout, stderr } = await secrets(folders, args, input);
  expect([code, stdout]).toEqual([expected, '']);
  expect(stderr).not.toContain(VALUE);
  expect(stderr).not.toContain('xxx');
  expect(stderr).toMatch(/^(error|headgate): /);
});

it('says what is wrong with headgate.yml with exit code 3, and makes no data folder', async () => {
  const folders = installation({ settings: { storage: { url: 'sqlite:../up.db' } }, notifications: {} });
  const { code, stdout, stderr } = await secrets(folders, ['set', 'ops_hook'], VALUE);
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).toMatch(/headgate\.yml:\d+:\d+: .*\(storage\.url\)/);
  expect(existsSync(folders.data)).toBe(false);
});

it('makes no store in order to list or remove what is in it', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  for (const args of [['list'], ['remove', 'ops_hook']]) {
    const { code, stderr } = await secrets(folders, args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`no data directory '${folders.data}'`)]);
  }
  expect(existsSync(folders.data)).toBe(false);
});

it('sets a secret although notifications.yml is not valid yet', async () => {
  const folders = installation({ settings: {}, notifications: { targets: 1 } });
  expect((await secrets(folders, ['set', 'ops_hook'], VALUE)).code).toBe(0);
  expect(await namesIn(folders)).toEqual(['ops_hook']);
  const { code, stderr } = await secrets(folders, ['remove', 'ops_hook']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('notifications.yml')]);
});

it('starts again, and is checked and backed up, after a change whose address the API keeps as a secret', async () => {
  const hook = await sink();
  const folders = installation({ settings: {} });
  const { config, data } = folders;
  const server = await serve(folders);
  const { token } = await login(server.url);
  const changed = await fetch(`${server.url}/api/v1/system/settings/conf`, {
    method: 'PATCH',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify({ instance: { heartbeatUrl: `${hook.url}/key-of-the-heartbeat` } }),
  });
  expect(changed.status).toBe(200);
  expect(readFileSync(join(config, 'headgate.yml'), 'utf8')).toMatch(/heartbeatUrl: .*\$\{secret:/);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  const check = await headgate(['check', '--config', config]);
  expect([check.code, check.stdout]).toEqual([0, expect.stringMatching(/^warning: .*heartbeatUrl/)]);
  const backup = ['backup', '--to', join(folders.root, 'backup'), '--config', config, '--data', data];
  expect(await headgate(backup)).toMatchObject({ code: 0 });
  await serve(folders);
});
