import { expect, it } from 'vitest';
import { deterministicId, idFloor, monotonicIds } from './ids.ts';

const PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it('makes UUIDs of version 7 that carry the time', () => {
  const id = monotonicIds({ now: () => 0x018c_c251_f400 }).next();
  expect(id).toMatch(PATTERN);
  expect(id.startsWith('018cc251-f400-7')).toBe(true);
});

it('grows strictly though the clock stands still, jumps back or a millisecond holds thousands', () => {
  let now = 1_700_000_000_000;
  const ids = monotonicIds({ now: () => now });
  const made: string[] = [];
  for (let count = 0; count < 20_000; count++) {
    if (count === 9000) now -= 3_600_000;
    if (count === 15_000) now += 7_200_000;
    made.push(ids.next());
  }
  expect(made.every(id => PATTERN.test(id))).toBe(true);
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
});

it('goes on after the ids of a former process, though the clock was set back in between', () => {
  let now = 1_700_000_000_000;
  const before = monotonicIds({ now: () => now });
  const last = Array.from({ length: 3000 }, () => before.next()).at(-1) ?? '';
  now -= 86_400_000;
  const after = monotonicIds({ now: () => now });
  after.advancePast(last);
  after.advancePast('01234567-0000-7000-8000-000000000000');
  after.advancePast('no id of ours');
  const made = Array.from({ length: 5000 }, () => after.next());
  expect([last, ...made].sort()).toEqual([last, ...made]);
  now += 2 * 86_400_000;
  expect(after.next() > (made.at(-1) ?? '')).toBe(true);
});

it('makes of the same parts the same id, which stands before all that carry a time', () => {
  const id = deterministicId('edge', 'run-1', 'silent');
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(deterministicId('edge', 'run-1', 'silent')).toBe(id);
  const made = Array.from({ length: 2000 }, (_, count) => deterministicId('edge', `run-${count}`));
  expect(new Set([...made, deterministicId('ed', 'gerun-1'), deterministicId('edgerun-1')]).size).toBe(2002);
  expect(made.every(one => one < idFloor(Date.UTC(2000, 0, 1)))).toBe(true);
});
