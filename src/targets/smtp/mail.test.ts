import { expect, test } from 'vitest';
import { alarm } from '../../../test/helpers/any-event.ts';
import { mailServer } from '../../../test/helpers/mail-server.ts';
import { readMail } from '../../../test/helpers/read-mail.ts';
import { sendMail } from '../../../test/helpers/send-mail.ts';

const FAILING = '${_raw.repeat(99999)}';

/** Makes one mail of these texts as its reader sees it, with the warnings. */
async function mailOf(texts: { readonly subject?: string; readonly body?: string }, events = [alarm]) {
  const { port, mails } = await mailServer();
  const warnings: string[] = [];
  const conf = { ...texts, emailRecipient: { to: 'ops@example.com' } };
  const warn = (reason: string): void => void warnings.push(reason);
  expect(await sendMail({ port }, { conf, events, warn })).toEqual({ kind: 'sent' });
  expect(mails).toHaveLength(1);
  return { ...readMail(mails[0]?.raw ?? ''), warnings };
}

test.each([
  ['fails', FAILING],
  ['names what no event has', '${nothing}'],
  ['is blank', ' \n'],
  ['fails in markup', `<p>${FAILING}</p>`],
  ['is blank in markup', '<p>${nothing}</p><br>'],
])('where a body %s the reader gets the known details of the event', async (_, body) => {
  const { text, html, headers } = await mailOf({ body });
  expect(text).toContain('Source syslog:app had no data for 60s');
  expect(text).toContain('Status: ALARM');
  expect(html).toContain('Source syslog:app had no data for 60s');
  expect(headers.get('subject')?.[0]).toContain('app_silent');
});

test('a picture alone is a body', async () => {
  const { html } = await mailOf({ body: '<p><img src="https://wiki.example/${id}.png"></p>' });
  expect(html).toBe('<p><img src="https://wiki.example/e1.png"></p>');
});

test('a body that fails is sent without it once, and the failure is warned of once', async () => {
  const { warnings } = await mailOf({ subject: 'own', body: FAILING });
  expect(warnings).toEqual([expect.stringMatching(/^body: at place 1: .*characters/)]);
});

test('a subject that fails takes nothing from the body, nor a body from the subject', async () => {
  const subject = await mailOf({ subject: FAILING, body: 'own: ${status}' });
  expect(subject.headers.get('subject')?.[0]).toBe(
    '[ALARM] app_silent: Source syslog:app had no data for 60s',
  );
  expect(subject.text).toBe('own: ALARM');
  const body = await mailOf({ subject: 'own: ${status}', body: `still here ${FAILING}` });
  expect(body.headers.get('subject')?.[0]).toBe('own: ALARM');
  expect(body.text).toBe('still here ');
});

test('of several events, one for which the body is empty is shown by its known details', async () => {
  const { text } = await mailOf({ body: '${note}' }, [alarm, { ...alarm, note: 'told by the body' }]);
  expect(text).toMatch(/^Source syslog:app[\s\S]*----\n\ntold by the body$/);
});

test.each(['value1:', 'true', '123', 'null', '[FIRING:1] Name (ns)', '- a', '{{x}}', '$labels', '${status}'])(
  'a value that looks like something else stays the text %j',
  async value => {
    const { headers, text } = await mailOf({ subject: '${_raw}', body: '${_raw}' }, [
      { ...alarm, _raw: value },
    ]);
    expect([headers.get('subject')?.[0], text]).toEqual([value, value]);
  },
);
