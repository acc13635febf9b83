import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { alarm, anyEvent } from '../../../test/helpers/any-event.ts';
import type { ContractAnswer } from '../../../test/helpers/contract-server.ts';
import { sendOnce } from '../../../test/helpers/sending.ts';
import { slackFault, slackServer } from '../../../test/helpers/slack.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { slackMessage } from './message.ts';
import { slack } from './slack.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

const KEY = '/services/T0000/B0000/key-of-the-webhook';

async function post(
  events: readonly HeadgateEvent[] = [alarm],
  answer?: ContractAnswer,
  settings: Readonly<Record<string, unknown>> = {},
) {
  const server = await slackServer(answer && (() => answer));
  cleanups.push(server.stop);
  const outcome = await sendOnce({ type: 'slack', slackUrl: `${server.url}${KEY}`, ...settings }, events);
  return { outcome, sent: server.received[0], payload: JSON.parse(server.received[0]?.body ?? 'null') };
}

const textsOf = (payload: unknown): readonly string[] =>
  [...JSON.stringify(payload).matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    JSON.parse(`"${text}"`),
  );

test('an event is posted with its text, its start, the known details and a link', async () => {
  const { outcome, sent, payload } = await post();
  expect(outcome).toEqual({ kind: 'sent', httpStatus: 200, answer: 'ok' });
  expect(sent?.path).toBe(KEY);
  expect(payload.text).toBe('Source syslog:app had no data for 60s');
  expect(textsOf(payload.blocks)).toEqual([
    '🟠 Source syslog:app had no data for 60s',
    'The application of the shop.',
    'app_silent · warn · <!date^1706747300^{date_short_pretty} {time_secs}|2024-02-01T00:28:20.000Z>',
    '<https://headgate.example/#/incidents/0192f0c1-7a00-7000-8000-000000000001|Incident> · <https://wiki.example/app-silent?a=1&amp;b=2|Runbook> · <https://headgate.example/silences/new?matcher=cribl_notification%3Dapp_silent&amp;matcher=input%3Dsyslog%3Aapp|Silence>',
  ]);
});

test('system fields are shown where the settings ask for them', async () => {
  const { payload } = await post([alarm], undefined, { systemFields: ['cribl_host'] });
  expect(textsOf(payload.blocks).at(-1)).toBe('cribl_host: headgate');
});

test('a reminder says which one it is and since when, behind the same text', async () => {
  const { payload } = await post([{ ...alarm, reminder: 2, since: alarm._time - 125 }]);
  expect(payload.text).toBe('Source syslog:app had no data for 60s – still, for 2m 5s (reminder 2)');
});

test('its end is green', async () => {
  const { payload } = await post([{ ...alarm, status: 'OK', severity: 'info', _raw: 'data again' }]);
  expect(textsOf(payload.blocks)[0]).toBe('🟢 data again');
});

test('markup of Slack in an event is shown as text', async () => {
  const { outcome, payload } = await post([{ ...alarm, _raw: '<!channel> a & b <https://x|y>' }]);
  expect(outcome.kind).toBe('sent');
  expect(payload.text).toBe('&lt;!channel&gt; a &amp; b &lt;https://x|y&gt;');
});

test('a text over the limit is cut between characters and entities', async () => {
  const { outcome, payload } = await post([
    { ...alarm, _raw: '&'.repeat(3500), description: '😀'.repeat(3500) },
  ]);
  expect(outcome.kind).toBe('sent');
  const [headline, description] = textsOf(payload.blocks);
  expect(headline).toMatch(/^🟠 (&amp;){598,}…$/);
  expect(description).toMatch(/^(😀){1499}…$/u);
});

test('long addresses are links up to the limit of Slack, and never keep the event from arriving', async () => {
  const long = (path: string, length: number) => `https://wiki.example/${path}?${'a'.repeat(length)}`;
  const both = await post([{ ...alarm, incidentUrl: long('i', 1950), runbookUrl: long('r', 1950) }]);
  expect(both.outcome.kind).toBe('sent');
  const links = textsOf(both.payload.blocks).filter(text => text.includes('wiki.example'));
  expect(links.map(text => /\|(\w+)>/.exec(text)?.[1])).toEqual(['Incident', 'Runbook']);
  const grown = await post([{ ...alarm, runbookUrl: `https://wiki.example/?${'a&'.repeat(900)}` }]);
  expect(grown.outcome.kind).toBe('sent');
  expect(JSON.stringify(grown.payload)).not.toContain('wiki.example');
});

test('an event without a text names at least its notification', async () => {
  const { outcome, payload } = await post([{ ...alarm, _raw: ' \n' }]);
  expect(outcome.kind).toBe('sent');
  expect(payload.text).toBe('app_silent: ALARM');
});

test('events that waited go in one message, up to twenty shown and the rest counted', async () => {
  const events = Array.from(
    { length: 30 },
    (_, index): HeadgateEvent => ({
      ...alarm,
      cribl_notification: index < 25 ? 'many' : 'few',
      _raw: `text ${index}`,
      ...(index === 3 && { status: 'OK' as const }),
    }),
  );
  const { outcome, payload } = await post(events);
  expect(outcome.kind).toBe('sent');
  const texts = textsOf(payload.blocks);
  expect(texts).toHaveLength(22);
  expect(texts[0]).toBe('*30 messages: 29 ALARM, 1 OK*');
  expect(texts[4]).toMatch(/^🟢 text 3\nmany · warn · <https:.*\|Incident>$/);
  expect(texts[21]).toBe('and 10 more: many 5, few 5');
  expect((await post(events.slice(0, 2))).payload.blocks).toHaveLength(3);
});

test('no event and no batch of events makes a message that Slack refuses', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 25 }), events => {
      expect(slackFault(JSON.stringify(slackMessage(events)))).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

test.each(['{"ok":true}', ' {"success": true}\n', '{"success":true,"error":null}'])(
  'a server that takes what Slack takes may answer %s',
  async body => {
    const { outcome } = await post([alarm], { status: 200, body });
    expect(outcome).toMatchObject({ kind: 'sent', httpStatus: 200 });
  },
);

test.each(['{"ok":false}', '{"success":false}', '{"ok":true,"error":"x"}', '{}', 'true', '<html>hi</html>'])(
  'an answer of %s is no success',
  async body => {
    const { outcome } = await post([alarm], { status: 200, body });
    expect(outcome).toMatchObject({ kind: 'retry' });
  },
);

test.each([
  [400, 'invalid_payload', { kind: 'refused', isAboutMessage: true }],
  [400, 'invalid_blocks', { kind: 'refused', isAboutMessage: true }],
  [400, 'no_text', { kind: 'refused', isAboutMessage: true }],
  [400, 'too_many_attachments', { kind: 'refused', isAboutMessage: true }],
  [400, 'user_not_found', { kind: 'refused' }],
  [403, 'action_prohibited', { kind: 'refused' }],
  [403, 'invalid_token', { kind: 'refused' }],
  [404, 'channel_not_found', { kind: 'refused' }],
  [404, 'no_service', { kind: 'refused' }],
  [404, 'no_active_hooks', { kind: 'refused' }],
  [404, 'no_team', { kind: 'refused' }],
  [404, 'team_disabled', { kind: 'refused' }],
  [410, 'channel_is_archived', { kind: 'refused' }],
  [403, 'posting_to_general_channel_denied', { kind: 'refused' }],
  [200, 'no_service', { kind: 'refused' }],
  [200, '{"ok":false,"error":"invalid_blocks"}', { kind: 'refused', isAboutMessage: true }],
  [200, '<html>Sign in</html>', { kind: 'retry' }],
  [204, '', { kind: 'retry' }],
  [201, 'ok', { kind: 'retry' }],
  [302, '', { kind: 'refused' }],
  [500, 'rollup_error', { kind: 'retry' }],
  [503, '', { kind: 'retry' }],
])('%d with the body %j is %j', async (status, body, expected) => {
  const { outcome } = await post([alarm], { status, body });
  expect(outcome).toMatchObject({ ...expected, httpStatus: status });
  expect('isAboutMessage' in outcome).toBe('isAboutMessage' in expected);
});

test('a refusal gives the error word and the remedy', async () => {
  const { outcome } = await post([alarm], { status: 404, body: 'no_service' });
  expect(outcome).toMatchObject({
    reason: 'Slack answered 404 no_service; the webhook was removed or disabled; make a new one',
    answer: 'no_service',
  });
});

test('a limit pauses the whole target for as long as Slack says', async () => {
  const limited = {
    status: 429,
    headers: { 'retry-after': '30' },
    body: '{"ok":false,"error":"rate_limited","retry_after":30}',
  };
  const { outcome } = await post([alarm], limited);
  expect(outcome).toMatchObject({ kind: 'retry', pauseTarget: true, retryAfterMs: 30_000 });
});

test('a status that is listed is tried again whatever the word', async () => {
  const { outcome } = await post(
    [alarm],
    { status: 404, body: 'no_service' },
    { responseRetrySettings: [{ httpStatus: 404 }] },
  );
  expect(outcome).toMatchObject({ kind: 'retry', waits: { kind: 'growing' } });
});

test('the address is in no outcome, though Slack returns it', async () => {
  const { outcome } = await post([alarm], { status: 404, body: `nothing at ${KEY}` });
  expect(JSON.stringify(outcome)).not.toContain('key-of-the-webhook');
});

test('targets of one webhook share a rate limit, those of others have their own', () => {
  const keyOf = (id: string, slackUrl: string) =>
    slack.configure({ id, type: 'slack', slackUrl }).rateLimitKey;
  expect(keyOf('a', `https://HOOKS.example${KEY}`)).toBe(keyOf('b', `https://hooks.example:443${KEY}`));
  expect(keyOf('a', `https://hooks.example${KEY}`)).not.toBe(keyOf('b', `https://hooks.example${KEY}2`));
});
