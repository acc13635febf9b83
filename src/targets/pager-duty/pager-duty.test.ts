import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { alarm, anyEvent } from '../../../test/helpers/any-event.ts';
import type { ContractAnswer } from '../../../test/helpers/contract-server.ts';
import { pagerDutyFaults, pagerDutyServer } from '../../../test/helpers/pager-duty.ts';
import { sendOnce } from '../../../test/helpers/sending.ts';
import { withDeliveryHints } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { findTargetType } from '../index.ts';
import { pagerDutyEvent } from './pager-duty.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

const KEY = 'c0ffee00c0ffee00c0ffee00c0ffee00';

async function service(answer?: ContractAnswer) {
  const server = await pagerDutyServer(() => answer);
  cleanups.push(server.stop);
  const send = (event: HeadgateEvent, settings: Readonly<Record<string, unknown>> = {}) =>
    sendOnce({ type: 'pager_duty', routingKey: KEY, severity: 'error', url: server.url, ...settings }, [
      event,
    ]);
  const lastBody = () => JSON.parse(server.received.at(-1)?.body ?? 'null');
  return { ...server, send, lastBody };
}

test('an alarm triggers an alert with the known details, and its end resolves the same alert', async () => {
  const { send, lastBody, open } = await service();
  expect(await send(alarm, { group: 'edge', class: 'silence', component: 'syslog' })).toEqual({
    kind: 'sent',
    httpStatus: 202,
    answer: `{"status":"success","message":"Event processed","dedup_key":"${alarm.incidentId}"}`,
  });
  expect(lastBody()).toEqual({
    routing_key: KEY,
    event_action: 'trigger',
    dedup_key: alarm.incidentId,
    client: 'Headgate',
    client_url: alarm.incidentUrl,
    links: [
      { href: alarm.incidentUrl, text: 'Incident' },
      { href: alarm.runbookUrl, text: 'Runbook' },
      { href: alarm.silenceUrl, text: 'Silence' },
    ],
    payload: {
      summary: 'Source syslog:app had no data for 60s',
      source: 'syslog:app',
      severity: 'error',
      timestamp: '2024-02-01T00:28:20.000Z',
      group: 'edge',
      class: 'silence',
      component: 'syslog',
      custom_details: alarm,
    },
  });
  expect([...open.keys()]).toEqual([alarm.incidentId]);
  await send({ ...alarm, id: 'e2' });
  expect(open.size).toBe(1);
  await send({ ...alarm, id: 'e3', status: 'OK', severity: 'info' });
  expect(lastBody()).toEqual({ routing_key: KEY, event_action: 'resolve', dedup_key: alarm.incidentId });
  expect(open.size).toBe(0);
});

test('two incidents of one notification are two alerts', async () => {
  const { send, open } = await service();
  await send(alarm);
  await send({ ...alarm, incidentId: 'another' });
  expect(open.size).toBe(2);
});

test.each([
  ['info', 'info'],
  ['Warn', 'warning'],
  ['WARNING', 'warning'],
  ['error', 'error'],
  ['high', 'error'],
  ['fatal', 'critical'],
  ['critical', 'critical'],
  ['crit', 'critical'],
  ['none', 'error'],
  ['', 'error'],
  ['constructor', 'error'],
  [3, 'error'],
  [undefined, 'warning'],
])("an event's own __severity %j is %s to the service", async (own, expected) => {
  const { send, lastBody } = await service();
  const event = own === undefined ? alarm : withDeliveryHints(alarm, { ...alarm, __severity: own });
  expect((await send(event, { severity: 'warn' })).kind).toBe('sent');
  expect(lastBody().payload.severity).toBe(expected);
  expect(JSON.stringify(lastBody())).not.toContain('__severity');
});

test('a summary is one line within the limit', async () => {
  const { send, lastBody } = await service();
  await send({ ...alarm, _raw: `first\r\n  second ${'x'.repeat(2000)}` });
  expect(lastBody().payload.summary).toMatch(/^first second x{1010}…$/);
  await send({ ...alarm, _raw: '\n' });
  expect(lastBody().payload.summary).toBe('app_silent: ALARM');
});

test('over the limit the largest details are omitted and named, and the rest arrives', async () => {
  const { send, lastBody } = await service();
  const large = { rows: 'r'.repeat(400_000), lines: ['€'.repeat(100_000)], small: 'stays' };
  expect((await send({ ...alarm, ...large })).kind).toBe('sent');
  const { custom_details: details } = lastBody().payload;
  expect(details).toEqual({ ...alarm, lines: large.lines, small: 'stays', left_out: ['rows'] });
});

test('an event about nothing that has a name comes from Headgate', async () => {
  const { send, lastBody } = await service();
  const { input: _, cribl_host: __, ...nameless } = alarm;
  await send(nameless);
  expect(lastBody().payload.source).toBe('headgate');
});

test('no event makes a request that the service refuses', () => {
  const settings = { routingKey: KEY, severity: 'info' } as const;
  const large = fc.constantFrom({}, { big: '€'.repeat(200_000), other: { list: ['x'.repeat(300_000)] } });
  fc.assert(
    fc.property(anyEvent, large, (event, more) => {
      expect(pagerDutyFaults(pagerDutyEvent({ ...more, ...event }, settings))).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

test.each([
  [
    400,
    '{"status":"invalid event","errors":["payload.summary is missing"]}',
    { kind: 'refused', isAboutMessage: true },
  ],
  [404, '', { kind: 'refused' }],
  [413, '', { kind: 'refused', isAboutMessage: true }],
  [429, '', { kind: 'retry', pauseTarget: true }],
  [500, '', { kind: 'retry' }],
  [502, '', { kind: 'retry' }],
  [503, '', { kind: 'retry' }],
])('%d with %j is %j', async (status, body, expected) => {
  const { send } = await service({ status, body });
  expect(await send(alarm)).toMatchObject({ ...expected, httpStatus: status });
});

test('a key the service does not know fails the target, not the message, and is not shown', async () => {
  const { send } = await service();
  const outcome = await send(alarm, { routingKey: 'too-short-a-key' });
  expect(outcome).toMatchObject({
    kind: 'refused',
    reason: 'the receiver answered 400 Bad Request; check routingKey',
    answer: expect.stringContaining("Length of 'routing_key' is incorrect"),
  });
  expect(outcome).not.toHaveProperty('isAboutMessage');
  const echo = await service({ status: 400, body: `no such routing key ${KEY}` });
  expect(JSON.stringify(await echo.send(alarm))).not.toContain(KEY);
});

test('alerts go to the public address unless another is set', () => {
  const settings = findTargetType('pager_duty')?.configure({
    id: 'p',
    type: 'pager_duty',
    routingKey: KEY,
    severity: 'info',
  }).settings;
  expect(settings).toMatchObject({ url: 'https://events.pagerduty.com/v2/enqueue' });
});
