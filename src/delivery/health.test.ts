import { expect, it } from 'vitest';
import { settle } from '../../test/storage/rows.ts';
import type { Outcome } from '../targets/outcome.ts';
import { createHealthTracker, type FailingState } from './health.ts';

const SENT: Outcome = { kind: 'sent', httpStatus: 200 };
const RETRY: Outcome = { kind: 'retry', reason: 'status 503' };
const SLOW: Outcome = { kind: 'retry', reason: 'status 429', pauseTarget: true };
const REFUSED: Outcome = { kind: 'refused', reason: 'status 404' };
const DISLIKED: Outcome = { kind: 'refused', reason: 'status 400', isAboutMessage: true };
const BROKEN: Outcome = { kind: 'retry', reason: 'certificate', isTargetBroken: true };

function target(told?: FailingState) {
  let now = 1000;
  const health = createHealthTracker({ monotonic: () => now }, told);
  return {
    health,
    /** What it says, seconds after what came before. */
    note(outcome: Outcome, seconds = 0, isLast = false) {
      now += seconds * 1000;
      const given = outcome.kind === 'retry' ? (isLast ? 'exhausted' : 'waiting') : outcome.kind;
      return health.record(outcome, settle('d', { state: given }))?.state;
    },
  };
}

it.each([
  ['it refuses what any message would meet', [REFUSED]],
  ['nothing arrives until a person mends it', [BROKEN]],
  ['it refuses three messages in a row', [DISLIKED, DISLIKED, DISLIKED]],
])('fails when %s, and says so once', (_why, outcomes) => {
  const { health, note } = target();
  for (const outcome of outcomes.slice(1)) expect(note(outcome)).toBeUndefined();
  expect(health.isFailing).toBe(false);
  expect(note(outcomes[0] ?? SENT)).toBe('failing');
  expect(health.isFailing).toBe(true);
  expect(note(REFUSED)).toBeUndefined();
});

it('fails when attempts have failed for a minute, not by a few within it', () => {
  const { note } = target();
  for (let attempt = 0; attempt < 5; attempt++) expect(note(RETRY, 10)).toBeUndefined();
  expect(note(RETRY, 20)).toBe('failing');
  const long = target();
  expect(long.note(RETRY)).toBeUndefined();
  expect(long.note(RETRY, 300)).toBeUndefined();
  expect(long.note(RETRY, 300)).toBe('failing');
});

it('begins to count anew with each that arrives, and is well again with the first', () => {
  const { health, note } = target();
  for (const outcome of [DISLIKED, DISLIKED, SENT, DISLIKED, DISLIKED]) expect(note(outcome)).toBeUndefined();
  expect(note(DISLIKED)).toBe('failing');
  expect(note(SENT)).toBe('recovered');
  expect(health.isFailing).toBe(false);
  expect(note(SENT)).toBeUndefined();
});

it('does not fail because it asks to slow down, until a delivery is lost by that', () => {
  const { health, note } = target();
  for (let attempt = 0; attempt < 100; attempt++) expect(note(SLOW, 60)).toBeUndefined();
  expect(health.isFailing).toBe(false);
  expect(note(SLOW, 60, true)).toBe('exhausted');
  expect(health.isFailing).toBe(true);
});

it('says of the first loss, also of one that comes while it fails, and of no other until it was well', () => {
  const { note } = target();
  expect(note(REFUSED)).toBe('failing');
  expect(note(RETRY, 0, true)).toBe('exhausted');
  expect(note(RETRY, 0, true)).toBeUndefined();
  expect(note(SENT)).toBe('recovered');
  expect(note(RETRY, 0, true)).toBe('exhausted');
});

it('goes on failing after a restart without saying so, and says that it is well', () => {
  const { health, note } = target('failing');
  expect(health.isFailing).toBe(true);
  expect(note(REFUSED)).toBeUndefined();
  expect(note(SENT)).toBe('recovered');
  expect(note(REFUSED)).toBe('failing');
});

it('reports the first loss after a restart only if none was notified before', () => {
  const untold = target('failing');
  expect(untold.note(RETRY, 0, true)).toBe('exhausted');
  expect(untold.note(RETRY, 0, true)).toBeUndefined();
  const told = target('exhausted');
  expect(told.note(RETRY, 0, true)).toBeUndefined();
  expect(told.note(SENT)).toBe('recovered');
  expect(told.note(RETRY, 0, true)).toBe('exhausted');
});
