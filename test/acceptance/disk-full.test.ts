import { expect, it } from 'vitest';
import { incidentItem, notificationItem } from './client.ts';
import { installation, logIn, noData, serve, sink, stop, until, webhook } from './harness.ts';
import { mountSmallDisk } from './small-disk.ts';

it('refuses transitions while the disk is full, goes on answering, and tells the alarm when there is space', async () => {
  const hook = await sink();
  const folders = installation({
    settings: {},
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [noData('early', 'a:early', '1s'), noData('late', 'a:late', '4s')],
    },
  });
  const disk = mountSmallDisk(folders.data, '4m');
  const server = await serve(folders);
  const api = await logIn(server.url);
  await until(() => hook.events().length > 0, 'the alarm before the disk is full');
  await until(async () => (await api.total('/deliveries?state=waiting')) === 0, 'its settlement');

  disk.fill();
  const refusals = () => server.records().filter(record => record.msg === 'transitions cannot be written');
  await until(() => refusals().length > 0, 'the refusal');
  expect(refusals()[0]).toMatchObject({ level: 'error', subject: '*/a:late' });
  expect(String(refusals()[0]?.reason)).toMatch(
    /the disk that holds '.*headgate\.db' is full; free some space/,
  );
  expect(await api.items('/incidents', incidentItem)).toMatchObject([
    { notification: 'early', state: 'open' },
  ]);
  expect(await api.items('/notifications', notificationItem)).toHaveLength(2);
  expect((await fetch(`${server.url}/api/v1/health`)).status).toBe(200);
  await logIn(server.url);
  expect(hook.events()).toHaveLength(1);

  disk.free();
  await until(() => hook.events().length > 1, 'the alarm');
  await until(async () => (await api.total('/deliveries?state=sent')) === 2, 'its settlement');
  // Said once, however many evaluations were refused.
  expect(refusals()).toHaveLength(1);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(hook.events()).toMatchObject([{ input: 'a:early' }, { status: 'ALARM', input: 'a:late' }]);
  expect(hook.taken).toHaveLength(2);
});

it('does not lose or repeat what was sent while its settlement cannot be written', async () => {
  const hook = await sink();
  hook.become('unavailable');
  const folders = installation({
    settings: { delivery: { retrySchedule: ['0s', '2s', '2s', '2s', '2s', '2s', '2s', '2s', '2s'] } },
    notifications: { targets: [webhook('hook', hook)], notifications: [noData('early', 'a:early', '1s')] },
  });
  const disk = mountSmallDisk(folders.data, '4m');
  const server = await serve(folders);
  const api = await logIn(server.url);
  await until(async () => (await api.total('/deliveries?state=waiting')) === 1, 'the delivery');
  await until(() => hook.requests.length > 0, 'the first attempt');
  disk.fill();
  hook.become('accept');
  const unrecorded = () => server.records().filter(record => /cannot be recorded/.test(record.msg));
  await until(() => unrecorded().length > 0, 'the refused settlement');
  expect(String(unrecorded()[0]?.reason)).toContain('is full; free some space there');
  disk.free();
  await until(async () => (await api.total('/deliveries?state=sent')) === 1, 'the settlement');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(hook.taken).toHaveLength(1);
});

it('does not start on a full disk, and says why', async () => {
  const folders = installation({ settings: {}, notifications: {} });
  const disk = mountSmallDisk(folders.data, '1m');
  disk.fill();
  await expect(serve(folders)).rejects.toThrow(/"code":1[\s\S]*headgate: the disk that holds .* is full/);
  disk.free();
  const server = await serve(folders);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});
