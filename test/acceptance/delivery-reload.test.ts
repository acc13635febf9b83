import { expect, it } from 'vitest';
import { type Api, configStatus, ledgerItem } from './client.ts';
import { type Folders, installation, logIn, serve, stop, until, writeConfiguration } from './harness.ts';
import { alarm, end, keys, monitors, POSTING, post } from './posting.ts';
import { type ScriptedSink, scriptedSink, single, status, take } from './scripted-sink.ts';

const RELOADS = 20;
const RELOAD_EVERY_MS = 100;
const POST_EVERY_MS = 50;
const PER_POST = 5;

const settings = { pipelines: [POSTING], delivery: { retrySchedule: ['0s', ...Array(60).fill('1s')] } };

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

const idle = (api: Api): Promise<void> =>
  until(async () => (await api.total('/deliveries?state=waiting')) === 0, 'an empty queue');

/** Writes files anew and waits until they are in force. */
async function reload(api: Api, folders: Folders, notifications: object): Promise<void> {
  const loadedAt = async () => (await api.items('/system/config/status', configStatus))[0]?.loadedAt;
  const before = await loadedAt();
  writeConfiguration(folders.config, { notifications });
  await until(async () => (await loadedAt()) !== before, 'the new configuration');
}

it(`loses and doubles nothing over ${RELOADS} reloads under load`, async () => {
  const [one, other] = [await scriptedSink(), await scriptedSink()];
  for (const hook of [one, other]) hook.reply((call, response) => setTimeout(take, 20, call, response));
  // What a target may change from one moment to the next, its address and its pace among it.
  const changed = (round: number) => ({
    targets: [
      single('hook', (round % 2 === 0 ? one : other).url, {
        concurrency: 2 + (round % 4),
        ...(round % 3 === 0 && { pacing: '200/second' }),
      }),
      single(`passing_${round}`, one.url),
    ],
    notifications: [monitors('hook')],
  });
  const folders = installation({ settings, notifications: changed(0) });
  const server = await serve(folders);
  const api = await logIn(server.url);
  const posted: string[] = [];
  let isOver = false;
  const posting = (async () => {
    while (!isOver) {
      const next = keys(PER_POST, `batch-${posted.length}`);
      posted.push(...next);
      await post(server, next.map(alarm));
      await pause(POST_EVERY_MS);
    }
  })();
  for (let round = 1; round <= RELOADS; round++) {
    await reload(api, folders, changed(round));
    await pause(RELOAD_EVERY_MS);
  }
  isOver = true;
  await posting;
  await idle(api);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  const calls = [...one.calls, ...other.calls];
  expect(calls.map(({ event }) => String(event.key)).sort()).toEqual([...posted].sort());
  expect(posted.length).toBeGreaterThan(RELOADS * PER_POST);
  expect(Math.min(one.calls.length, other.calls.length)).toBeGreaterThan(20);
});

const told = ({ calls }: ScriptedSink): string[] =>
  calls.map(({ event }) => `${event.key} ${event.status}`).sort();

it('tells a removed target the end of what it was told, also after a restart, and nothing else', async () => {
  const [gone, stays] = [await scriptedSink(), await scriptedSink()];
  const present = {
    targets: [
      single('gone', gone.url, { authType: 'token', token: 'the-last-token', concurrency: 1 }),
      single('stays', stays.url),
    ],
    notifications: [monitors('gone', 'stays')],
  };
  const without = { targets: [single('stays', stays.url)], notifications: [monitors('stays')] };
  const folders = installation({ settings, notifications: present });
  const first = await serve(folders);
  const api = await logIn(first.url);
  await post(first, [alarm('told')]);
  await idle(api);
  gone.reply(status(503));
  await post(first, [alarm('waiting')]);
  await until(() => gone.calls.length >= 2, 'an attempt that fails');
  await reload(api, folders, without);
  // What was under way at a kill may have arrived, and so might its end go out.
  await idle(api);
  gone.reply(take);
  await first.kill();

  const second = await serve(folders);
  const later = await logIn(second.url);
  await post(second, [end('told'), end('waiting')]);
  await until(() => told(gone).includes('told OK'), 'the end at the removed target');
  expect(gone.calls.at(-1)?.headers.authorization).toBe('Bearer the-last-token');
  await idle(later);
  const skipped = await later.items('/deliveries?target=gone&state=skipped', ledgerItem);
  expect(skipped.map(one => [one.status, one.lastError])).toEqual([
    ['OK', 'the alarm it resolves did not reach this target'],
    ['ALARM', 'target removed: nobody got it in its place'],
  ]);
  expect(await stop(second)).toEqual({ code: 0, signal: null });
  const taken = gone.taken().map(({ event }) => `${event.key} ${event.status}`);
  expect(taken).toEqual(['told ALARM', 'told OK']);
  expect(new Set(told(stays))).toEqual(new Set([...taken, 'waiting ALARM', 'waiting OK']));
});
