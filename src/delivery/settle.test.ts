import { expect, it } from 'vitest';
import { opening } from '../../test/helpers/transitions.ts';
import type { Outcome } from '../targets/outcome.ts';
import { settleAttempt } from './settle.ts';

function settleOutcome(outcome: Outcome, attemptsBefore = 0) {
  const [delivery] = opening().operation.deliveries;
  if (delivery === undefined) throw new Error('no delivery was made');
  return settleAttempt({
    workspace: 'default',
    delivery: { ...delivery, attempts: attemptsBefore },
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
