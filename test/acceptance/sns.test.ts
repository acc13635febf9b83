import { expect, it } from 'vitest';
import { snsService } from '../helpers/sns.ts';
import { ADMIN_PASSWORD, installation, noData, serve, stop, until, writeConfiguration } from './harness.ts';

it('publishes an alarm and its end to a FIFO topic with the keys of its environment, neither swallowed', async () => {
  const service = await snsService({ keys: { AKIDEXAMPLE0000009: 'a key of the test' } });
  const targets = [
    {
      id: 'topic',
      type: 'sns',
      region: 'eu-west-1',
      destinationType: 'topic',
      topicArn: 'arn:aws:sns:eu-west-1:123456789012:alerts.fifo',
      topicType: 'fifo',
      messageGroupId: 'headgate',
      endpoint: service.url,
    },
  ];
  const folders = installation({
    notifications: { targets, notifications: [noData('silent', 'a:b', '1s', 'topic')] },
  });
  const environment = {
    HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE0000009',
    AWS_SECRET_ACCESS_KEY: 'a key of the test',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const server = await serve({ ...folders, environment });
  await until(() => service.published.length === 1, 'the alarm');
  writeConfiguration(folders.config, { notifications: { targets, notifications: [] } });
  await until(() => service.published.length === 2, 'the end');
  expect(service.published).toMatchObject([
    { subject: expect.stringMatching(/^\[ALARM\] silent: /), groupId: 'headgate', isDelivered: true },
    { subject: expect.stringMatching(/^\[OK\] silent: /), groupId: 'headgate', isDelivered: true },
  ]);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  // The library's own warnings are no lines of the log.
  for (const line of server.stderr().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level');
});
