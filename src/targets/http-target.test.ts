import { expect, test } from 'vitest';
import type { HttpAnswer } from '../lib/http/client.ts';
import { HttpFailure, type HttpFailureReason } from '../lib/http/failure.ts';
import { MASK } from '../lib/secret.ts';
import { classifyAnswer, classifyFailure, type RetrySettings } from './http-target.ts';
import type { Outcome } from './outcome.ts';

const NOW = Date.UTC(2026, 0, 1);
const URL = 'https://hooks.example/services/T000/B000/key?x=1';
const STANDARD: RetrySettings = {
  responseRetrySettings: [],
  timeoutRetrySettings: undefined,
  responseHonorRetryAfterHeader: true,
};
const BACKOFF = { initialBackoff: 500, backoffRate: 3, maxBackoff: 20_000 };
const GROWING = { kind: 'growing', firstMs: 500, rate: 3, mostMs: 20_000 };

function outcome(
  status: number,
  {
    headers = {},
    body = '',
    secrets = [],
    retries = {},
    url = URL,
  }: {
    url?: string;
    headers?: HttpAnswer['headers'];
    body?: string;
    secrets?: string[];
    retries?: Partial<RetrySettings>;
  } = {},
): Outcome {
  const answer = { status, headers, body: Buffer.from(body), truncated: false };
  return classifyAnswer(answer, { url, retries: { ...STANDARD, ...retries }, secrets, now: NOW });
}

/** Written separately from the code, status by status. */
function expectedKind(status: number): Outcome['kind'] {
  if (status >= 200 && status < 300) return 'sent';
  if (status === 408 || status === 425 || status === 429) return 'retry';
  if (status === 501 || status === 505) return 'refused';
  if (status >= 500 && status < 600) return 'retry';
  return 'refused';
}

test('every status has its class, and of those without Retry-After only 429 pauses the target', () => {
  for (let status = 100; status < 1000; status++) {
    const classed = outcome(status);
    expect(classed).toMatchObject({ kind: expectedKind(status), httpStatus: status });
    if (classed.kind === 'retry') expect(classed.pauseTarget === true, `${status}`).toBe(status === 429);
    if (classed.kind !== 'sent') expect(classed.reason).toContain(String(status));
  }
});

test.each([
  ['https://login.example:8443/session?token=abc', 'Location host login.example:8443'],
  ['/services/T000/B000/key/', 'Location host hooks.example'],
  ['http://', 'Location unreadable'],
  ['file:///etc/passwd', 'Location without a host'],
  [undefined, 'Location missing'],
])('a redirect to %s is refused and reports where it led', (location, text) => {
  const refused = outcome(302, { headers: location === undefined ? {} : { location } });
  expect(refused).toEqual({
    kind: 'refused',
    httpStatus: 302,
    reason: `the receiver answered 302 Found: redirect not followed, ${text}`,
  });
});

test.each([
  ['0', 0],
  ['30', 30_000],
  ['86400', 86_400_000],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['Thursday, 01-Jan-26 00:01:00 GMT', 60_000],
  ['Thu Jan  1 00:01:00 2026', 60_000],
  ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ['-5', undefined],
  ['1.5', undefined],
  ['soon', undefined],
  ['2026-01-01', undefined],
  ['Thu, 99 Jan 2026 00:01:00 GMT', undefined],
  ['99999999999', undefined],
])('Retry-After %s waits %s ms', (value, expected) => {
  for (const status of [429, 503]) {
    const retry = outcome(status, { headers: { 'retry-after': value } });
    expect(retry.kind === 'retry' && retry.retryAfterMs).toBe(expected);
    expect(retry.kind === 'retry' && retry.pauseTarget === true).toBe(
      status === 429 || expected !== undefined,
    );
  }
});

test.each<[HttpFailureReason, Outcome['kind']]>([
  ['dns', 'retry'],
  ['refused', 'retry'],
  ['reset', 'retry'],
  ['timeout', 'retry'],
  ['other', 'retry'],
  ['aborted', 'retry'],
  ['forbidden-address', 'refused'],
])('a failure of the kind %s is %s, with its reason', (reason, kind) => {
  expect(classifyFailure(new HttpFailure(reason, 'https://x: why'), STANDARD)).toEqual({
    kind,
    reason: 'https://x: why',
  });
});

test('a certificate that nobody vouches for is tried three times, and marks the target as broken', () => {
  const outcome = classifyFailure(new HttpFailure('tls', 'https://x: why'), STANDARD);
  expect(outcome).toMatchObject({ kind: 'retry', isTargetBroken: true });
  expect(outcome.kind === 'retry' && outcome.waits?.kind === 'listed' && outcome.waits.delays).toHaveLength(
    3,
  );
});

test('a time-out has waits of its own where the settings give them', () => {
  const own = (timeoutRetry: boolean) => ({
    ...STANDARD,
    timeoutRetrySettings: { timeoutRetry, ...BACKOFF },
  });
  const waitsOf = (reason: HttpFailureReason, timeoutRetry: boolean) => {
    const outcome = classifyFailure(new HttpFailure(reason, 'why'), own(timeoutRetry));
    return outcome.kind === 'retry' ? outcome.waits : 'none';
  };
  expect(waitsOf('timeout', true)).toEqual(GROWING);
  expect(waitsOf('timeout', false)).toBeUndefined();
  expect(waitsOf('reset', true)).toBeUndefined();
});

test.each([404, 301, 503])('a status that is listed, %i, is tried again by its own waits', status => {
  const retries = { responseRetrySettings: [{ httpStatus: status, ...BACKOFF }] };
  expect(outcome(status, { retries })).toMatchObject({ kind: 'retry', waits: GROWING });
  expect(outcome(409, { retries })).toMatchObject({ kind: 'refused' });
  expect(outcome(502, { retries })).not.toHaveProperty('waits');
});

test('a success stays a success although it is listed', () => {
  const retries = { responseRetrySettings: [{ httpStatus: 204, ...BACKOFF }] };
  expect(outcome(204, { retries })).toEqual({ kind: 'sent', httpStatus: 204 });
});

test('a Retry-After that is not honoured lengthens no wait, and a 429 still slows the target down', () => {
  const retries = { responseHonorRetryAfterHeader: false };
  const limited = outcome(429, { headers: { 'retry-after': '90' }, retries });
  expect(limited).toMatchObject({ kind: 'retry', pauseTarget: true });
  expect(limited).not.toHaveProperty('retryAfterMs');
});

test('only a refusal of one message says nothing about the target', () => {
  const about = [...Array(600).keys()].filter(status => {
    const classed = outcome(status);
    return classed.kind === 'refused' && classed.isAboutMessage === true;
  });
  expect(about).toEqual([400, 413, 415, 422, 431]);
});

test('an error that is no failure of the exchange is not treated as one', () => {
  expect(() => classifyFailure(new TypeError('bug'), STANDARD)).toThrow('bug');
});

test('the answer is kept to 2 KB of whole characters, without control characters', () => {
  expect(outcome(500, { body: `a\u001b[31m\u0000b\n${'€'.repeat(2000)}` })).toMatchObject({
    answer: `a [31m b\n${'€'.repeat(679)}`,
  });
  expect(outcome(500, { body: '' })).not.toHaveProperty('answer');
});

test('secrets and the path of the address are masked however the receiver echoes them', () => {
  const secret = 'p"ss w&rd';
  const body = [
    secret,
    JSON.stringify({ echo: secret }),
    `?key=${encodeURIComponent(secret)}`,
    'Cannot POST /services/T000/B000/key?x=1',
    `${'x'.repeat(1990)}${secret}${secret}${secret}${secret}${secret}`,
  ].join('\n');
  const refused = outcome(400, { body, secrets: [secret, ''] });
  const answer = refused.kind === 'refused' ? (refused.answer ?? '') : '';
  expect(answer).toContain(`${MASK}\n{"echo":"${MASK}"}\n?key=${MASK}\nCannot POST ${MASK}\nxxx`);
  for (const part of ['p"ss', 'p\\"ss', 'rd', 'B000', '%22']) expect(answer).not.toContain(part);
});

test('the part of an address that may be the key is masked where it stands alone, a word of it is not', () => {
  const url = 'https://hooks.example/webhooks/0123456789abcdef0123?key=by-the-query&format=json';
  const body = 'webhooks: no 0123456789abcdef0123, key by-the-query, json';
  expect(outcome(404, { url, body })).toMatchObject({ answer: `webhooks: no ${MASK}, key ${MASK}, json` });
});
