import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deliveryItem, messageItem } from './client.ts';
import {
  installation,
  logIn,
  noData,
  serve,
  sink,
  stop,
  until,
  webhook,
  writeConfiguration,
} from './harness.ts';

const TEXT = 'Source a:b had no data for 1s: it was never seen';

it('tells an alarm once to every kind of target', async () => {
  const byToken = await sink('Bearer a-token-of-the-test');
  const byPassword = await sink(`Basic ${Buffer.from('operator:a password').toString('base64')}`);
  const folders = installation({
    settings: { instance: { name: 'edge-1' } },
    notifications: {
      targets: [
        { ...webhook('by_token', byToken), authType: 'token', token: 'a-token-of-the-test' },
        {
          ...webhook('by_password', byPassword),
          authType: 'basic',
          username: 'operator',
          password: 'a password',
        },
        { id: 'bell', type: 'bulletin_message', message: '${input} is silent' },
        { id: 'log', type: 'notifications_log' },
      ],
      notifications: [
        { ...noData('silent', 'a:b', '1s'), targets: ['by_token', 'by_password', 'bell', 'log'] },
      ],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  await until(async () => (await api.total('/deliveries?state=sent')) === 4, 'four deliveries');
  expect(await api.items('/system/messages', messageItem)).toEqual([
    { id: 'silent', severity: 'warn', text: 'a:b is silent\ncribl_host: edge-1' },
  ]);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  for (const { taken, refusals } of [byToken, byPassword]) {
    expect(refusals).toEqual([]);
    expect(taken.map(({ event }) => event)).toMatchObject([
      { status: 'ALARM', input: 'a:b', _raw: TEXT, cribl_host: 'edge-1', severity: 'warn' },
    ]);
  }
  const lines = readFileSync(join(folders.data, 'log', 'notifications.log'), 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { channel: 'silent', message: TEXT, status: 'ALARM' },
  ]);
});

it('tries again under the same id, over a restart as well, and a dead target slows no other', async () => {
  const failing = await sink();
  const hanging = await sink();
  const well = await sink();
  failing.become('unavailable');
  hanging.become('hang');
  const folders = installation({
    settings: { delivery: { retrySchedule: ['0s', ...Array<string>(60).fill('1s')] } },
    notifications: {
      targets: [webhook('failing', failing), webhook('hanging', hanging), webhook('well', well)],
      notifications: ['a:b', 'c:d', 'e:f'].map((name, index) => ({
        ...noData(`silent_${index}`, name, '1s'),
        targets: ['failing', 'hanging', 'well'],
      })),
    },
  });
  const first = await serve(folders);
  await until(() => well.taken.length === 3, 'three alarms at the one that is well');
  await until(() => failing.requests.length >= 6, 'second attempts');
  await first.kill();
  const second = await serve(folders);
  const api = await logIn(second.url);
  const before = failing.requests.length;
  await until(() => failing.requests.length >= before + 3, 'attempts after the restart');
  failing.become('accept');
  await until(() => failing.taken.length === 3, 'three alarms at last');
  await until(
    async () => (await api.total('/deliveries?state=sent&target=failing')) === 3,
    'their settlement',
  );
  for (const delivery of await api.items('/deliveries?target=failing', deliveryItem)) {
    expect(delivery).toMatchObject({ state: 'sent', lastStatus: 200 });
    expect(delivery.attempts).toBeGreaterThan(2);
  }
  await second.kill();
  expect(new Set(failing.requests)).toEqual(new Set(failing.taken.map(({ webhookId }) => webhookId)));
  expect(well.events()).toHaveLength(3);
  expect(new Set(well.taken.map(({ webhookId }) => webhookId)).size).toBe(3);
});

it('gives up what is refused, says why, and skips its resolution', async () => {
  const strict = await sink('Bearer the right token');
  const files = (...names: string[]) => ({
    settings: {},
    notifications: {
      targets: [webhook('strict', strict)],
      notifications: names.map(name => noData(name, `a:${name}`, '1s', 'strict')),
    },
  });
  const folders = installation(files('one'));
  const server = await serve(folders);
  const api = await logIn(server.url);
  await until(async () => (await api.total('/deliveries?state=refused')) === 1, 'the refusal');
  writeConfiguration(folders.config, files());
  await until(async () => (await api.total('/deliveries?state=skipped')) === 1, 'the skipped resolution');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(strict.requests).toHaveLength(1);
  expect(strict.refusals).toEqual(['the Authorization header is not the configured one']);
});
