import { expect, test } from 'vitest';
import { compileExpression } from '../../expressions/expression.ts';
import type { HttpAnswer } from '../../lib/http/client.ts';
import type { HttpExchange } from '../http-target.ts';
import type { Outcome } from '../outcome.ts';
import { answerJudge } from './answer.ts';

const exchange: HttpExchange = {
  url: 'https://chat.example/robot/send?access_token=0123456789abcdef',
  retries: {
    responseRetrySettings: [],
    timeoutRetrySettings: undefined,
    responseHonorRetryAfterHeader: true,
  },
  secrets: [],
  now: 0,
};

function judged(
  successExpression: string,
  answer: Partial<Omit<HttpAnswer, 'body'>> & { readonly body?: string | Buffer },
  hasSeveralEvents = false,
): { outcome: Outcome; warnings: string[] } {
  const compiled = compileExpression(successExpression);
  if (!compiled.ok) throw new Error(compiled.problem);
  const warnings: string[] = [];
  const judge = answerJudge({
    successExpression: compiled.expression,
    hasSeveralEvents,
    warn: reason => void warnings.push(reason),
  });
  const whole = { status: 200, headers: {}, truncated: false, ...answer };
  return { outcome: judge({ ...whole, body: Buffer.from(answer.body ?? '') }, exchange), warnings };
}

const ERRCODE = "json.errcode === 0 || (json.errcode === 130101 ? 'later' : false)";

test('an answer of 200 is judged by what its body says, and the reason quotes that', () => {
  expect(judged(ERRCODE, { body: '{"errcode":0,"errmsg":"ok"}' })).toEqual({
    outcome: { kind: 'sent', httpStatus: 200, answer: '{"errcode":0,"errmsg":"ok"}' },
    warnings: [],
  });
  const refused = '{"errcode":310000,"errmsg":"keywords not in content"}';
  expect(judged(ERRCODE, { body: refused })).toEqual({
    outcome: {
      kind: 'refused',
      reason: `the receiver answered 200 OK and refuses it: ${refused}`,
      httpStatus: 200,
      answer: refused,
    },
    warnings: [],
  });
  const later = '{"errcode":130101,"errmsg":"send too fast"}';
  expect(judged(ERRCODE, { body: later, headers: { 'retry-after': '7' } }).outcome).toEqual({
    kind: 'retry',
    reason: `the receiver answered 200 OK and wants it later: ${later}`,
    httpStatus: 200,
    answer: later,
    retryAfterMs: 7000,
    pauseTarget: true,
  });
});

test('of several events that are refused together, each is tried alone', () => {
  expect(judged('false', {}, true).outcome).toMatchObject({ kind: 'refused', isAboutMessage: true });
  expect(judged('false', {}).outcome).not.toHaveProperty('isAboutMessage');
});

test('every status is asked about, and an expression may leave it to the status', () => {
  const known = "status === 409 ? true : status === 200 ? body === '1' : byStatus";
  expect(judged(known, { status: 409 }).outcome).toEqual({ kind: 'sent', httpStatus: 409 });
  expect(judged(known, { body: '1' }).outcome.kind).toBe('sent');
  expect(judged(known, { body: 'failed' }).outcome.kind).toBe('refused');
  expect(judged(known, { status: 503 }).outcome).toMatchObject({ kind: 'retry', httpStatus: 503 });
  expect(judged(known, { status: 401 }).outcome).toMatchObject({
    kind: 'refused',
    reason: 'the receiver answered 401 Unauthorized; check the authentication settings',
  });
  expect(judged(known, { status: 429, headers: { 'retry-after': '3' } }).outcome).toMatchObject({
    kind: 'retry',
    retryAfterMs: 3000,
    pauseTarget: true,
  });
  expect(judged("headers['x-result'] === 'taken'", { headers: { 'x-result': 'taken' } }).outcome.kind).toBe(
    'sent',
  );
});

test.each([
  ['json.errcode', 'it gives nothing, and not'],
  ['status', 'it gives a number, and not'],
  ["'yes'", 'it gives a string, and not'],
  ['[true]', 'it gives a list, and not'],
  ["''.padEnd(1 / 0)", 'successExpression: '],
])('%s gives no verdict: the status decides, with a warning', (text, warning) => {
  for (const [status, kind] of [
    [200, 'sent'],
    [404, 'refused'],
    [500, 'retry'],
  ] as const) {
    const { outcome, warnings } = judged(text, { status });
    expect(outcome.kind).toBe(kind);
    expect(warnings).toEqual([expect.stringContaining(warning)]);
    expect(warnings[0]).toContain('the status of the answer decides');
  }
});

const DEEP = 30_000;

test.each<[string, Partial<HttpAnswer>]>([
  ['nothing', {}],
  ['deep JSON', { body: Buffer.from('['.repeat(DEEP) + ']'.repeat(DEEP)) }],
  ['half of JSON', { body: Buffer.from('{"a":'), truncated: true }],
  ['JSON in another charset', { body: Buffer.from('{"fehler":"\xfcber"}', 'latin1') }],
  ['JSON with names of prototypes', { body: Buffer.from('{"__proto__":{"errcode":0},"errcode":1}') }],
  ['bytes', { body: Buffer.from(Array.from({ length: 65_536 }, (_, index) => index % 256)) }],
  ['a number', { body: Buffer.from('1e999') }],
])('an answer of %s never fails the judgement', (_, answer) => {
  for (const text of [ERRCODE, 'JSON.stringify(json) === body', "body.includes('x') || byStatus"]) {
    const { outcome } = judged(text, answer);
    expect(['sent', 'refused', 'retry']).toContain(outcome.kind);
    expect(Buffer.byteLength(outcome.answer ?? '')).toBeLessThanOrEqual(2048);
  }
});

test('a mark of byte order does not keep JSON from being read, and what echoes the address is masked', () => {
  expect(judged('json.ok', { body: '\ufeff{"ok":true}' }).outcome.kind).toBe('sent');
  const { outcome } = judged('json.ok', { body: '{"ok":false,"key":"0123456789abcdef"}' });
  expect(JSON.stringify(outcome)).not.toContain('0123456789abcdef');
});
