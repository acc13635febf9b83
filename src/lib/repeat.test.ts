import { expect, it } from 'vitest';
import { settle, type TestClock, testClock } from '../../test/helpers/clock.ts';
import { createRepeat, startToStart } from './repeat.ts';

const faults = {
  failed: (error: unknown) => {
    throw error;
  },
};

/** Notes when each run begins, in milliseconds from the start of the test; a run takes `tookMs`. */
function runs(clock: TestClock, tookMs = 0) {
  const from = clock.monotonic();
  const began: number[] = [];
  const work = async (): Promise<void> => {
    began.push(clock.monotonic() - from);
    if (tookMs > 0) await clock.sleep(tookMs);
  };
  return { began, work };
}

it('runs one interval after the start, and again one interval after the end of each run', async () => {
  const clock = testClock();
  const { began, work } = runs(clock, 30);
  createRepeat({ clock, interval: 100, work, faults }).start();
  await clock.advance(400);
  expect(began).toEqual([100, 230, 360]);
});

it('begins the first run after the given wait, within the start for 0', async () => {
  const clock = testClock();
  const [soon, now] = [runs(clock), runs(clock)];
  createRepeat({ clock, interval: 100, firstAfterMs: 10, work: soon.work, faults }).start();
  createRepeat({ clock, interval: 100, firstAfterMs: 0, work: now.work, faults }).start();
  expect(now.began).toEqual([0]);
  await clock.advance(120);
  expect(soon.began).toEqual([10, 110]);
  expect(now.began).toEqual([0, 100]);
});

it('computes each interval from how long the run took', async () => {
  const clock = testClock();
  const { began, work } = runs(clock, 30);
  createRepeat({ clock, interval: took => Math.max(50, 2 * took), work, faults }).start();
  await clock.advance(240);
  expect(began).toEqual([50, 140, 230]);
});

it('paces from start to start, and leaves a pause after a run that took longer', async () => {
  const clock = testClock();
  const [short, long] = [runs(clock, 30), runs(clock, 130)];
  const options = { clock, interval: startToStart(100, 20), firstAfterMs: 0, faults };
  createRepeat({ ...options, work: short.work }).start();
  createRepeat({ ...options, work: long.work }).start();
  await clock.advance(310);
  expect(short.began).toEqual([0, 100, 200, 300]);
  expect(long.began).toEqual([0, 150, 300]);
});

it('takes work that is over at once', async () => {
  const clock = testClock();
  let count = 0;
  createRepeat({ clock, interval: 100, work: () => void count++, faults }).start();
  await clock.advance(300);
  expect(count).toBe(3);
});

it('goes on after a run that failed, whether it threw or rejected, and reports how each ended', async () => {
  const clock = testClock();
  const heard: unknown[] = [];
  const ends = [
    () => {
      throw new Error('thrown');
    },
    () => Promise.reject(new Error('rejected')),
    () => {},
  ];
  createRepeat({
    clock,
    interval: 100,
    work: () => ends.shift()?.(),
    faults: {
      failed: error => void heard.push(error instanceof Error && error.message),
      recovered: () => void heard.push('recovered'),
    },
  }).start();
  await clock.advance(300);
  expect(heard).toEqual(['thrown', 'rejected', 'recovered']);
});

it('waits at its stop for the run under way, and begins none after it', async () => {
  const clock = testClock();
  const { began, work } = runs(clock, 30);
  const loop = createRepeat({ clock, interval: 100, work, faults });
  loop.start();
  await clock.advance(110);
  let isStopped = false;
  const stop = loop.stop().then(() => {
    isStopped = true;
  });
  await settle();
  expect(isStopped).toBe(false);
  await clock.advance(1000);
  await stop;
  expect(began).toEqual([100]);
});

it('stops at once between two runs, or before the first', async () => {
  const clock = testClock();
  const { began, work } = runs(clock);
  const loop = createRepeat({ clock, interval: 100, work, faults });
  loop.start();
  await loop.stop();
  await clock.advance(200);
  expect(began).toEqual([]);
});

it('can be stopped by its own work', async () => {
  const clock = testClock();
  let count = 0;
  const loop = createRepeat({
    clock,
    interval: 100,
    work: () => {
      count += 1;
      void loop.stop();
    },
    faults,
  });
  loop.start();
  await clock.advance(300);
  expect(count).toBe(1);
});

it('starts once, and not after its stop', async () => {
  const clock = testClock();
  const [twice, late] = [runs(clock), runs(clock)];
  const first = createRepeat({ clock, interval: 100, work: twice.work, faults });
  first.start();
  first.start();
  const second = createRepeat({ clock, interval: 100, work: late.work, faults });
  await second.stop();
  second.start();
  await clock.advance(100);
  expect(twice.began).toEqual([100]);
  expect(late.began).toEqual([]);
});
