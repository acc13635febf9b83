import { expect, it } from 'vitest';
import { atOnce, inSlices, type Slices } from './slices.ts';

function* counting(pauses: number): Slices<number> {
  for (let at = 0; at < pauses; at++) yield;
  return pauses;
}

it('gives the result of what needs no pause at once', () => {
  expect(inSlices(counting(0))).toBe(0);
});

it('lets other work go on between two slices', async () => {
  let turns = 0;
  const turn = (): unknown => setImmediate(() => ++turns < 100 && turn());
  turn();
  expect(await inSlices(counting(5))).toBe(5);
  expect(turns).toBeGreaterThan(1);
  expect(turns).toBeLessThan(100);
  turns = 100;
});

it('does all without a pause where nothing waits', () => {
  expect(atOnce(counting(5))).toBe(5);
});

it('lets work that comes later go first as often as it says, and no more', async () => {
  const order: string[] = [];
  function* named(name: string, pauses: number, behind?: number): Slices {
    for (let at = 0; at < pauses; at++) {
      yield behind;
      order.push(name);
    }
  }
  await Promise.all([
    inSlices(named('heavy', 2, 3)),
    inSlices(named('light', 6)),
    inSlices(named('other', 1, 1)),
  ]);
  expect(order).toEqual(['light', 'other', 'light', 'heavy', 'light', 'light', 'light', 'heavy', 'light']);
});
