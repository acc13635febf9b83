import { createHash } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import * as z from 'zod';
import type { Served } from './bin.ts';
import { installation, logIn, serve, sink, stop, until, webhook } from './harness.ts';
import type { Sink } from './sink.ts';
import { mountSmallDisk } from './small-disk.ts';

const TOKEN = 'token-of-the-posting-pipeline';
const KILLS = 5;
const PER_REQUEST = 40;

const installed = (hook: Sink) =>
  installation({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['hook'] }],
    },
  });

const alarm = (key: string, more: object = {}) => ({
  condition: 'monitor-alerts',
  key,
  state: 'ALARM',
  ...more,
});

async function post(server: Served, body: unknown) {
  const answer = await fetch(`${server.url}/ingest/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const told = z.looseObject({ accepted: z.number().optional() }).parse(await answer.json());
  return { status: answer.status, accepted: told.accepted, retryAfter: answer.headers.get('retry-after') };
}

/** Keys of the events in the store, each once. */
function storedKeys(data: string): string[] {
  const database = new Database(join(data, 'headgate.db'), { readonly: true });
  try {
    const rows = z
      .array(z.object({ body: z.string() }))
      .parse(database.prepare('select body from events').all());
    return rows.map(({ body }) => z.looseObject({ key: z.string() }).parse(JSON.parse(body)).key).sort();
  } finally {
    database.close();
  }
}

it('has everything in the store that it answered 200 to before it was killed, and delivers it once', async () => {
  const hook = await sink();
  const folders = installed(hook);
  const accepted: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const server = await serve(folders);
    const requests = Array.from({ length: 5 }, (_, request) =>
      Array.from({ length: PER_REQUEST }, (_, event) => `${kill}-${request}-${event}`),
    );
    let killed: Promise<unknown> | undefined;
    await Promise.all(
      requests.map(async keys => {
        const answer = await post(
          server,
          keys.map(key => alarm(key, { id: createHash('md5').update(key).digest('hex') })),
        ).catch(() => undefined);
        if (answer?.status === 200) accepted.push(...keys);
        // At once after an answer, while others are under way.
        killed ??= server.kill();
      }),
    );
    await killed;
    expect(storedKeys(folders.data)).toEqual(expect.arrayContaining(accepted));
  }
  expect(accepted.length).toBeGreaterThanOrEqual(KILLS * PER_REQUEST);

  const server = await serve(folders);
  const again = accepted.map(key => alarm(key, { id: createHash('md5').update(key).digest('hex') }));
  expect(await post(server, again.slice(0, 1000))).toMatchObject({ status: 200, accepted: again.length });
  const api = await logIn(server.url);
  await until(async () => (await api.total('/deliveries?state=waiting')) === 0, 'an empty queue');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  const delivered = hook.events().map(({ key }) => String(key));
  expect(delivered.sort()).toEqual(storedKeys(folders.data));
  expect(new Set(delivered).size).toBe(delivered.length);
  expect(delivered).toEqual(expect.arrayContaining(accepted));
  expect(hook.refusals).toEqual([]);
});

it('remembers ids that changed nothing when it is killed, so that repeats of a source send nothing', async () => {
  const hook = await sink();
  const folders = installed(hook);
  const late = { state: 'OK', id: 'late' };
  const server = await serve(folders);
  expect(await post(server, alarm('a', late))).toMatchObject({ status: 200 });
  expect(await post(server, alarm('a', { id: 'begin' }))).toMatchObject({ status: 200 });
  await server.kill();

  const next = await serve(folders);
  for (const repeated of [alarm('a', late), alarm('a', { id: 'begin' }), alarm('a', late)])
    expect(await post(next, repeated)).toMatchObject({ status: 200, accepted: 1 });
  expect(await post(next, alarm('b'))).toMatchObject({ status: 200 });
  await until(() => hook.events().some(({ key }) => key === 'b'), 'the next alarm');
  expect(await stop(next)).toEqual({ code: 0, signal: null });
  expect(hook.events().map(({ key, status }) => `${key} ${status}`)).toEqual(['a ALARM', 'b ALARM']);
});

it('answers 503 while the disk is full, keeps what it took before, and takes the rest when there is space', async () => {
  const hook = await sink();
  const folders = installed(hook);
  const disk = mountSmallDisk(folders.data, '4m');
  const server = await serve(folders);
  expect(await post(server, alarm('before'))).toMatchObject({ status: 200, accepted: 1 });
  await until(() => hook.events().length === 1, 'its delivery');
  const api = await logIn(server.url);
  await until(async () => (await api.total('/deliveries?state=waiting')) === 0, 'its settlement');
  disk.fill();
  const refused = await post(server, [alarm('before'), alarm('after')]);
  expect(refused.status).toBe(503);
  expect(Number(refused.retryAfter)).toBeGreaterThan(0);
  disk.free();
  await until(async () => (await post(server, [alarm('before'), alarm('after')])).status === 200, 'space');
  await until(() => hook.events().length === 2, 'the second delivery');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(hook.events().map(({ key }) => key)).toEqual(['before', 'after']);
  expect(storedKeys(folders.data)).toEqual(['after', 'before']);
});
