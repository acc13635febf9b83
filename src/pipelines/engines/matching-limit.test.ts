import { expect, it } from 'vitest';
import { silentLogger } from '../../lib/logger.ts';
import { createMatchingLimit } from './matching-limit.ts';
import { defineProfile, gauge, ruleLookup } from './profile.ts';

it('lets names that are new wait once rules of users have taken their time, and forgets none that it knows', () => {
  let now = 0;
  const log: unknown[] = [];
  let reached = 0;
  const clock = { monotonic: () => now };
  const matching = createMatchingLimit({
    msPerSecond: 10,
    onReached: () => void reached++,
    clock,
    logger: { ...silentLogger, warn: fields => void log.push(fields) },
  });
  const slow = {
    source: '',
    test: () => {
      now += 30;
      return true;
    },
  };
  const profile = {
    engine: 'any',
    rules: [{ match: slow, kind: 'input', id: 'id', meaning: gauge('up', 'max') }],
  } as const;
  const rulesOf = ruleLookup({ ...profile, isOfUser: true }, matching);
  const names = Array.from({ length: 10 }, (_, at) => `name_${at}`);
  const found = () => names.filter(name => rulesOf(name).length > 0).length;
  const first = found();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(names.length);
  expect(reached).toBe(names.length - first);
  expect(log).toEqual([{ reason: expect.stringContaining('hosted.quotas.evaluationMsPerSecond') }]);
  expect(found()).toBe(first);
  now += 60_000;
  expect(found()).toBeGreaterThan(first);
  const own = ruleLookup(defineProfile(profile), matching);
  expect(names.filter(name => own(name).length > 0)).toHaveLength(names.length);
});
