import { expect, it } from 'vitest';
import * as z from 'zod';
import type { Served } from './bin.ts';
import { deliveryItem, incidentItem, ledgerItem, messageItem } from './client.ts';
import { installation, logIn, serve, stop, until, writeConfiguration } from './harness.ts';
import { alarm, end, monitors, POSTING, post } from './posting.ts';
import { type ScriptedSink, scriptedSink, single, status, take } from './scripted-sink.ts';

const targetItem = z.object({
  id: z.string(),
  status: z.looseObject({ health: z.string() }).optional(),
});

it('turns to the fallback while a target fails, tells operators of it, and is quiet about what tells them', async () => {
  const [main, spare, operators] = [await scriptedSink(), await scriptedSink(), await scriptedSink()];
  const folders = installation({
    settings: {
      pipelines: [POSTING],
      delivery: { retrySchedule: ['0s', '1s', '1s'], operationalTarget: 'operators' },
    },
    notifications: {
      targets: [
        single('main', main.url, { fallback: 'spare' }),
        single('spare', spare.url),
        single('operators', operators.url),
      ],
      notifications: [monitors('main')],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  const metric = async (sample: string): Promise<number | undefined> => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    const line = text.split('\n').find(one => one.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length + 1));
  };
  const healthOf = async (id: string) =>
    (await api.items('/notification-targets', targetItem)).find(one => one.id === id)?.status;

  // Told before it fails, so that its end is for both.
  await post(server, [alarm('before')]);
  await until(() => main.taken().length === 1, 'the alarm');
  expect(await healthOf('main')).toMatchObject({ health: 'Green' });
  main.reply(status(404));
  operators.reply(status(500));
  await post(server, [alarm('lost')]);
  await until(() => spare.taken().length === 1, 'the alarm at the fallback');
  expect(spare.calls[0]?.event).toMatchObject({ key: 'lost', status: 'ALARM' });
  const [handed] = await api.items('/deliveries?target=spare', ledgerItem);
  expect(handed?.insteadOf).toBe('main');
  expect((await api.items('/deliveries?target=main&state=refused', ledgerItem))[0]?.lastError).toContain(
    "failed over to its fallback 'spare'",
  );
  await until(
    async () => (await api.total('/incidents?notification=headgate-target-health&state=open')) >= 1,
    'the incident of the target',
  );
  expect(await healthOf('main')).toMatchObject({ health: 'Red' });
  expect(await healthOf('spare')).toMatchObject({ health: 'Green' });
  expect(await metric('headgate_target_failing{target="main"}')).toBe(1);
  expect(await metric('headgate_target_failing{target="spare"}')).toBe(0);
  const messages = await api.items('/system/messages', messageItem);
  expect(messages.find(({ id }) => id === 'headgate-target-health')?.text).toMatch(
    /^Target main is failing: the receiver answered 404/,
  );

  // The operators' target loses the message about it, which nobody is told by a message.
  await until(
    async () => (await api.total('/deliveries?target=operators&state=exhausted')) === 1,
    'the message that is given up',
  );
  await until(async () => (await healthOf('operators'))?.health === 'Red', 'the health of the operators');
  expect(await api.total('/deliveries?target=operators')).toBe(1);
  operators.reply(take);

  // The end of what the target was told is tried there, and goes to the fallback only if that was told the alarm.
  await post(server, [end('lost')]);
  await until(() => spare.taken().length === 2, 'the end at the fallback');
  expect(spare.taken().map(({ event }) => [event.key, event.status])).toEqual([
    ['lost', 'ALARM'],
    ['lost', 'OK'],
  ]);
  const lost = () => api.items('/deliveries?target=main', deliveryItem);
  await until(async () => (await lost())[0]?.state === 'skipped', 'the end that the target need not hear');

  main.reply(take);
  await post(server, [end('before')]);
  await until(() => main.taken().length === 2, 'the end at the target');
  await until(async () => (await healthOf('main'))?.health === 'Green', 'its recovery');
  await until(async () => (await metric('headgate_target_failing{target="main"}')) === 0, 'the metric');
  expect(main.taken().map(({ event }) => [event.key, event.status])).toEqual([
    ['before', 'ALARM'],
    ['before', 'OK'],
  ]);
  const closed = await api.items('/incidents?notification=headgate-target-health&state=closed', incidentItem);
  expect(closed.map(one => one.text)).toContainEqual(
    expect.stringMatching(/^Target main is delivering again after /),
  );
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});

it('tells operators that a target gave up and that it recovered, also over a restart', async () => {
  const [main, operators] = [await scriptedSink(), await scriptedSink()];
  const folders = installation({
    settings: {
      pipelines: [POSTING],
      delivery: { retrySchedule: ['0s', '1s'], operationalTarget: 'operators' },
    },
    notifications: {
      targets: [single('main', main.url), single('operators', operators.url)],
      notifications: [monitors('main')],
    },
  });
  const first = await serve(folders);
  main.reply(status(500));
  await post(first, [alarm('key')]);
  await until(() => operators.calls.length === 1, 'the message');
  expect(operators.calls[0]?.event).toMatchObject({
    status: 'ALARM',
    state: 'exhausted',
    target: 'main',
    cribl_notification: 'headgate-target-health',
    _raw: 'Target main gave up a delivery: the receiver answered 500 Internal Server Error',
  });
  await first.kill();
  main.reply(take);
  const second = await serve(folders);
  await post(second, [alarm('another')]);
  await until(() => operators.calls.at(-1)?.event.status === 'OK', 'the recovery');
  expect(operators.calls.at(-1)?.event._raw).toMatch(/^Target main is delivering again after /);
  expect(new Set(operators.calls.map(({ event }) => event.incidentId)).size).toBe(1);
  expect(await stop(second)).toEqual({ code: 0, signal: null });
});

it('tells of the first delivery that a failing target gives up after a restart, and of that alone', async () => {
  const [main, operators] = [await scriptedSink(), await scriptedSink()];
  const folders = installation({
    settings: {
      pipelines: [POSTING],
      delivery: { retrySchedule: ['0s', '1s'], operationalTarget: 'operators' },
    },
    notifications: {
      targets: [single('main', main.url), single('operators', operators.url)],
      notifications: [monitors('main')],
    },
  });
  /** Booked as well, lest it is repeated after a restart. */
  const told = async (server: Pick<Served, 'url'>, count: number, what: string): Promise<void> => {
    const api = await logIn(server.url);
    await until(async () => (await api.total('/deliveries?target=operators&state=sent')) === count, what);
  };
  const first = await serve(folders);
  main.reply(status(404));
  await post(first, [alarm('refused')]);
  await told(first, 1, 'that it fails');
  await first.kill();
  main.reply(status(500));
  const second = await serve(folders);
  await post(second, [alarm('lost')]);
  await told(second, 2, 'what it gave up');
  await second.kill();
  const third = await serve(folders);
  const api = await logIn(third.url);
  await post(third, [alarm('lost too')]);
  await until(async () => (await api.total('/deliveries?target=main&state=exhausted')) === 2, 'another');
  main.reply(take);
  await post(third, [alarm('taken')]);
  await told(third, 3, 'the recovery');
  expect(operators.taken().map(({ event }) => event._raw)).toEqual([
    expect.stringMatching(/^Target main is failing: the receiver answered 404/),
    expect.stringMatching(/^Target main gave up a delivery: the receiver answered 500/),
    expect.stringMatching(/^Target main is delivering again after /),
  ]);
  expect(await stop(third)).toEqual({ code: 0, signal: null });
});

it('tells the end to a fallback that got the alarm and was removed since, also after a restart', async () => {
  const [main, former, present] = [await scriptedSink(), await scriptedSink(), await scriptedSink()];
  const settings = { pipelines: [POSTING], delivery: { retrySchedule: ['0s', '1s'] } };
  const standingIn = (id: string, { url }: ScriptedSink) => ({
    targets: [single('main', main.url, { fallback: id }), single(id, url)],
    notifications: [monitors('main')],
  });
  const folders = installation({ settings, notifications: standingIn('former', former) });
  main.reply(status(404));
  const first = await serve(folders);
  await post(first, [alarm('key')]);
  const api = await logIn(first.url);
  const booked = async () => (await api.total('/deliveries?target=former&state=sent')) === 1;
  await until(booked, 'the alarm at the fallback');
  writeConfiguration(folders.config, { notifications: standingIn('present', present) });
  await until(
    async () => (await api.items('/notification-targets', targetItem)).some(({ id }) => id === 'present'),
    'the other fallback',
  );
  await post(first, [alarm('another')]);
  await until(() => present.taken().length === 1, 'an alarm at the other fallback');
  await first.kill();
  const second = await serve(folders);
  await post(second, [end('key')]);
  await until(() => former.taken().length === 2, 'the end at the former fallback');
  expect(former.taken().map(({ event }) => event.status)).toEqual(['ALARM', 'OK']);
  expect(present.calls.map(({ event }) => event.key)).not.toContain('key');
  expect(await stop(second)).toEqual({ code: 0, signal: null });
});
