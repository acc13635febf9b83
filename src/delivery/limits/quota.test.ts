import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { silentLogger } from '../../lib/logger.ts';
import { createQuota, NO_QUOTA, type Quota, type TokenReservation } from './quota.ts';

const MINUTE = 60_000;

/** Time that is moved by hand, each timer at its own moment. */
function handClock() {
  let now = 1000;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    monotonic: () => now,
    after(ms: number, run: () => void) {
      const timer = { at: now + Math.max(0, ms), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms: number) {
      const end = now + ms;
      for (;;) {
        const [next] = [...timers].sort((a, b) => a.at - b.at);
        if (next === undefined || next.at > end) break;
        timers.delete(next);
        now = next.at;
        next.run();
      }
      now = end;
    },
    timers: () => timers.size,
  };
}

interface Begun {
  readonly at: number;
  readonly count: number;
  readonly worker: number;
  /** Which of its worker it is. */
  readonly number: number;
  readonly claim: TokenReservation;
}

function bench(perMinute: number) {
  const clock = handClock();
  const logged: string[] = [];
  let reached = 0;
  const quota = createQuota({
    ...{ perMinute, clock },
    logger: { ...silentLogger, warn: (_, message) => void logged.push(message) },
    onReached: () => void reached++,
  });
  const begun: Begun[] = [];
  return {
    quota,
    clock,
    begun,
    logged,
    reached: () => reached,
    worker: (id: number) => worker(quota, id, clock, begun),
  };
}

/** A worker that begins what it wants, each one by itself or several together, as soon as it may. */
function worker(quota: Quota, id: number, clock: { monotonic(): number }, begun: Begun[]) {
  const wanted: number[] = [];
  let number = 0;
  function work(): void {
    for (let count = wanted[0]; count !== undefined && share.tryAdmit(count); count = wanted[0]) {
      wanted.shift();
      begun.push({ at: clock.monotonic(), count, worker: id, number: number++, claim: share.reserve(count) });
    }
  }
  const share = quota.join(work);
  return {
    want(...counts: number[]) {
      wanted.push(...counts);
      work();
    },
    work,
    share,
    left: () => wanted.length,
  };
}

/** The most that began in any minute. */
function mostInAMinute(begun: readonly Begun[]): number {
  const most = begun.map(({ at: from }) =>
    begun.reduce((sum, { at, count }) => (at >= from && at < from + MINUTE ? sum + count : sum), 0),
  );
  return Math.max(0, ...most);
}

const advance = fc.record({ advance: fc.constantFrom(1, 700, 9000, 31_000, 60_000, 61_000) });

it('begins each one as early as a queue that counts the last minute whenever time passes', () => {
  const want = fc.record({ worker: fc.nat(2), want: fc.integer({ min: 1, max: 9 }) });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.oneof(want, advance), { maxLength: 40 }),
      (most, steps) => {
        const { clock, begun, worker } = bench(most);
        const workers = [0, 1, 2].map(worker);
        const naive: number[] = [];
        let waiting = 0;
        const beginNaively = (now: number): void => {
          for (; waiting > 0 && naive.filter(at => at > now - MINUTE).length < most; waiting--)
            naive.push(now);
        };
        for (const one of steps) {
          if ('want' in one) {
            workers[one.worker]?.want(...Array.from({ length: one.want }, () => 1));
            waiting += one.want;
          } else {
            const [from, to] = [clock.monotonic(), clock.monotonic() + one.advance];
            // Room comes a minute after each beginning, and at no other time.
            for (
              let next = from;
              next <= to;
              next = Math.min(...naive.map(at => at + MINUTE).filter(at => at > next))
            )
              beginNaively(next);
            clock.advance(one.advance);
          }
          beginNaively(clock.monotonic());
          expect(begun.map(({ at }) => at)).toEqual(naive);
        }
      },
    ),
  );
});

it('lets no minute hold more, whatever is sent together or refunded, begins all in the end, and keeps the order of each worker', () => {
  const want = fc.record({
    worker: fc.nat(2),
    want: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }),
  });
  const end = fc.record({ end: fc.nat(5), sent: fc.nat(4) });
  const grow = fc.record({ end: fc.nat(5), grow: fc.integer({ min: 1, max: 4 }) });
  fc.assert(
    fc.property(fc.array(fc.oneof(want, advance, end, grow), { maxLength: 60 }), steps => {
      const most = 4;
      const { clock, begun, worker } = bench(most);
      const workers = [0, 1, 2].map(worker);
      for (const one of steps) {
        if ('want' in one) workers[one.worker]?.want(...one.want);
        else if ('advance' in one) clock.advance(one.advance);
        else {
          const place = begun.length - 1 - one.end;
          const chosen = begun[place];
          if (chosen === undefined) continue;
          if ('sent' in one) {
            begun[place] = { ...chosen, count: Math.min(one.sent, chosen.count) };
            chosen.claim.complete(one.sent);
          } else {
            const wanted = Math.max(one.grow, chosen.count);
            // What is counted anew counts from now on.
            const grown = wanted > chosen.count;
            begun[place] = { ...chosen, count: 0 };
            if (!chosen.claim.tryResize(wanted)) continue;
            begun[place] = { ...chosen, count: wanted, at: grown ? clock.monotonic() : chosen.at };
          }
        }
        expect(mostInAMinute(begun)).toBeLessThanOrEqual(most);
      }
      for (let minutes = 0; workers.some(({ left }) => left() > 0); minutes++) {
        expect(minutes).toBeLessThan(1000);
        clock.advance(MINUTE);
      }
      expect(mostInAMinute(begun)).toBeLessThanOrEqual(most);
      for (const id of [0, 1, 2]) {
        const numbers = begun.filter(one => one.worker === id).map(one => one.number);
        expect(numbers).toEqual(numbers.map((_, at) => at));
      }
      expect(clock.timers()).toBe(0);
    }),
  );
});

it('serves workers that wait round-robin, however much one of them wants', () => {
  const { clock, begun, worker } = bench(6);
  const [greedy, ...others] = [worker(0), worker(1), worker(2)];
  greedy?.want(...Array.from({ length: 100 }, () => 1));
  for (const other of others) other.want(1, 1);
  clock.advance(MINUTE);
  expect(begun.slice(6).map(one => one.worker)).toEqual([0, 1, 2, 0, 1, 2]);
  clock.advance(MINUTE);
  expect(begun.slice(12).map(one => one.worker)).toEqual([0, 0, 0, 0, 0, 0]);
});

it('lets no worker overtake a batch that needs more tokens than there are', () => {
  const { clock, begun, worker } = bench(5);
  const [one, large, other] = [worker(0), worker(1), worker(2)];
  one.want(1, 1, 1);
  clock.advance(10_000);
  large.want(5);
  other.want(1);
  expect([large.share.isWaiting, other.share.isWaiting]).toEqual([true, true]);
  clock.advance(MINUTE);
  expect(begun.slice(3).map(({ at, worker: id, count }) => [at, id, count])).toEqual([[61_000, 1, 5]]);
  clock.advance(MINUTE);
  expect(begun[4]).toMatchObject({ at: 121_000, worker: 2 });
});

it('lets a batch that was bound before the quota was lowered go by itself, in a minute of its own', () => {
  const { clock, begun, worker } = bench(2);
  const only = worker(0);
  only.want(1, 7, 1);
  clock.advance(3 * MINUTE);
  expect(begun.map(({ at, count }) => [at, count])).toEqual([
    [1000, 1],
    [61_000, 7],
    [121_000, 1],
  ]);
});

it('gives the tokens of what was not sent to the worker that waits, at once', () => {
  const { begun, worker } = bench(3);
  worker(0).want(3);
  worker(1).want(1, 1);
  expect(begun).toHaveLength(1);
  begun[0]?.claim.complete(1);
  expect(begun.map(one => one.worker)).toEqual([0, 1, 1]);
});

it('counts more of a request from when it turns out to hold more', () => {
  const { clock, begun, worker } = bench(5);
  worker(0).want(1);
  clock.advance(10_000);
  expect(begun[0]?.claim.tryResize(3)).toBe(true);
  const other = worker(1);
  other.want(2, 1);
  expect(other.left()).toBe(1);
  begun[0]?.claim.complete(2);
  expect(other.left()).toBe(0);
  other.want(2);
  clock.advance(59_999);
  expect(other.left()).toBe(1);
  clock.advance(1);
  expect(other.left()).toBe(0);
});

it('counts nothing of a request that turns out to hold more than there is room for, or than the workers that wait leave', () => {
  const { begun, worker } = bench(5);
  worker(0).want(1, 1);
  const large = worker(1);
  large.want(4);
  expect(begun[0]?.claim.tryResize(3)).toBe(false);
  expect(large.left()).toBe(0);
  expect(begun[1]?.claim.tryResize(2)).toBe(false);
});

it('logs once that workers wait, again no sooner than 10 minutes later, and counts each time', () => {
  const { clock, worker, logged, reached } = bench(1);
  const [one, other] = [worker(0), worker(1)];
  one.want(1, 1);
  other.want(1);
  expect([logged.length, reached()]).toEqual([1, 1]);
  clock.advance(3 * MINUTE);
  for (const times of [2, 3]) {
    one.want(1, 1);
    expect([logged.length, reached()]).toEqual([1, times]);
    clock.advance(3 * MINUTE);
  }
  clock.advance(10 * MINUTE);
  one.want(1, 1);
  expect(logged).toEqual(Array(2).fill('deliveries of the workspace wait'));
});

it('waits for no worker that has stopped', () => {
  const { clock, worker, begun } = bench(2);
  const [ended, other] = [worker(0), worker(1)];
  ended.want(1, 2);
  other.want(1);
  ended.share.leave();
  expect(begun.map(one => one.worker)).toEqual([0, 1]);
  expect(clock.timers()).toBe(0);
});

it('bounds nothing where there is none', () => {
  const share = NO_QUOTA.join(() => {});
  expect([share.tryAdmit(1e9), share.hasTokens(1e9), share.reserve(1).tryResize(1e9)]).toEqual([
    true,
    true,
    true,
  ]);
});
