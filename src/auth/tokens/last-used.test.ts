import { expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createLastUsed, type Use } from './last-used.ts';

function bench() {
  const clock = testClock();
  const written: (readonly Use[])[] = [];
  const fault = { isThere: false };
  const used = createLastUsed({
    clock,
    logger: silentLogger,
    async write(uses) {
      if (fault.isThere) throw new Error('the disk is full');
      written.push(uses);
    },
  });
  return { clock, written, fault, used };
}

it('writes once a minute at most, however often something is used, and then only what was', async () => {
  const { clock, written, used } = bench();
  const begun = clock.now();
  for (let second = 0; second < 180; second++) {
    used.record('busy');
    if (second === 0) used.record('once');
    await clock.advance(1000);
  }
  expect(written.map(uses => uses.map(({ id }) => id))).toEqual([['busy', 'once'], ['busy'], ['busy']]);
  expect(written[0]).toEqual([
    { id: 'busy', at: begun + 59_000 },
    { id: 'once', at: begun },
  ]);
  expect(used.lastUsedAt('once')).toBe(begun);
  expect(used.lastUsedAt('never')).toBeUndefined();
});

it('writes again what could not be written, and the latest of it', async () => {
  const { clock, written, fault, used } = bench();
  fault.isThere = true;
  used.record('one');
  await clock.advance(60_000);
  expect(written).toEqual([]);
  used.record('one');
  fault.isThere = false;
  await clock.advance(60_000);
  expect(written).toEqual([[{ id: 'one', at: clock.now() - 60_000 }]]);
});

it('writes at the end what was not written yet, and nothing of what was forgotten', async () => {
  const { clock, written, used } = bench();
  used.record('one');
  used.record('gone');
  used.forget('gone');
  await used.stop();
  expect(written).toEqual([[{ id: 'one', at: clock.now() }]]);
  await clock.advance(120_000);
  expect(written).toHaveLength(1);
});
