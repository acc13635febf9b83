import fc from 'fast-check';
import { createTransport } from 'nodemailer';
import { expect, test } from 'vitest';
import { anyEvent, anyText } from '../../../test/helpers/any-event.ts';
import { readMail } from '../../../test/helpers/read-mail.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { mailConf } from '../recipients.ts';
import { composeMail } from './mail.ts';

/** Writes a mail as it goes to the server; `readMail` throws when it breaks the rules of mail. */
async function written(events: readonly HeadgateEvent[], more: object): Promise<string> {
  const conf = mailConf.parse({ emailRecipient: { to: 'Ops <ops@example.com>, b@example.com' }, ...more });
  const from = 'Headgate <headgate@example.com>';
  const context = { from, conf, deliveryId: 'd-1', now: 1_800_000_000_000, report: () => {} };
  const { envelope, headers, ...message } = composeMail(events, context);
  expect(envelope).toEqual({ from: 'headgate@example.com', to: ['ops@example.com', 'b@example.com'] });
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const mail = { ...message, headers: { ...headers }, textEncoding: 'quoted-printable' as const };
  const sent: { message: unknown } = await transport.sendMail({ ...mail, xMailer: false });
  return String(sent.message);
}

/** The complete list of headers, for any events. */
const NAMES = [
  'auto-submitted',
  'content-type',
  'date',
  'from',
  'in-reply-to',
  'message-id',
  'mime-version',
  'references',
  'subject',
  'to',
  'x-auto-response-suppress',
];

const templates = fc.constantFrom(
  {},
  { subject: '${_raw}${description}${cribl_host}', body: '${_raw}: ${key} ${description}' },
  { subject: '${input}', body: '<a href="${runbookUrl}" title=\'${_raw}\'>${description}</a>' },
);

test('no event makes a mail that breaks the rules of mail, has another header, or holds a tag of the event', async () => {
  const property = fc.asyncProperty(
    fc.array(anyEvent, { minLength: 1, maxLength: 3 }),
    templates,
    async (events, own) => {
      const { headers, html, text } = readMail(await written(events, own));
      expect([...headers.keys()].sort()).toEqual(NAMES);
      const subject = headers.get('subject')?.[0] ?? '';
      expect([...subject].length).toBeLessThanOrEqual(250);
      expect(subject).not.toMatch(/\p{Cc}/u);
      expect(text).not.toMatch(/(?![\n\t])\p{Cc}/u);
      expect(html).not.toMatch(
        /<(?!\/?(!DOCTYPE html|html|head|meta charset|body|div style|div|a href|a|hr)[ >="])/,
      );
      expect(html).not.toMatch(/href="[\s\p{Cc}]*(javascript|data):/iu);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

test('a carriage return in a value becomes a blank in a mail of HTML', async () => {
  const html = { body: '<a title="${_raw}">${_raw}</a>' };
  const mail = readMail(await written([{ ...EVENT, _raw: 'one\rtwo\r\nthree' }], html));
  expect(mail.html).toContain('one two');
});

test('a subject of any text is one line of at most 250 characters', async () => {
  const property = fc.asyncProperty(anyText, anyText, async (a, b) => {
    const event = { ...EVENT, _raw: a, description: b };
    const { headers } = readMail(await written([event], { subject: '${_raw} ${description}' }));
    expect([...(headers.get('subject')?.[0] ?? '')].length).toBeLessThanOrEqual(250);
  });
  await fc.assert(property, { numRuns: 60 });
});

const EVENT: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'n',
  incidentId: 'i1',
  severity: 'warn',
  _raw: '',
  _time: 0,
  starttime: 0,
  endtime: 0,
};
