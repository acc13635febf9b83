import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import {
  ADMIN_PASSWORD,
  headgate,
  installation,
  logIn,
  noData,
  serve,
  sink,
  stop,
  until,
  webhook,
} from './harness.ts';

const settingsItem = z.object({ storage: z.object({ url: z.string() }) });
const names = Array.from({ length: 40 }, (_, index) => `in${index}`);

it('keeps everything in PostgreSQL when its address says so, over a kill -9, and shows no password', async () => {
  const hook = await sink();
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  const folders = installation({
    settings: { storage: { url: '${env:DATABASE_URL}' } },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: names.map(name => noData(`silent_${name}`, `a:${name}`, '1s')),
    },
  });
  const secret = url.replace('@', ':hunter2@');
  const start = () =>
    serve({
      ...folders,
      environment: { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD, DATABASE_URL: secret },
    });

  hook.become('hang');
  const first = await start();
  const before = await logIn(first.url);
  await until(() => hook.requests.length > 0, 'a delivery under way');
  await until(
    async () => (await before.total('/deliveries?state=waiting')) === names.length,
    'every alarm accepted',
  );
  await first.kill();

  hook.become('accept');
  const second = await start();
  const api = await logIn(second.url);
  await until(async () => (await api.total('/deliveries?state=sent')) === names.length, 'every delivery');
  expect(await api.total('/incidents?state=open')).toBe(names.length);
  expect(hook.refusals).toEqual([]);
  expect(new Set(hook.events().map(event => event.input))).toEqual(new Set(names.map(name => `a:${name}`)));
  expect(hook.events()).toHaveLength(names.length);

  const masked = url.replace('@', ':********@');
  expect(await api.items('/system/settings/conf', settingsItem)).toMatchObject([
    { storage: { url: masked } },
  ]);
  const check = await headgate(['check', '--config', folders.config, '--effective'], {
    DATABASE_URL: secret,
  });
  expect(check.stdout).toContain(masked);
  expect(check.stdout + check.stderr + first.stderr() + second.stderr()).not.toContain('hunter2');
  expect(existsSync(join(folders.data, 'headgate.db'))).toBe(false);
  expect(existsSync(join(folders.data, 'keys'))).toBe(true);
  expect(await stop(second)).toEqual({ code: 0, signal: null });
});

it('names host, port, database and remedy when the server cannot be reached, and no password', async () => {
  const folders = installation();
  const refused = await headgate(
    ['serve', '--config', folders.config, '--data', folders.data, '--port', '0'],
    {
      HEADGATE_STORAGE_URL: 'postgres://gate:hunter2@127.0.0.1:1/gates',
    },
  );
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toMatch(/database 'gates' at 127\.0\.0\.1:1 cannot be reached .*start the server/);
  expect(refused.stdout + refused.stderr).not.toContain('hunter2');
});
