import { expect, it } from 'vitest';
import { opening } from '../../test/helpers/transitions.ts';
import type { Outcome } from '../targets/outcome.ts';
import { settleAttempt } from './settle.ts';

function settleOutcome(outcome: Outcome, attemptsBefore = 0, { unknown = 0, showsRepeats = false } = {}) {
  const [delivery] = opening().operation.deliveries;
  if (delivery === undefined) throw new Error('no delivery was made');
  return settleAttempt({
    workspace: 'default',
    delivery: { ...delivery, attempts: attemptsBefore, unknown_attempts: unknown },
    showsRepeats,
    outcome,
    startedAt: 10_000,
    durationMs: 250,
    retrySchedule: [0, 5000, 30_000],
    random: () => 0.5,
  });
}

it('records a first success in the delivery alone', () => {
  expect(settleOutcome({ kind: 'sent', httpStatus: 204 })).toMatchObject({
    state: 'sent',
    attempts: 1,
    lastStatus: 204,
    lastError: null,
    settledAt: 10_250,
    attempt: null,
  });
});

it('writes a row for a success that came after failures', () => {
  expect(settleOutcome({ kind: 'sent', httpStatus: 200 }, 1).attempt).toMatchObject({
    number: 2,
    outcome: 'sent',
  });
});

it('keeps what a receiver did not take of what it took', () => {
  const except = 'refused for gone@example.com (550 no such user)';
  expect(settleOutcome({ kind: 'sent', except })).toMatchObject({
    state: 'sent',
    lastError: except,
    attempt: { number: 1, outcome: 'sent', reason: except },
  });
});

it('tries again by the schedule, counted from the end of the attempt', () => {
  expect(settleOutcome({ kind: 'retry', reason: 'status 503', httpStatus: 503 })).toMatchObject({
    state: 'waiting',
    nextAt: 15_250,
    settledAt: null,
    attempt: { number: 1, outcome: 'retry', http_status: 503, reason: 'status 503' },
  });
});

it('obeys a receiver that asks for more time', () => {
  expect(settleOutcome({ kind: 'retry', reason: 'status 429', retryAfterMs: 60_000 }).nextAt).toBe(70_250);
});

it('keeps the last error of a delivery whose schedule is exhausted', () => {
  expect(settleOutcome({ kind: 'retry', reason: 'status 500', httpStatus: 500 }, 2)).toMatchObject({
    state: 'exhausted',
    attempts: 3,
    nextAt: null,
    lastError: 'status 500',
    settledAt: 10_250,
  });
});

it('does not try again what was refused', () => {
  expect(
    settleOutcome({ kind: 'refused', reason: 'status 404', httpStatus: 404, answer: 'gone' }),
  ).toMatchObject({
    state: 'refused',
    nextAt: null,
    attempt: { outcome: 'refused', answer: 'gone' },
  });
});

const UNKNOWN: Outcome = { kind: 'unknown', reason: 'no answer within 30s' };

it('tries again by the schedule what may have arrived, and says so', () => {
  expect(settleOutcome(UNKNOWN)).toMatchObject({
    state: 'waiting',
    unknownAttempts: 1,
    nextAt: 15_250,
    lastError: 'no answer within 30s; it may not have reached the receiver',
    attempt: { outcome: 'unknown', reason: 'no answer within 30s' },
  });
});

it.each<[string, Outcome, string]>([
  ['is not answered again', UNKNOWN, 'no answer within 30s; it may not have reached the receiver'],
  [
    'is given up',
    { kind: 'retry', reason: 'status 503' },
    'status 503; an earlier attempt may have reached the receiver',
  ],
  [
    'is refused',
    { kind: 'refused', reason: 'status 404' },
    'status 404; an earlier attempt may have reached the receiver',
  ],
])('never says of what may have arrived once that it has not, when it %s', (_what, outcome, lastError) => {
  expect(settleOutcome(outcome, 2, { unknown: 1 })).toMatchObject({
    state: 'unknown',
    lastError,
    settledAt: 10_250,
  });
});

it('says of what was answered in the end that it has arrived', () => {
  expect(settleOutcome({ kind: 'sent' }, 2, { unknown: 2 })).toMatchObject({
    state: 'sent',
    lastError: null,
  });
});

it('sends what may have arrived three times at most to whoever would read each of them', () => {
  const states = [0, 1, 2].map(unknown => settleOutcome(UNKNOWN, 0, { unknown, showsRepeats: true }).state);
  expect(states).toEqual(['waiting', 'waiting', 'unknown']);
  const tried = settleOutcome({ kind: 'retry', reason: 'status 503' }, 0, { unknown: 2, showsRepeats: true });
  expect(tried.state).toBe('waiting');
  expect(settleOutcome(UNKNOWN, 0, { unknown: 9 }).state).toBe('waiting');
});
