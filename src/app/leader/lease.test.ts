import { beforeEach, expect, test } from 'vitest';
import { settle, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { createLogger, silentLogger } from '../../lib/logger.ts';
import type { Lease, LeaseStore } from '../../storage/stores/leases.ts';
import type { CommittedChange } from '../../storage/types.ts';
import { createLeaderElection, type LeaderTerm } from './lease.ts';

/** A lease on a clock of its own that only `pass` moves, as a database has one. */
function leaseStore(clock: TestClock) {
  let held: (Lease & { readonly until: number }) | undefined;
  let epoch = 0;
  let isDown = false;
  let answer: Promise<void> = Promise.resolve();
  const assertUp = (): void => {
    if (isDown) throw new AppError('unavailable', 'the database is down');
  };
  const isOver = (): boolean => held === undefined || held.until <= clock.monotonic();
  const leases: LeaseStore = {
    async take(name, owner, ttlMs) {
      assertUp();
      if (!isOver() && held?.owner !== owner) return undefined;
      if (isOver() || held?.owner !== owner) epoch += 1;
      held = { name, owner, epoch, until: clock.monotonic() + ttlMs };
      return { name, owner, epoch };
    },
    async renew(lease, ttlMs) {
      assertUp();
      if (isOver() || held?.epoch !== lease.epoch || held.owner !== lease.owner) return false;
      held = { ...held, until: clock.monotonic() + ttlMs };
      await answer;
      return true;
    },
    async release({ owner }) {
      assertUp();
      if (held?.owner === owner) held = undefined;
    },
    holder: async () => (isOver() ? undefined : held),
  };
  return {
    leases,
    down(now: boolean) {
      isDown = now;
    },
    answersAfter(wait: Promise<void>) {
      answer = wait;
    },
  };
}

let clock: TestClock;
let store: ReturnType<typeof leaseStore>;
let said: string[];

beforeEach(() => {
  clock = testClock();
  store = leaseStore(clock);
  said = [];
});

interface Habits {
  readonly isAlone?: boolean;
  readonly startsFor?: number;
  readonly stopsFor?: number;
}

function member(owner: string, { isAlone = false, startsFor = 0, stopsFor = 0 }: Habits = {}) {
  const listeners = new Set<(change: CommittedChange) => void>();
  let term: LeaderTerm | undefined;
  const election = createLeaderElection({
    storage: {
      leases: store.leases,
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    name: 'engine:w',
    owner,
    isAlone,
    clock,
    logger: silentLogger,
    async lead(own) {
      term = own;
      if (startsFor > 0) await clock.sleep(startsFor);
      said.push(`${owner} leads`);
      return {
        async stop(inTime) {
          said.push(`${owner} stops${inTime ? '' : ' at once'}`);
          if (stopsFor > 0) await clock.sleep(stopsFor);
        },
      };
    },
  });
  return {
    start: () => election.start(),
    isLeading: () => election.isLeading(),
    stop: () => election.stop(),
    holds: () => term?.isCurrent() ?? false,
    signal: () => term?.signal,
    lost: () => term?.markLost(),
    hear: () => {
      for (const listener of listeners) listener({ workspace: '*', resource: 'leases', id: 'engine:w' });
    },
  };
}

test('the first leads, the second waits, and takes over at once when the first is stopped and says so', async () => {
  const [a, b] = [member('a'), member('b')];
  await a.start();
  await b.start();
  await clock.advance(60_000);
  expect([a.isLeading(), b.isLeading(), said]).toEqual([true, false, ['a leads']]);
  await a.stop();
  b.hear();
  await settle();
  expect([b.isLeading(), said]).toEqual([true, ['a leads', 'a stops', 'b leads']]);
  await b.stop();
});

test('without a notice the second takes over within a second of the release', async () => {
  const [a, b] = [member('a'), member('b')];
  await a.start();
  await b.start();
  await a.stop();
  await clock.advance(1000);
  expect(b.isLeading()).toBe(true);
  await b.stop();
});

test('a leader that cannot renew stops before its lease is over for the others, and leads again when it can', async () => {
  const a = member('a');
  await a.start();
  store.down(true);
  await clock.advance(4999);
  expect([a.holds(), said]).toEqual([true, ['a leads']]);
  await clock.advance(1);
  expect([a.holds(), a.signal()?.aborted, said]).toEqual([false, true, ['a leads', 'a stops at once']]);
  store.down(false);
  await clock.advance(2000);
  expect([a.isLeading(), said.at(-1)]).toEqual([true, 'a leads']);
  await a.stop();
});

test('whoever was frozen holds nothing from the first moment on, before any timer has run', async () => {
  const a = member('a');
  await a.start();
  const frozen = { ...clock, monotonic: clock.monotonic() + 20_000 };
  const { monotonic } = clock;
  clock.monotonic = () => frozen.monotonic;
  expect(a.holds()).toBe(false);
  clock.monotonic = monotonic;
  await a.stop();
});

test('a write that the store refuses ends leading, though the clock says there is time', async () => {
  const a = member('a');
  await a.start();
  a.lost();
  expect(a.holds()).toBe(false);
  await settle();
  expect(said).toEqual(['a leads', 'a stops at once']);
  await a.stop();
});

test('who is alone asks the store once and holds for good', async () => {
  const a = member('a', { isAlone: true });
  await a.start();
  store.down(true);
  await clock.advance(3_600_000);
  expect(a.holds()).toBe(true);
  store.down(false);
  await a.stop();
  expect(said).toEqual(['a leads', 'a stops']);
});

test('what cannot be started is no leading: the lease goes back, and the start fails', async () => {
  const failing = createLeaderElection({
    storage: { leases: store.leases, subscribe: () => () => {} },
    name: 'engine:w',
    owner: 'f',
    isAlone: false,
    clock,
    logger: createLogger('silent'),
    lead: () => Promise.reject(new Error('no snapshot')),
  });
  await expect(failing.start()).rejects.toThrow('no snapshot');
  expect(await store.leases.holder('engine:w')).toBeUndefined();
});

test('what takes long to start keeps its lease meanwhile, and leads', async () => {
  const a = member('a', { startsFor: 20_000 });
  const starting = a.start();
  await clock.advance(20_000);
  await starting;
  expect([a.isLeading(), said]).toEqual([true, ['a leads']]);
  await a.stop();
});

test('a start that lasts beyond a lost lease ends what it has started, and is tried again', async () => {
  const a = member('a', { startsFor: 8000 });
  const starting = a.start();
  await settle();
  store.down(true);
  await clock.advance(8000);
  await starting;
  expect([a.isLeading(), said]).toEqual([false, ['a leads', 'a stops at once']]);
  store.down(false);
  await clock.advance(9000);
  expect(a.isLeading()).toBe(true);
  await a.stop();
});

test('whoever stops holds the lease until what is under way has ended, and nobody takes over before', async () => {
  const [a, b] = [member('a', { stopsFor: 10_000 }), member('b')];
  await a.start();
  await b.start();
  const stopping = a.stop();
  await clock.advance(9999);
  expect([a.holds(), b.isLeading()]).toEqual([true, false]);
  await clock.advance(1001);
  await stopping;
  expect([a.signal()?.aborted, b.isLeading()]).toEqual([true, true]);
  await b.stop();
});

test('what was refused once stays refused, though a renewal is answered late', async () => {
  const a = member('a');
  await a.start();
  let answer = (): void => {};
  store.answersAfter(
    new Promise(resolve => {
      answer = resolve;
    }),
  );
  await clock.advance(2000);
  const { monotonic } = clock;
  // The answer is there before any timer has run.
  clock.monotonic = () => monotonic() + 3000;
  expect(a.holds()).toBe(false);
  answer();
  await settle();
  expect([a.holds(), said]).toEqual([false, ['a leads', 'a stops at once']]);
  clock.monotonic = monotonic;
  await a.stop();
});

test('a renewal that is never answered does not keep what is under way from being cut off', async () => {
  const a = member('a');
  await a.start();
  const first = a.signal();
  store.answersAfter(new Promise(() => {}));
  await clock.advance(5000);
  expect([first?.aborted, said.slice(0, 2)]).toEqual([true, ['a leads', 'a stops at once']]);
  await a.stop();
});
