import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSlots } from './slots.ts';

/** A lane that takes what it gets as long as it wants more. */
function lane(seatOf: ReturnType<typeof createSlots>['seat']) {
  let held = 0;
  let wanted = 0;
  let served = 0;
  function work(): void {
    while (wanted > 0 && seat.take()) {
      wanted -= 1;
      held += 1;
      served += 1;
    }
  }
  const seat = seatOf(work);
  return {
    want(count: number) {
      wanted += count;
      work();
    },
    end() {
      if (held === 0) return;
      held -= 1;
      seat.release();
      work();
    },
    stop() {
      wanted = 0;
    },
    held: () => held,
    wanted: () => wanted,
    served: () => served,
  };
}

const step = fc.record({
  lane: fc.nat(4),
  what: fc.constantFrom('want', 'end', 'end', 'stop', 'most'),
  count: fc.integer({ min: 1, max: 6 }),
});

it('never lends more than its bound beside one for each, keeps that one for it, and lends again what comes back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), steps => {
      let most = 3;
      const slots = createSlots(() => most);
      const lanes = Array.from({ length: 5 }, () => lane(wake => slots.seat(wake)));
      let highest = most;
      for (const one of steps) {
        const chosen = lanes[one.lane];
        if (one.what === 'most') most = one.count;
        else if (one.what === 'want') chosen?.want(one.count);
        else if (one.what === 'stop') chosen?.stop();
        else chosen?.end();
        // What is under way goes on when the bound is lowered.
        highest = Math.max(most, one.what === 'most' ? highest : 0, shared(lanes));
        expect(shared(lanes)).toBeLessThanOrEqual(highest);
        for (const { held, wanted } of lanes) if (wanted() > 0) expect(held()).toBeGreaterThan(0);
      }
      for (const { stop } of lanes) stop();
      for (let round = 0; round < 1000; round++) for (const { end } of lanes) end();
      expect(lanes.map(({ held }) => held())).toEqual([0, 0, 0, 0, 0]);
      for (const { want } of lanes) want(100);
      expect(shared(lanes)).toBe(most);
    }),
  );
});

/** At the least one of what a lane holds is its own. */
const shared = (lanes: readonly { held: () => number }[]): number =>
  lanes.reduce((sum, { held }) => sum + Math.max(0, held() - 1), 0);

it('serves those that wait in turn, however much one of them wants', () => {
  const slots = createSlots(() => 1);
  const [greedy, ...others] = Array.from({ length: 4 }, () => lane(wake => slots.seat(wake)));
  greedy?.want(1000);
  for (const other of others) other.want(10);
  // Each has its own; the one that is shared goes round.
  for (let round = 0; round < 9; round++) for (const one of [greedy, ...others]) one?.end();
  for (const other of others) expect(other.served()).toBeGreaterThanOrEqual(9);
  expect(greedy?.served()).toBeLessThan(30);
});

it('gives a lane its own slot though all that are shared hang', () => {
  const slots = createSlots(() => 2);
  const hanging = lane(wake => slots.seat(wake));
  hanging.want(10);
  expect(hanging.held()).toBe(3);
  const well = lane(wake => slots.seat(wake));
  for (let sent = 1; sent <= 5; sent++) {
    well.want(1);
    expect(well.served()).toBe(sent);
    well.end();
  }
});
