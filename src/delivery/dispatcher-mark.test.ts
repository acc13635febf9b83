import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import { AppError } from '../lib/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import { Sending } from './dispatcher.ts';
import { createResultBus } from './results.ts';

let store: TestStorage;
let clock: TestClock;
let refusal: AppError | undefined;
let made = 0;

beforeEach(async () => {
  store = await openTestStorage();
  onTestFinished(() => store.close());
  clock = testClock();
  refusal = undefined;
});

function sending() {
  const results = createResultBus();
  const process = new Sending({
    workspace: 'default',
    storage: {
      transaction: work =>
        refusal === undefined ? store.storage.transaction(work) : Promise.reject(refusal),
    },
    results,
    clock,
    logger: silentLogger,
  });
  return { results, start: () => process.start(), stop: () => process.stop(), until: () => process.until() };
}

/** How many deliveries a next process would count as under way. */
async function cut(): Promise<number> {
  await store.storage.commit(opening({ subject: `s${++made}` }).operation);
  return store.storage.transaction(tx => tx.in('default').beginSending(clock.now()));
}

it('leaves its mark until it has stopped', async () => {
  const process = sending();
  await process.start();
  expect(await cut()).toBe(1);
  await process.stop();
  expect(await cut()).toBe(0);
});

it('leaves it for the next process when the outcome of something that was sent is on no disk', async () => {
  const process = sending();
  await process.start();
  process.results.publish({ kind: 'unrecorded', target: 'hook' });
  await process.stop();
  expect(await cut()).toBe(1);
});

it('leaves the mark of the process before when it could not begin', async () => {
  await sending().start();
  const second = sending();
  refusal = new AppError('unavailable', 'the disk is full');
  await expect(second.start()).rejects.toBe(refusal);
  refusal = undefined;
  await second.stop();
  expect(await cut()).toBe(1);
});

it('is always ahead of its clock, and goes on only once that is on disk', async () => {
  const process = sending();
  expect(process.until()).toBe(Number.NEGATIVE_INFINITY);
  await process.start();
  const first = process.until();
  expect(first).toBeGreaterThan(clock.now() + 60_000);
  refusal = new AppError('unavailable', 'the disk is full');
  await clock.advance(60_000);
  expect(process.until()).toBe(first);
  refusal = undefined;
  await clock.advance(60_000);
  await until(() => process.until() > first);
  expect(process.until()).toBeGreaterThan(clock.now() + 60_000);
  await process.stop();
});
