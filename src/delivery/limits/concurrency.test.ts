import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createConcurrencyLimit } from './concurrency.ts';

/** A worker that takes what it gets as long as it wants more. */
function worker(join: ReturnType<typeof createConcurrencyLimit>['join']) {
  let acquired = 0;
  let wanted = 0;
  let served = 0;
  function work(): void {
    while (wanted > 0 && permits.tryAcquire()) {
      wanted -= 1;
      acquired += 1;
      served += 1;
    }
  }
  const permits = join(work);
  return {
    want(count: number) {
      wanted += count;
      work();
    },
    end() {
      if (acquired === 0) return;
      acquired -= 1;
      permits.release();
      work();
    },
    stop() {
      wanted = 0;
    },
    acquired: () => acquired,
    wanted: () => wanted,
    served: () => served,
  };
}

const step = fc.record({
  worker: fc.nat(4),
  what: fc.constantFrom('want', 'end', 'end', 'stop', 'most'),
  count: fc.integer({ min: 1, max: 6 }),
});

it('never lends more than its bound beside one for each, keeps that one for it, and lends again what comes back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), steps => {
      let max = 3;
      const limit = createConcurrencyLimit(() => max);
      const workers = Array.from({ length: 5 }, () => worker(wake => limit.join(wake)));
      let highest = max;
      for (const one of steps) {
        const chosen = workers[one.worker];
        if (one.what === 'most') max = one.count;
        else if (one.what === 'want') chosen?.want(one.count);
        else if (one.what === 'stop') chosen?.stop();
        else chosen?.end();
        // What is under way goes on when the bound is lowered.
        highest = Math.max(max, one.what === 'most' ? highest : 0, shared(workers));
        expect(shared(workers)).toBeLessThanOrEqual(highest);
        for (const { acquired, wanted } of workers) if (wanted() > 0) expect(acquired()).toBeGreaterThan(0);
      }
      for (const { stop } of workers) stop();
      for (let round = 0; round < 1000; round++) for (const { end } of workers) end();
      expect(workers.map(({ acquired }) => acquired())).toEqual([0, 0, 0, 0, 0]);
      for (const { want } of workers) want(100);
      expect(shared(workers)).toBe(max);
    }),
  );
});

/** At the least one of what a worker holds is its own. */
const shared = (workers: readonly { acquired: () => number }[]): number =>
  workers.reduce((sum, { acquired }) => sum + Math.max(0, acquired() - 1), 0);

it('serves those that wait in turn, however much one of them wants', () => {
  const limit = createConcurrencyLimit(() => 1);
  const [greedy, ...others] = Array.from({ length: 4 }, () => worker(wake => limit.join(wake)));
  greedy?.want(1000);
  for (const other of others) other.want(10);
  // Each has its own; the one that is shared goes round.
  for (let round = 0; round < 9; round++) for (const one of [greedy, ...others]) one?.end();
  for (const other of others) expect(other.served()).toBeGreaterThanOrEqual(9);
  expect(greedy?.served()).toBeLessThan(30);
});

it('gives a worker its own permit though all that are shared hang', () => {
  const limit = createConcurrencyLimit(() => 2);
  const hanging = worker(wake => limit.join(wake));
  hanging.want(10);
  expect(hanging.acquired()).toBe(3);
  const well = worker(wake => limit.join(wake));
  for (let sent = 1; sent <= 5; sent++) {
    well.want(1);
    expect(well.served()).toBe(sent);
    well.end();
  }
});
