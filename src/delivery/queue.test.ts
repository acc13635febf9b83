import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { opening } from '../../test/helpers/transitions.ts';
import { chainKey, createQueue, type Waiting } from './queue.ts';

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

interface NaiveChain {
  entries: Waiting[];
  underWay: Waiting | undefined;
  /** When its head came up, counted over all chains. */
  came: number;
}

/** The queue as one would write it on paper: every question is a walk through all of it. */
function naiveQueue() {
  const chains = new Map<string, NaiveChain>();
  let count = 0;
  const idle = () =>
    [...chains.values()]
      .filter(chain => chain.underWay === undefined)
      .sort(
        (one, other) => (one.entries[0]?.due ?? 0) - (other.entries[0]?.due ?? 0) || one.came - other.came,
      );
  const lengthOf = ({ entries, underWay }: NaiveChain): number => entries.length + (underWay ? 1 : 0);
  const size = (): number => [...chains.values()].reduce((sum, chain) => sum + lengthOf(chain), 0);
  const has = ({ entries, underWay }: NaiveChain, id: string): boolean =>
    underWay?.row.id === id || entries.some(one => one.row.id === id);

  function insert(chain: NaiveChain, entry: Waiting): void {
    chain.entries = [...chain.entries, entry].sort((one, other) => (one.row.id < other.row.id ? -1 : 1));
    if (chain.underWay === undefined && chain.entries[0] === entry) chain.came = count++;
  }

  return {
    size,
    nextDue: () => idle()[0]?.entries[0]?.due,
    add(entry: Waiting) {
      const chain = chains.get(chainKey(entry.row)) ?? { entries: [], underWay: undefined, came: 0 };
      chains.set(chainKey(entry.row), chain);
      if (!has(chain, entry.row.id)) insert(chain, entry);
    },
    take(now: number) {
      const [chain] = idle();
      const head = chain?.entries[0];
      if (chain === undefined || head === undefined || head.due > now) return undefined;
      chain.underWay = chain.entries.shift();
      return head;
    },
    settle({ row }: Waiting, again?: Waiting) {
      const chain = chains.get(chainKey(row));
      if (chain === undefined) throw new Error('nothing of it is under way');
      chain.underWay = undefined;
      chain.came = count++;
      if (again !== undefined) chain.entries = [again, ...chain.entries].sort(byId);
      if (chain.entries.length === 0) chains.delete(chainKey(row));
    },
    forget: ({ row }: Waiting) => void chains.delete(chainKey(row)),
    shed(most: number) {
      const keys: string[] = [];
      for (const chain of idle().reverse()) {
        const [head] = chain.entries;
        if (size() <= most || head === undefined) break;
        keys.push(chainKey(head.row));
        chains.delete(chainKey(head.row));
      }
      return keys;
    },
  };
}

const byId = (one: Waiting, other: Waiting): number => (one.row.id < other.row.id ? -1 : 1);

const queueStep = fc.oneof(
  { weight: 8, arbitrary: fc.record({ add: fc.nat(23), due: fc.integer({ min: 0, max: 40 }) }) },
  { weight: 6, arbitrary: fc.record({ take: fc.integer({ min: 0, max: 5 }) }) },
  { weight: 3, arbitrary: fc.record({ settle: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ again: fc.nat(3), wait: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ shed: fc.nat(12) }) },
);

it('does as a list on paper would, whatever is added, taken, tried again, forgotten and let go of', () => {
  const subjects = ['a', 'b', 'c', 'd'];
  const rows = Array.from({ length: 24 }, (_, index) => waiting(subjects[index % 4] ?? 'a').row);
  fc.assert(
    fc.property(fc.array(queueStep, { maxLength: 120 }), steps => {
      const queue = createQueue();
      const naive = naiveQueue();
      const underWay: Waiting[] = [];
      let now = 0;
      const pick = (which: number): Waiting | undefined =>
        underWay.splice(which % (underWay.length || 1), 1)[0];
      for (const one of steps) {
        if ('add' in one) {
          const row = rows[one.add];
          const entry = row && { row, event: undefined, due: one.due };
          if (entry !== undefined) for (const each of [queue, naive]) each.add(entry);
        } else if ('take' in one) {
          now += one.take;
          const taken = queue.take(now);
          expect(taken).toBe(naive.take(now));
          if (taken !== undefined) underWay.push(taken);
        } else if ('shed' in one)
          expect(queue.shed(one.shed).map(({ key }) => key)).toEqual(naive.shed(one.shed));
        else {
          const entry = pick('settle' in one ? one.settle : 'again' in one ? one.again : one.forget);
          if (entry === undefined) continue;
          const again = 'again' in one ? { ...entry, due: now + one.wait } : undefined;
          for (const each of [queue, naive])
            if ('forget' in one) each.forget(entry);
            else each.settle(entry, again);
        }
        expect([queue.size, queue.nextDue()]).toEqual([naive.size(), naive.nextDue()]);
      }
    }),
    { numRuns: 300 },
  );
});
