import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { opening } from '../../test/helpers/transitions.ts';
import { createQueue, type Waiting } from './queue.ts';

function waiting(subject: string, due = 0): Waiting {
  const [row] = opening({ subject }).operation.deliveries;
  if (row === undefined) throw new Error('no delivery was made');
  return { row, event: undefined, due };
}

it('holds the successors of a head until it is settled', () => {
  const queue = createQueue();
  const [alarm, resolution] = [waiting('a'), waiting('a')];
  queue.add(alarm);
  queue.add(resolution);
  expect(queue.take(0)).toBe(alarm);
  expect(queue.take(0)).toBeUndefined();
  queue.settle(alarm);
  expect(queue.take(0)).toBe(resolution);
});

it('lets another subject pass one that waits for its time', () => {
  const queue = createQueue();
  const [late, ready] = [waiting('a', 500), waiting('b')];
  queue.add(late);
  queue.add(ready);
  expect(queue.take(100)).toBe(ready);
  expect(queue.take(100)).toBeUndefined();
  expect(queue.nextDue()).toBe(500);
  expect(queue.take(500)).toBe(late);
});

it('keeps a head that is to be tried again in front of its successors', () => {
  const queue = createQueue();
  const [alarm, resolution] = [waiting('a'), waiting('a')];
  queue.add(alarm);
  queue.add(resolution);
  queue.take(0);
  const again = { ...alarm, due: 50 };
  queue.settle(alarm, again);
  expect(queue.take(0)).toBeUndefined();
  expect(queue.take(50)).toBe(again);
  expect(queue.size).toBe(2);
});

it('takes those that are due in the order in which they became due', () => {
  const queue = createQueue();
  const [third, first, second, never] = [
    waiting('a', 30),
    waiting('b', 10),
    waiting('c', 10),
    waiting('d', 99),
  ];
  for (const entry of [third, first, second, never]) queue.add(entry);
  expect([queue.take(50), queue.take(50), queue.take(50), queue.take(50)]).toEqual([
    first,
    second,
    third,
    undefined,
  ]);
});

it('takes no delivery twice', () => {
  const queue = createQueue();
  const entry = waiting('a');
  queue.add(entry);
  queue.take(0);
  queue.add({ ...entry });
  expect(queue.size).toBe(1);
});

it('lets go of whole chains that are due last, and never of one under way', () => {
  const queue = createQueue();
  const [under, soon, late, later] = [waiting('a', 90), waiting('b', 20), waiting('c', 30), waiting('d', 40)];
  for (const entry of [under, soon, late, waiting('c', 0), later]) queue.add(entry);
  expect(queue.take(0)).toBeUndefined();
  expect([queue.take(20), queue.take(90)?.row.subject]).toEqual([soon, 'c']);
  expect(queue.shed(3).map(({ key, due }) => [key.split('\n')[1], due])).toEqual([
    ['a', 90],
    ['d', 40],
  ]);
  expect([queue.size, queue.nextDue()]).toEqual([3, undefined]);
  queue.settle(soon);
  expect(queue.size).toBe(2);
});

it('hands out every delivery once and each subject in order, whatever the interleaving', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 60 }),
      fc.infiniteStream(fc.boolean()),
      (adds, turns) => {
        const queue = createQueue();
        const given: Waiting[] = [];
        const out: Waiting[] = [];
        const underWay: Waiting[] = [];
        const next = (): boolean => turns.next().value ?? true;
        for (const subject of adds) {
          const entry = waiting(`s${subject}`);
          given.push(entry);
          queue.add(entry);
          if (next()) underWay.push(...[queue.take(0)].filter(one => one !== undefined));
          if (next()) settleFirst();
        }
        for (let guard = 0; guard < 200; guard++) {
          const taken = queue.take(0);
          if (taken !== undefined) underWay.push(taken);
          settleFirst();
        }
        function settleFirst(): void {
          const entry = underWay.shift();
          if (entry === undefined) return;
          out.push(entry);
          queue.settle(entry);
        }
        expect(queue.size).toBe(0);
        expect(new Set(out)).toEqual(new Set(given));
        for (const subject of new Set(adds)) {
          const of = (list: Waiting[]): Waiting[] =>
            list.filter(entry => entry.row.subject === `s${subject}`);
          expect(of(out)).toEqual(of(given));
        }
      },
    ),
  );
});
