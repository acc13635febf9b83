import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { opening } from '../../test/helpers/transitions.ts';
import { createQueue, orderingKey, type QueuedDelivery } from './queue.ts';

function queued(subject: string, due = 0): QueuedDelivery {
  const [row] = opening({ subject }).operation.deliveries;
  if (row === undefined) throw new Error('no delivery was made');
  return { row, event: undefined, due };
}

it('holds the successors of a head until it is settled', () => {
  const queue = createQueue();
  const [alarm, resolution] = [queued('a'), queued('a')];
  queue.add(alarm);
  queue.add(resolution);
  expect(queue.take(0)).toBe(alarm);
  expect(queue.take(0)).toBeUndefined();
  queue.release(alarm);
  expect(queue.take(0)).toBe(resolution);
});

it('lets another subject pass one that waits for its time', () => {
  const queue = createQueue();
  const [late, ready] = [queued('a', 500), queued('b')];
  queue.add(late);
  queue.add(ready);
  expect(queue.take(100)).toBe(ready);
  expect(queue.take(100)).toBeUndefined();
  expect(queue.nextDue()).toBe(500);
  expect(queue.take(500)).toBe(late);
});

it('keeps a head that is to be tried again in front of its successors', () => {
  const queue = createQueue();
  const [alarm, resolution] = [queued('a'), queued('a')];
  queue.add(alarm);
  queue.add(resolution);
  queue.take(0);
  const again = { ...alarm, due: 50 };
  queue.release(alarm, again);
  expect(queue.take(0)).toBeUndefined();
  expect(queue.take(50)).toBe(again);
  expect(queue.size).toBe(2);
});

it('takes those that are due in the order in which they became due', () => {
  const queue = createQueue();
  const [third, first, second, never] = [queued('a', 30), queued('b', 10), queued('c', 10), queued('d', 99)];
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
  const entry = queued('a');
  queue.add(entry);
  queue.take(0);
  queue.add({ ...entry });
  expect(queue.size).toBe(1);
});

it('evicts whole keys that are due last, and never one in flight', () => {
  const queue = createQueue();
  const [under, soon, late, later] = [queued('a', 90), queued('b', 20), queued('c', 30), queued('d', 40)];
  for (const entry of [under, soon, late, queued('c', 0), later]) queue.add(entry);
  expect(queue.take(0)).toBeUndefined();
  expect([queue.take(20), queue.take(90)?.row.subject]).toEqual([soon, 'c']);
  expect(queue.evict(3).map(({ key, due }) => [key.split('\n')[1], due])).toEqual([
    ['a', 90],
    ['d', 40],
  ]);
  expect([queue.size, queue.nextDue()]).toEqual([3, undefined]);
  queue.release(soon);
  expect(queue.size).toBe(2);
});

it('hands out every delivery once and each subject in order, whatever the interleaving', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 60 }),
      fc.infiniteStream(fc.boolean()),
      (adds, turns) => {
        const queue = createQueue();
        const given: QueuedDelivery[] = [];
        const out: QueuedDelivery[] = [];
        const inFlight: QueuedDelivery[] = [];
        const next = (): boolean => turns.next().value ?? true;
        for (const subject of adds) {
          const entry = queued(`s${subject}`);
          given.push(entry);
          queue.add(entry);
          if (next()) inFlight.push(...[queue.take(0)].filter(one => one !== undefined));
          if (next()) settleFirst();
        }
        for (let guard = 0; guard < 200; guard++) {
          const taken = queue.take(0);
          if (taken !== undefined) inFlight.push(taken);
          settleFirst();
        }
        function settleFirst(): void {
          const entry = inFlight.shift();
          if (entry === undefined) return;
          out.push(entry);
          queue.release(entry);
        }
        expect(queue.size).toBe(0);
        expect(new Set(out)).toEqual(new Set(given));
        for (const subject of new Set(adds)) {
          const of = (list: QueuedDelivery[]): QueuedDelivery[] =>
            list.filter(entry => entry.row.subject === `s${subject}`);
          expect(of(out)).toEqual(of(given));
        }
      },
    ),
  );
});

interface NaiveKeyQueue {
  entries: QueuedDelivery[];
  inFlight: QueuedDelivery | undefined;
  /** When its head came up, counted over all chains. */
  came: number;
}

/** The queue as one would write it on paper: every question is a walk through all of it. */
function naiveQueue() {
  const keyQueues = new Map<string, NaiveKeyQueue>();
  let count = 0;
  const idle = () =>
    [...keyQueues.values()]
      .filter(keyQueue => keyQueue.inFlight === undefined)
      .sort(
        (one, other) => (one.entries[0]?.due ?? 0) - (other.entries[0]?.due ?? 0) || one.came - other.came,
      );
  const lengthOf = ({ entries, inFlight }: NaiveKeyQueue): number => entries.length + (inFlight ? 1 : 0);
  const size = (): number => [...keyQueues.values()].reduce((sum, keyQueue) => sum + lengthOf(keyQueue), 0);
  const has = ({ entries, inFlight }: NaiveKeyQueue, id: string): boolean =>
    inFlight?.row.id === id || entries.some(one => one.row.id === id);

  function insert(keyQueue: NaiveKeyQueue, entry: QueuedDelivery): void {
    keyQueue.entries = [...keyQueue.entries, entry].sort((one, other) =>
      one.row.id < other.row.id ? -1 : 1,
    );
    if (keyQueue.inFlight === undefined && keyQueue.entries[0] === entry) keyQueue.came = count++;
  }

  return {
    size,
    nextDue: () => idle()[0]?.entries[0]?.due,
    add(entry: QueuedDelivery) {
      const keyQueue = keyQueues.get(orderingKey(entry.row)) ?? { entries: [], inFlight: undefined, came: 0 };
      keyQueues.set(orderingKey(entry.row), keyQueue);
      if (!has(keyQueue, entry.row.id)) insert(keyQueue, entry);
    },
    take(now: number) {
      const [keyQueue] = idle();
      const head = keyQueue?.entries[0];
      if (keyQueue === undefined || head === undefined || head.due > now) return undefined;
      keyQueue.inFlight = keyQueue.entries.shift();
      return head;
    },
    release({ row }: QueuedDelivery, again?: QueuedDelivery) {
      const keyQueue = keyQueues.get(orderingKey(row));
      if (keyQueue === undefined) throw new Error('nothing of it is under way');
      keyQueue.inFlight = undefined;
      keyQueue.came = count++;
      if (again !== undefined) keyQueue.entries = [again, ...keyQueue.entries].sort(byId);
      if (keyQueue.entries.length === 0) keyQueues.delete(orderingKey(row));
    },
    forget: ({ row }: QueuedDelivery) => void keyQueues.delete(orderingKey(row)),
    shed(most: number) {
      const keys: string[] = [];
      for (const keyQueue of idle().reverse()) {
        const [head] = keyQueue.entries;
        if (size() <= most || head === undefined) break;
        keys.push(orderingKey(head.row));
        keyQueues.delete(orderingKey(head.row));
      }
      return keys;
    },
  };
}

const byId = (one: QueuedDelivery, other: QueuedDelivery): number => (one.row.id < other.row.id ? -1 : 1);

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
  const rows = Array.from({ length: 24 }, (_, index) => queued(subjects[index % 4] ?? 'a').row);
  fc.assert(
    fc.property(fc.array(queueStep, { maxLength: 120 }), steps => {
      const queue = createQueue();
      const naive = naiveQueue();
      const inFlight: QueuedDelivery[] = [];
      let now = 0;
      const pick = (which: number): QueuedDelivery | undefined =>
        inFlight.splice(which % (inFlight.length || 1), 1)[0];
      for (const one of steps) {
        if ('add' in one) {
          const row = rows[one.add];
          const entry = row && { row, event: undefined, due: one.due };
          if (entry !== undefined) for (const each of [queue, naive]) each.add(entry);
        } else if ('take' in one) {
          now += one.take;
          const taken = queue.take(now);
          expect(taken).toBe(naive.take(now));
          if (taken !== undefined) inFlight.push(taken);
        } else if ('shed' in one)
          expect(queue.evict(one.shed).map(({ key }) => key)).toEqual(naive.shed(one.shed));
        else {
          const entry = pick('settle' in one ? one.settle : 'again' in one ? one.again : one.forget);
          if (entry === undefined) continue;
          const again = 'again' in one ? { ...entry, due: now + one.wait } : undefined;
          for (const each of [queue, naive])
            if ('forget' in one) each.forget(entry);
            else each.release(entry, again);
        }
        expect([queue.size, queue.nextDue()]).toEqual([naive.size(), naive.nextDue()]);
      }
    }),
    { numRuns: 300 },
  );
});
