import { expect, it } from 'vitest';
import { postfix } from '../helpers/postfix.ts';
import { readMail } from '../helpers/read-mail.ts';
import { deliveryItem } from './client.ts';
import { installation, logIn, noData, serve, stop, until, writeConfiguration } from './harness.ts';

it('mails an alarm, and its end to the same people although the notification is gone by then', async () => {
  const server = await postfix();
  const targets = [
    {
      id: 'mail',
      type: 'smtp',
      host: '127.0.0.1',
      port: server.port,
      smtpUsername: server.user,
      smtpPassword: server.password,
      from: 'Headgate <headgate@example.com>',
      encryptionOption: 'STARTTLS_REQUIRED',
      tls: { ca: `\${file:${server.ca}}` },
    },
  ];
  const conf = {
    subject: '${status} ${input}',
    emailRecipient: { to: 'ops@example.com,nobody@example.com' },
  };
  const folders = installation({
    notifications: {
      targets,
      notifications: [{ ...noData('silent', 'a:b', '1s', 'mail'), targetConfigs: [{ id: 'mail', conf }] }],
    },
  });
  const first = await serve(folders);
  await until(() => server.mailbox('ops').length === 1, 'the alarm');
  const api = await logIn(first.url);
  await until(async () => (await api.total('/deliveries?state=sent')) === 1, 'the delivery');
  expect(await api.items('/deliveries', deliveryItem)).toMatchObject([
    { target: 'mail', lastError: expect.stringContaining('refused for nobody@example.com (550 5.1.1') },
  ]);
  expect(await stop(first)).toEqual({ code: 0, signal: null });

  writeConfiguration(folders.config, { notifications: { targets, notifications: [] } });
  const second = await serve(folders);
  await until(() => server.mailbox('ops').length === 2, 'the end');
  const [alarm, end] = server.mailbox('ops').map(raw => readMail(raw));
  expect(alarm?.headers.get('subject')).toEqual(['ALARM a:b']);
  expect(end?.headers.get('subject')).toEqual(['OK a:b']);
  expect(end?.text).toContain('the notification was removed');
  expect(end?.headers.get('references')).toEqual(alarm?.headers.get('references'));
  expect(first.stderr() + second.stderr()).not.toContain(server.password);
});
