import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Step } from '../operations/plan.ts';
import { pack, runSteps } from './protocol.ts';

interface Ran {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly expect: number | undefined;
}

function ran(plans: readonly { readonly steps: readonly Step[] }[], from = 0, to = plans.length): Ran[] {
  const all: Ran[] = [];
  const batch = structuredClone(pack(plans.map(({ steps }) => ({ steps, lease: undefined }))));
  runSteps(batch, { from, to }, (sql, parameters, expected) =>
    all.push({ sql, parameters, expect: expected }),
  );
  return all;
}

const step = fc.record(
  {
    sql: fc.constantFrom('insert a', 'update b', 'delete c'),
    parameters: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxLength: 4 }),
    expect: fc.constantFrom(0, 1, 2),
  },
  { requiredKeys: ['sql', 'parameters'] },
);
const plans = fc.array(fc.record({ steps: fc.array(step, { maxLength: 4 }) }), { maxLength: 8 });

it('runs the steps of any part of a batch as they were planned', () => {
  fc.assert(
    fc.property(plans, fc.nat(8), fc.nat(8), (all, one, other) => {
      const from = Math.min(one, other, all.length);
      const to = Math.min(Math.max(one, other), all.length);
      const expected = all
        .slice(from, to)
        .flatMap(({ steps }) => steps.map(({ sql, parameters, expect }) => ({ sql, parameters, expect })));
      expect(ran(all, from, to)).toEqual(expected);
    }),
  );
});

it('writes a row that is written again as a whole once, and only where both are written together', () => {
  const write = (value: number, row: string) => ({
    steps: [{ sql: 'upsert', parameters: [value], replaces: row }],
  });
  const all = [write(1, 'a'), write(2, 'b'), write(3, 'a'), write(4, 'a')];
  const values = (from: number, to: number) => ran(all, from, to).map(one => one.parameters[0]);
  expect(values(0, 4)).toEqual([2, 4]);
  expect(values(0, 2)).toEqual([1, 2]);
  expect(values(0, 3)).toEqual([2, 3]);
  expect(values(2, 4)).toEqual([4]);
});
