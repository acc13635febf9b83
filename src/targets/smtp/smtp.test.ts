import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { alarm } from '../../../test/helpers/any-event.ts';
import { certificateAuthority } from '../../../test/helpers/certificates.ts';
import { testClock } from '../../../test/helpers/clock.ts';
import { mailServer, rawServer } from '../../../test/helpers/mail-server.ts';
import { readMail } from '../../../test/helpers/read-mail.ts';
import { sendMail } from '../../../test/helpers/send-mail.ts';
import { until } from '../../../test/helpers/until.ts';
import type { Outcome } from '../outcome.ts';
import { mailConf } from '../recipients.ts';
import { smtp } from './smtp.ts';

const to = (emailRecipient: object, more: object = {}) => ({ emailRecipient, ...more });

test('a mail describes the event in its subject, as text and as HTML', async () => {
  const { port, mails } = await mailServer();
  const clock = testClock(Date.UTC(2026, 10, 28, 12));
  const outcome = await sendMail({ port }, { clock, internal: { __pipeline: 'edge' }, deliveryId: 'd-1' });
  expect(outcome).toEqual({ kind: 'sent' });
  expect(mails).toHaveLength(1);
  const { headers, text, html } = readMail(mails[0]?.raw ?? '');
  expect(headers.get('subject')).toEqual(['[ALARM] app_silent: Source syslog:app had no data for 60s']);
  expect(headers.get('from')).toEqual(['Headgate <headgate@example.com>']);
  expect(headers.get('to')).toEqual(['ops@example.com']);
  expect(headers.get('date')).toEqual(['Sat, 28 Nov 2026 12:00:00 +0000']);
  expect(headers.get('auto-submitted')).toEqual(['auto-generated']);
  expect(text.split('\n').slice(0, 3)).toEqual([
    'Source syslog:app had no data for 60s',
    '',
    'Status: ALARM',
  ]);
  for (const line of [
    'Severity: warn',
    'Time: 2024-02-01 00:28:20 UTC',
    'Pipeline: edge',
    'Description: The application of the shop.',
    'Runbook: https://wiki.example/app-silent?a=1&b=2',
    `Incident: ${String(alarm.incidentUrl)}`,
    `Silence: ${String(alarm.silenceUrl)}`,
  ])
    expect(text.split('\n')).toContain(line);
  expect(text).not.toContain('cribl_host');
  expect(html).toContain(
    '<a href="https://wiki.example/app-silent?a=1&amp;b=2">https://wiki.example/app-silent?a=1&amp;b=2</a>',
  );
});

test('to, cc and bcc get it, and nobody sees who got a blind copy', async () => {
  const { port, mails } = await mailServer();
  const recipients = { to: 'Ops <ops@example.com>,b@example.com', cc: 'c@example.com', bcc: 'd@example.com' };
  expect(await sendMail({ port }, { conf: to(recipients) })).toEqual({ kind: 'sent' });
  expect(mails[0]?.to).toEqual(['ops@example.com', 'b@example.com', 'c@example.com', 'd@example.com']);
  const raw = mails[0]?.raw ?? '';
  expect(readMail(raw).headers.get('to')).toEqual(['Ops <ops@example.com>, b@example.com']);
  expect(readMail(raw).headers.get('cc')).toEqual(['c@example.com']);
  expect(raw).not.toContain('d@example.com');
});

test('subject and body are the notification’s own, with the variables of Cribl-compatible clients', async () => {
  const { port, mails } = await mailServer();
  const conf = to(
    { to: 'ops@example.com' },
    {
      subject: '${status} ${cribl_notification} ${timewindow} ${queue_usage}%',
      body: '${input} in ${__worker_group}: ${bytes} at ${timestamp}${nothing}',
    },
  );
  const event = { ...alarm, timeWindow: '60s', usageThreshold: 90, bytes: 0, backpressure_type: 2 };
  const clock = testClock(Date.UTC(2026, 10, 28, 12));
  const internal = { __worker_group: 'default' };
  await sendMail({ port }, { conf, events: [event], clock, internal });
  const { headers, text } = readMail(mails[0]?.raw ?? '');
  expect(headers.get('subject')).toEqual(['DROPPING app_silent 60s 90%']);
  expect(text).toBe('syslog:app in default: 0 at 2026-11-28 12:00:00 UTC');
});

test('a variable that no event has is empty and warned of in subject and body, as one that fails is', async () => {
  const { port, mails } = await mailServer();
  const warnings: string[] = [];
  const conf = to(
    { to: 'ops@example.com' },
    { subject: '${status}${team}', body: '<p>${team}${room}${timestamp}${none.trim()}</p>' },
  );
  await sendMail({ port }, { conf, warn: reason => void warnings.push(reason) });
  expect(readMail(mails[0]?.raw ?? '').headers.get('subject')).toEqual(['ALARM']);
  expect(warnings.toSorted()).toEqual([
    expect.stringMatching(/^body: at place 4: .*; nothing stands there$/),
    "body: unknown variable 'room'; it is empty text",
    expect.stringMatching(/^(body|subject): unknown variable 'team'; it is empty text$/),
  ]);
});

test('values are text wherever they stand: in markup no tag, in a header no line', async () => {
  const { port, mails } = await mailServer();
  const nasty = '<img src=x onerror="alert(1)">\r\nBcc: thief@example.com\0&amp;';
  const conf = to(
    { to: 'ops@example.com' },
    { subject: 'Hm: ${_raw}', body: '<p title="${_raw}">${_raw}</p><b>${cribl_notification}</b>' },
  );
  await sendMail({ port }, { conf, events: [{ ...alarm, _raw: nasty }] });
  await sendMail({ port }, { events: [{ ...alarm, _raw: nasty, description: nasty }] });
  const [own = '', builtIn = ''] = mails.map(({ raw }) => raw);
  const { headers, html, text } = readMail(own);
  expect(headers.get('subject')).toEqual(['Hm: <img src=x onerror="alert(1)"> Bcc: thief@example.com &amp;']);
  expect(headers.has('bcc')).toBe(false);
  expect(html).toContain('<b>app_silent</b>');
  expect(html).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;');
  expect(html).not.toContain('<img');
  expect(text).toContain('Status: ALARM');
  expect(readMail(builtIn).html).not.toContain('<img');
  expect(mails.flatMap(mail => mail.to)).not.toContain('thief@example.com');
});

test('mails of one incident answer the same mail, and every attempt has the same id', async () => {
  const { port, mails } = await mailServer();
  await sendMail({ port }, { deliveryId: 'd-1' });
  await sendMail({ port }, { deliveryId: 'd-1' });
  await sendMail({ port }, { deliveryId: 'd-2', events: [{ ...alarm, status: 'OK' }] });
  await sendMail({ port }, { deliveryId: 'd-3', events: [{ ...alarm, incidentId: 'another' }] });
  const headers = mails.map(({ raw }) => readMail(raw).headers);
  const ids = headers.map(one => one.get('message-id')?.[0]);
  expect(ids).toEqual(['<d-1@example.com>', '<d-1@example.com>', '<d-2@example.com>', '<d-3@example.com>']);
  const threads = headers.map(one => one.get('references')?.[0]);
  expect(threads.slice(0, 3)).toEqual(Array(3).fill(`<incident.${alarm.incidentId}@example.com>`));
  expect(threads[3]).not.toBe(threads[0]);
  expect(headers.map(one => one.get('in-reply-to')?.[0])).toEqual(threads);
});

test('several events travel in one mail that gives their number', async () => {
  const { port, mails } = await mailServer();
  await sendMail({ port }, { events: [alarm, { ...alarm, _raw: 'the second one' }] });
  const { headers, text } = readMail(mails[0]?.raw ?? '');
  expect(headers.get('subject')?.[0]).toMatch(/60s \(and 1 more\)$/);
  expect(text).toContain('the second one');
});

test('one refused mailbox keeps no other from the mail, and the delivery names it', async () => {
  const { port, mails } = await mailServer({
    recipient: address => (address === 'gone@example.com' ? '550 5.1.1 no such user' : undefined),
  });
  const conf = to({ to: 'ops@example.com,gone@example.com' });
  expect(await sendMail({ port }, { conf })).toEqual({
    kind: 'sent',
    except: 'taken for the others, refused for gone@example.com (550 5.1.1 no such user)',
  });
  expect(mails.map(mail => mail.to)).toEqual([['ops@example.com']]);
});

test('a deferred recipient is tried again, and one that has the mail does not get it twice', async () => {
  const full = new Set(['slow@example.com']);
  const { port, mails } = await mailServer({
    recipient: address =>
      address === 'gone@example.com'
        ? '550 no such user'
        : full.has(address)
          ? '452 4.2.2 mailbox full'
          : undefined,
  });
  const sending = {
    conf: to({ to: 'ops@example.com,slow@example.com', bcc: 'gone@example.com' }),
    deliveryId: 'put-off',
  };
  const first = await sendMail({ port }, sending);
  expect(first).toMatchObject({ kind: 'retry' });
  expect(first).toHaveProperty(
    'reason',
    'taken for the others, put off for slow@example.com (452 4.2.2 mailbox full); refused for gone@example.com (550 no such user)',
  );
  const second = await sendMail({ port }, { ...sending, after: first });
  expect(second).toMatchObject({ kind: 'retry' });
  full.clear();
  expect(await sendMail({ port }, { ...sending, after: second })).toEqual({
    kind: 'sent',
    except: 'taken for the others, refused for gone@example.com (550 no such user)',
  });
  expect(mails.map(mail => mail.to)).toEqual([['ops@example.com'], ['slow@example.com']]);
});

test.each([
  ['every recipient is unknown', { recipient: () => '550 5.1.1 no such user' }, 'refused', true],
  ['every recipient is put off', { recipient: () => '450 4.2.0 greylisted' }, 'retry', undefined],
  ['the sender is not wanted', { sender: () => '553 5.7.1 not owned' }, 'refused', undefined],
  ['the server is busy', { sender: () => '421 4.3.2 busy' }, 'retry', undefined],
  ['the mail is not wanted', { data: () => '554 5.7.1 spam' }, 'refused', true],
  ['the disk is full', { data: () => '452 4.3.1 no space' }, 'retry', undefined],
])('%s: %o', async (_, script, kind, isAboutMessage) => {
  const { port } = await mailServer(script);
  const outcome = await sendMail({ port });
  expect(outcome.kind).toBe(kind);
  expect(outcome).toHaveProperty('reason', expect.stringMatching(/(550|450|553|421|554|452) /));
  expect('isAboutMessage' in outcome ? outcome.isAboutMessage : undefined).toBe(isAboutMessage);
});

test('without an entry in targetConfigs nothing is sent, and the refusal says what to add', async () => {
  expect(await sendMail({ port: 1 }, { conf: null })).toEqual({
    kind: 'refused',
    reason: "no recipient is given; add 'mail' to targetConfigs of the notification",
    isAboutMessage: true,
  });
});

const account = { user: 'headgate', password: 'not-to-be-shown' };
const login = { smtpUsername: account.user, smtpPassword: account.password };

test('STARTTLS is used when it is offered, and the mail goes in clear when it is not', async () => {
  const authority = certificateAuthority();
  const encrypted = await mailServer({ pair: authority.issue('mail') });
  const tls = { ca: readPem(authority.cert) };
  const plain = await mailServer();
  for (const encryptionOption of ['STARTTLS', undefined]) {
    const way = encryptionOption && { encryptionOption };
    expect(await sendMail({ port: encrypted.port, tls, ...way })).toEqual({ kind: 'sent' });
    expect(await sendMail({ port: plain.port, tls, ...way })).toEqual({ kind: 'sent' });
  }
  expect(encrypted.mails.map(mail => mail.isEncrypted)).toEqual([true, true]);
  expect(plain.mails.map(mail => mail.isEncrypted)).toEqual([false, false]);
});

test('where STARTTLS is required, or a password is to be sent, nothing goes in clear', async () => {
  const plain = await mailServer({ account });
  for (const settings of [
    { encryptionOption: 'STARTTLS_REQUIRED' },
    { encryptionOption: 'STARTTLS', ...login },
    login,
  ]) {
    const outcome = await sendMail({ port: plain.port, ...settings });
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('encryptionOption') });
    expect(outcome).not.toHaveProperty('isAboutMessage');
  }
  expect(plain.logins).toEqual([]);
  expect(await sendMail({ port: plain.port, encryptionOption: 'NONE', ...login })).toEqual({ kind: 'sent' });
  expect(plain.mails.map(mail => mail.user)).toEqual([account.user]);
});

test('TLS encrypts from the first byte', async () => {
  const authority = certificateAuthority();
  const { port, mails } = await mailServer({ pair: authority.issue('mail'), isTls: true, account });
  const settings = { port, encryptionOption: 'TLS', ...login };
  expect(await sendMail({ ...settings, tls: { ca: readPem(authority.cert) } })).toEqual({ kind: 'sent' });
  expect(mails[0]?.isEncrypted).toBe(true);
  expect(mails[0]?.user).toBe(account.user);
});

test.each(['TLS', 'STARTTLS', 'STARTTLS_REQUIRED'])(
  '%s: a certificate that nobody vouches for marks the target as broken, and counts only when told so',
  async encryptionOption => {
    const pair = certificateAuthority().issue('mail');
    const { port, mails } = await mailServer({ pair, isTls: encryptionOption === 'TLS' });
    expect(await sendMail({ port, encryptionOption })).toMatchObject({
      kind: 'retry',
      isTargetBroken: true,
      reason: expect.stringContaining('certificate'),
    });
    expect(mails).toEqual([]);
    const tls = { rejectUnauthorized: false };
    expect(await sendMail({ port, encryptionOption, tls })).toEqual({ kind: 'sent' });
  },
);

test('minVersion and maxVersion limit the TLS version', async () => {
  const authority = certificateAuthority();
  const pair = authority.issue('mail');
  const ca = readPem(authority.cert);
  const old = await mailServer({ pair, versions: { maxVersion: 'TLSv1.2' } });
  const tls = { ca, minVersion: 'TLSv1.3' };
  expect(await sendMail({ port: old.port, tls })).toMatchObject({ kind: 'retry', isTargetBroken: true });
  expect(await sendMail({ port: old.port, tls: { ca, minVersion: 'TLSv1.2' } })).toEqual({ kind: 'sent' });
  const young = await mailServer({ pair, versions: { minVersion: 'TLSv1.3' } });
  const most = { ca, maxVersion: 'TLSv1.2' };
  expect(await sendMail({ port: young.port, tls: most })).toMatchObject({
    kind: 'retry',
    isTargetBroken: true,
  });
  expect(await sendMail({ port: young.port, tls: { ca, maxVersion: 'TLSv1.3' } })).toEqual({ kind: 'sent' });
});

test('a wrong password is refused for good, and is never shown', async () => {
  const { port } = await mailServer({
    account: { ...account, password: 'another' },
    login: () => `535 5.7.8 no: ${account.password} ${Buffer.from(account.password).toString('base64')}`,
  });
  const outcome = await sendMail({ port, encryptionOption: 'NONE', ...login });
  expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('smtpPassword') });
  expect(outcome).not.toHaveProperty('isAboutMessage');
  expect(JSON.stringify(outcome)).toContain('535');
  expect(JSON.stringify(outcome)).not.toContain(account.password);
  expect(JSON.stringify(outcome)).not.toContain(Buffer.from(account.password).toString('base64'));
});

test('a login that fails for now is tried again', async () => {
  const { port } = await mailServer({ account, login: () => '454 4.7.0 temporary failure' });
  expect(await sendMail({ port, encryptionOption: 'NONE', ...login })).toMatchObject({ kind: 'retry' });
});

test('a server that requires no password is not silently sent one', async () => {
  const { port, mails } = await mailServer();
  const outcome = await sendMail({ port, encryptionOption: 'NONE', ...login });
  expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('smtpUsername') });
  expect(mails).toEqual([]);
});

test('a server that is not there, hangs up or talks nonsense is tried again', async () => {
  const closing = await rawServer(socket => socket.destroy());
  const nonsense = await rawServer(socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const cut = await rawServer(socket => {
    socket.write('220 here\r\n');
    socket.once('data', () => socket.destroy());
  });
  for (const port of [closing, nonsense, cut, 1])
    expect(await sendMail({ port })).toMatchObject({
      kind: 'retry',
      reason: expect.stringContaining('127.0.0.1'),
    });
});

test('a server that does not answer has failed before the attempt is over', async () => {
  let isThere = false;
  const port = await rawServer(() => {
    isThere = true;
  });
  const clock = testClock();
  const sent = sendMail({ port }, { clock });
  await until(() => isThere);
  await clock.advance(299_999);
  await clock.advance(1);
  const reason = `127.0.0.1:${port}: timed out after 300 s waiting for the greeting`;
  expect(await sent).toEqual({ kind: 'retry', reason });
});

const RFC_5321: readonly (readonly [step: string, seconds: number, doing: string, kind: string])[] = [
  ['EHLO', 300, 'waiting for the answer to EHLO', 'retry'],
  ['MAIL', 300, 'waiting for the answer to MAIL', 'retry'],
  ['RCPT', 300, 'waiting for the answer to RCPT', 'retry'],
  ['DATA', 120, 'waiting for the answer to DATA', 'retry'],
  ['.', 600, 'waiting for the answer to the final dot', 'unknown'],
];

/** A server that falls silent at a command, or at the final dot. */
async function silentAt(
  command: string,
): Promise<{ readonly port: number; readonly isSilent: () => boolean }> {
  let isSilent = false;
  const port = await rawServer(socket => {
    let isInMail = false;
    let heard = '';
    socket.write('220 here\r\n');
    socket.on('data', chunk => {
      heard += chunk.toString('latin1');
      if (isInMail ? !heard.endsWith('\r\n.\r\n') : !heard.endsWith('\r\n')) return;
      const verb = isInMail ? '.' : heard.slice(0, 4);
      heard = '';
      isInMail = verb === 'DATA';
      if (verb === command) isSilent = true;
      else socket.write(isInMail ? '354 go on\r\n' : '250 fine\r\n');
    });
  });
  return { port, isSilent: () => isSilent };
}

test.each(RFC_5321)('%s is waited for as long as RFC 5321 says', async (command, seconds, doing, kind) => {
  const { port, isSilent } = await silentAt(command);
  const clock = testClock();
  let outcome: Outcome | undefined;
  const sent = sendMail({ port }, { clock }).then(ended => {
    outcome = ended;
  });
  await until(isSilent);
  await new Promise(resolve => setImmediate(resolve));
  await clock.advance(seconds * 1000 - 1);
  expect(outcome).toBeUndefined();
  await clock.advance(1);
  await sent;
  expect(outcome).toEqual({ kind, reason: `127.0.0.1:${port}: timed out after ${seconds} s ${doing}` });
});

test('a step has the time that the settings give it, and a mail that of its steps together', async () => {
  const { port, isSilent } = await silentAt('MAIL');
  const clock = testClock();
  const sent = sendMail({ port, timeouts: { mail: 7 } }, { clock });
  await until(isSilent);
  await clock.advance(7000);
  expect(await sent).toMatchObject({ reason: expect.stringContaining('timed out after 7 s') });
  const { patienceMs } = smtp.configure({
    ...{ id: 'm', type: 'smtp', host: 'mail.example', port: 25, from: 'a@example.com' },
    ...{ smtpUsername: '', smtpPassword: '' },
  });
  expect(patienceMs).toBe(2_400_000);
});

test('a server is greeted with the name that is set', async () => {
  const { port, mails } = await mailServer();
  expect(await sendMail({ port, ehloName: 'out.example.com' })).toEqual({ kind: 'sent' });
  expect(mails[0]?.hello).toBe('out.example.com');
  expect(() => smtp.configure({ id: 'm', type: 'smtp', ehloName: 'localhost' })).toThrow(/ehloName/);
});

test.each([
  [
    '504 5.7.4 unrecognized',
    '250-here\r\n250 AUTH GSSAPI XOAUTH2\r\n',
    /offers AUTH GSSAPI XOAUTH2, and this signs in by PLAIN/,
  ],
  [
    '535 5.7.8 no',
    '250-here\r\n250 AUTH PLAIN LOGIN\r\n',
    /check smtpUsername and smtpPassword; the server offers AUTH PLAIN LOGIN$/,
  ],
])('what a server offers is shown where it answers %s', async (reply, hello, reason) => {
  const port = await rawServer(socket => {
    socket.write('220 here\r\n');
    socket.on('data', chunk => socket.write(chunk.toString().startsWith('EHLO') ? hello : `${reply}\r\n`));
  });
  const login = { smtpUsername: 'u', smtpPassword: 'p4ssword', encryptionOption: 'NONE' };
  const outcome = await sendMail({ port, ...login });
  expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
  expect(JSON.stringify(outcome)).not.toContain('p4ssword');
});

test('the address is checked before a byte is sent, and the connection goes to the checked one', async () => {
  const { port, mails } = await mailServer();
  const refused = { privateAddresses: 'refuse' } as const;
  const literal = await sendMail({ port }, { policy: refused });
  const asked: string[] = [];
  const named = await sendMail(
    { port, host: 'mail.example' },
    {
      policy: {
        ...refused,
        resolve(name, done) {
          asked.push(name);
          done(null, [{ address: asked.length === 1 ? '127.0.0.1' : '203.0.113.1', family: 4 }]);
        },
      },
    },
  );
  for (const outcome of [literal, named])
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('not public') });
  expect(asked).toEqual(['mail.example']);
  const open = {
    resolve: (_: string, done: (e: null, a: { address: string; family: number }[]) => void) =>
      done(null, [{ address: '127.0.0.1', family: 4 }]),
  };
  expect(await sendMail({ port, host: 'mail.example' }, { policy: open })).toEqual({ kind: 'sent' });
  expect(mails).toHaveLength(1);
  expect(mails[0]?.hello).not.toBe('127.0.0.1');
});

test('markup that would be cut in a tag falls back to the text', async () => {
  const { port, mails } = await mailServer();
  const conf = to({ to: 'ops@example.com' }, { body: '<p>${_raw}</p>' });
  await sendMail({ port }, { conf, events: [{ ...alarm, _raw: '<&>'.repeat(10_000) }] });
  const { html } = readMail(mails[0]?.raw ?? '');
  expect(html).toMatch(/^<!DOCTYPE html>/);
  expect(html).toMatch(/<\/html>$/);
});

test('addresses and user names with line breaks are refused when they are read', () => {
  const settings = { port: 25, smtpUsername: 'a', smtpPassword: 'b' };
  for (const wrong of [
    { from: 'a@b.example\r\nBcc: c@d.example' },
    { from: 'A\r\nB <a@b.example>' },
    { smtpUsername: 'a\r\nRCPT TO:<c@d.example>' },
    { smtpPassword: 'a\0b' },
    { host: 'mail.example\r\nQUIT' },
    { tls: { ca: 'no certificate' } },
    { tls: { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' } },
  ])
    expect(() => sendMail({ ...settings, ...wrong })).toThrow();
  expect(mailConf.safeParse(to({ to: 'a@b.example\r\n' })).success).toBe(false);
  expect(mailConf.safeParse(to({ to: 'a@b.example' }, { subject: 'a\r\nBcc: c@d.example' })).success).toBe(
    false,
  );
});

test('lines of any length and any script arrive whole', async () => {
  const { port, mails } = await mailServer();
  const long = `${'x'.repeat(5000)} приём данных 🚨\n.\n..\nFrom here`;
  await sendMail(
    { port, from: 'Wächter <headgate@example.com>' },
    { conf: to({ to: 'ops@example.com' }, { body: long }) },
  );
  const { headers, text } = readMail(mails[0]?.raw ?? '');
  expect(text).toBe(long);
  expect(headers.get('from')).toEqual(['Wächter <headgate@example.com>']);
});

function readPem(path: string): string {
  return readFileSync(path, 'utf8');
}
