import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { postfix } from '../../../test/helpers/postfix.ts';
import { readMail } from '../../../test/helpers/read-mail.ts';
import { sendMail } from '../../../test/helpers/send-mail.ts';
import { until } from '../../../test/helpers/until.ts';
import type { Outcome } from '../outcome.ts';

test('Postfix accepts mail over STARTTLS with a password, and reports the recipients it refuses', async () => {
  const server = await postfix();
  const tls = { ca: readFileSync(server.ca, 'utf8') };
  const settings = {
    port: server.port,
    tls,
    encryptionOption: 'STARTTLS_REQUIRED',
    smtpUsername: server.user,
    smtpPassword: server.password,
  };
  const toAll = (to: string) => ({ conf: { emailRecipient: { to } } });

  expect(await sendMail(settings, { deliveryId: 'd-1' })).toEqual({ kind: 'sent' });
  await until(() => server.mailbox('ops').length === 1, 'the mail');
  const { headers, text } = readMail(server.mailbox('ops')[0] ?? '');
  expect(headers.get('message-id')).toEqual(['<d-1@example.com>']);
  expect(headers.get('received')?.[0]).toMatch(/with ESMTPSA/);
  expect(text).toContain('Source syslog:app had no data for 60s');

  const partly = await sendMail(settings, toAll('two@example.com,nobody@example.com'));
  expect(partly).toMatchObject({
    kind: 'sent',
    except: expect.stringMatching(/nobody@example\.com \(550 5\.1\.1/),
  });
  await until(() => server.mailbox('two').length === 1, 'the mail of the other recipient');

  const putOff = { ...toAll('ops@example.com,later@example.com'), deliveryId: 'd-2' };
  let before: Outcome | undefined;
  for (let attempts = 0; attempts < 2; attempts++) {
    before = await sendMail(settings, { ...putOff, ...(before && { after: before }) });
    expect(before).toMatchObject({
      kind: 'retry',
      reason: expect.stringMatching(/^taken for the others, put off for later@example\.com \(450 4\.2\.1/),
    });
  }
  await until(() => server.mailbox('ops').length >= 2, 'the second mail');
  expect(server.mailbox('ops')).toHaveLength(2);

  expect(await sendMail(settings, toAll('nobody@example.com'))).toMatchObject({
    kind: 'refused',
    isAboutMessage: true,
  });
  const wrong = await sendMail({ ...settings, smtpPassword: 'wrong' });
  expect(wrong).toMatchObject({
    kind: 'refused',
    reason: expect.stringMatching(/535 5\.7\.8.*smtpPassword/),
  });
  const unknown = await sendMail({ ...settings, tls: {} });
  expect(unknown).toMatchObject({ kind: 'retry', isTargetBroken: true });
  const plain = await sendMail({ ...settings, encryptionOption: 'NONE' });
  expect(plain).toMatchObject({ kind: 'refused' });
});

test('Postfix that cannot look the name of the sender up gets its address, and the name that is set', async () => {
  const server = await postfix(
    'smtpd_helo_required = yes',
    'smtpd_helo_restrictions = reject_invalid_helo_hostname, reject_non_fqdn_helo_hostname, reject_unknown_helo_hostname',
  );
  const settings = {
    port: server.port,
    tls: { ca: readFileSync(server.ca, 'utf8') },
    ...{ smtpUsername: server.user, smtpPassword: server.password },
    ehloName: 'only-inside.invalid',
  };
  expect(await sendMail(settings, { deliveryId: 'd-1' })).toEqual({ kind: 'sent' });
  await until(() => server.mailbox('ops').length === 1, 'the mail');
  expect(readMail(server.mailbox('ops')[0] ?? '').headers.get('received')?.[0]).toMatch(
    /from \[127\.0\.0\.1\]/,
  );
  expect(server.log('Helo command rejected')).not.toEqual([]);
});
