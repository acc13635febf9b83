import { expect, test } from 'vitest';
import { noDial } from '../../test/helpers/no-http.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { systemClock } from '../lib/clock.ts';
import { HttpFailure } from '../lib/http/failure.ts';
import { silentLogger } from '../lib/logger.ts';
import { webhook } from '../targets/webhook/webhook.ts';
import { attempt } from './attempt.ts';

const event = (text: string): HeadgateEvent => ({
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'n',
  incidentId: 'i1',
  severity: 'warn',
  _raw: text,
  _time: 0,
  starttime: 0,
  endtime: 0,
  cribl_host: 'h',
});

/** What the log has of an attempt that a receiver answered with a status, or not at all. */
async function logged(
  settings: object,
  { status, text = 'it is silent' }: { status?: number; text?: string },
) {
  const lines: object[] = [];
  const target = webhook.configure({
    id: 'hook',
    type: 'webhook',
    url: 'https://hook.example/',
    ...settings,
  });
  const body = Buffer.from('');
  await attempt({ id: 'd1', events: [event(text)] }, target, {
    http: {
      request: async () => {
        if (status === undefined) throw new HttpFailure('reset', 'https://hook.example: closed');
        return { status, headers: {}, body, truncated: false };
      },
      close: async () => {},
    },
    dial: noDial,
    secretOf: () => undefined,
    clock: systemClock,
    expressionWarnings: { warn: () => {} },
    logger: { ...silentLogger, warn: (facts, message) => void lines.push({ message, ...facts }) },
    logFolder: '/nowhere',
    signal: new AbortController().signal,
  });
  return lines;
}

const ASKED = { format: 'custom', srcExpression: '_raw', failedRequestLoggingMode: 'payload' };
const LINE = { message: 'a request failed', target: 'hook', deliveryId: 'd1' };

test.each([
  [{ status: 500 }, 'the receiver answered 500 Internal Server Error'],
  [{ status: 400 }, 'the receiver answered 400 Bad Request'],
  [{}, 'https://hook.example: closed'],
])('the body of a request that failed by %j is logged where that is asked for', async (answer, reason) => {
  expect(await logged(ASKED, answer)).toEqual([{ ...LINE, reason, payload: 'it is silent' }]);
});

test('nothing is logged of a request that arrived, or where nothing is asked for', async () => {
  expect(await logged(ASKED, { status: 200 })).toEqual([]);
  expect(await logged({}, { status: 500 })).toEqual([]);
});

test('a body that was sent compressed is logged readably, without secrets and not over 2 KB', async () => {
  const settings = { ...ASKED, compress: true, authType: 'token', token: 'tok-s3cret' };
  const [line] = await logged(settings, { status: 500, text: `tok-s3cret ${'é'.repeat(5000)}` });
  expect(line).toMatchObject({ payload: expect.stringMatching(/^\*{8} é{1000,1024}$/) });
});

test('of headers the values are masked, but those that are said to be safe', async () => {
  const settings = {
    ...ASKED,
    failedRequestLoggingMode: 'payloadAndHeaders',
    safeHeaders: ['X-Team', 'Content-Type', 'Authorization', 'webhook-signature'],
    authType: 'basic',
    username: 'ada',
    password: 'pass-w0rd',
    signingSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    extraHttpHeaders: [
      { name: 'X-Team', value: 'platform' },
      { name: 'X-Key', value: 'k3y-value' },
    ],
  };
  const [line] = await logged(settings, { status: 500 });
  expect(line).toMatchObject({ headers: expect.stringContaining('\nx-team: platform\nx-key: ********\n') });
  expect(line).toMatchObject({ headers: expect.stringContaining('content-type: application/x-ndjson\n') });
  expect(line).toMatchObject({ headers: expect.stringContaining('\nauthorization: ********\n') });
  expect(line).toMatchObject({ headers: expect.stringMatching(/\nwebhook-signature: \*{8}$/) });
});

test('headers are logged up to 2 KB', async () => {
  const extraHttpHeaders = Array.from({ length: 3 }, (_, index) => ({
    name: `x-${index}`,
    value: 'v'.repeat(1000),
  }));
  const settings = { ...ASKED, failedRequestLoggingMode: 'payloadAndHeaders', extraHttpHeaders };
  const [line] = await logged({ ...settings, safeHeaders: ['x-0', 'x-1', 'x-2'] }, { status: 500 });
  expect(line).toMatchObject({ headers: expect.stringMatching(/^.{2048}$/s) });
});
