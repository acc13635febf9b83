import { expect, it } from 'vitest';
import { incidentItem } from './client.ts';
import { installation, logIn, serve, sink, stop, until, webhook } from './harness.ts';
import { beat, POSTING, post } from './posting.ts';

const waiting = (id: string, timeWindow: string): object => ({
  id,
  condition: 'heartbeat',
  targets: ['hook'],
  conf: { name: 'backup', timeWindow },
});

it('keeps quiet while beats are posted, tells their end once, and that one has come again', async () => {
  const hook = await sink();
  const server = await serve(
    installation({
      settings: { pipelines: [POSTING] },
      notifications: {
        targets: [webhook('hook', hook)],
        notifications: [waiting('missed', '3s'), waiting('missed_long', '7s')],
      },
    }),
  );
  const api = await logIn(server.url);
  const begun = performance.now();
  let beats = 0;
  const isLongEnough = async (): Promise<boolean> => {
    await post(server, [beat('backup')]);
    beats++;
    return performance.now() - begun > 9000;
  };
  await until(isLongEnough, 'windows and more');
  expect(beats).toBeGreaterThan(3);
  expect(hook.events()).toEqual([]);
  expect(await api.total('/incidents')).toBe(0);

  await until(() => hook.events().length > 0, 'the alarm');
  expect(hook.events()[0]).toMatchObject({
    status: 'ALARM',
    condition: 'heartbeat',
    cribl_notification: 'missed',
    key: 'backup',
    timeWindow: '3s',
    lastBeatAt: expect.any(Number),
    _raw: expect.stringMatching(/^Heartbeat backup is overdue since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  });
  await until(() => hook.events().length > 1, 'the alarm after another window');
  expect(hook.events().map(({ cribl_notification: id }) => id)).toEqual(['missed', 'missed_long']);

  await post(server, [beat('backup')]);
  await until(() => hook.events().length > 3, 'both ends');
  const ends = hook.events().slice(2);
  expect(ends.map(({ status }) => status)).toEqual(['OK', 'OK']);
  expect(ends.find(({ cribl_notification: id }) => id === 'missed')).toMatchObject({
    status: 'OK',
    key: 'backup',
    incidentId: hook.events()[0]?.incidentId,
    _raw: expect.stringMatching(/^Heartbeat backup has come again after \d+s$/),
  });
  const closed = await api.items('/incidents?state=closed', incidentItem);
  expect(closed.map(({ notification, subject }) => `${notification} ${subject}`).sort()).toEqual([
    'missed backup',
    'missed_long backup',
  ]);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(hook.refusals).toEqual([]);
});
