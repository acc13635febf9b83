import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SpendingLimit } from './spending-limit.ts';

test('what costs more than there is may begin, and the next one waits until that has come back', () => {
  let now = 0;
  const limit = new SpendingLimit({ perSecond: 10, most: 20, clock: { monotonic: () => now } });
  expect(limit.waitMs()).toBe(0);
  limit.spend(120);
  expect(limit.waitMs()).toBe(10_000);
  now += 9999;
  expect(limit.waitMs()).toBeGreaterThan(0);
  now += 2;
  expect(limit.waitMs()).toBe(0);
});

test('whatever is asked for and whenever, no more is spent than came back, beside the last and what was saved', () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(5000), cost: fc.integer({ min: 1, max: 100 }) }));
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 100 }),
      (all, perSecond, most) => {
        let now = 0;
        let spent = 0;
        const limit = new SpendingLimit({ perSecond, most, clock: { monotonic: () => now } });
        for (const { afterMs, cost } of all) {
          now += afterMs;
          if (limit.waitMs() > 0) continue;
          expect(spent).toBeLessThanOrEqual(most + (now * perSecond) / 1000 + 1e-6);
          limit.spend(cost);
          spent += cost;
        }
      },
    ),
  );
});
