import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { settle as letRun, testClock } from '../../test/helpers/clock.ts';
import { opening } from '../../test/helpers/transitions.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import { createBacklog, createQueue, type QueuedDelivery } from './queue.ts';

const MOST = 8;

/** A store, a queue of eight deliveries before it, and whoever sends from that; answers of the store come when told. */
function worker() {
  const clock = testClock();
  const queue = createQueue();
  const store = new Map<string, DeliveryRow>();
  const sent: DeliveryRow[] = [];
  const underWay: QueuedDelivery[] = [];
  const committed: (() => void)[] = [];
  const answers: (() => void)[] = [];
  let reads = 0;
  const backlog = createBacklog({
    queue,
    clock,
    capacity: MOST,
    faultLog: { failed: () => {}, recovered: () => {} },
    read(after, limit) {
      const waiting = [...store.values()].filter(row => row.state === 'waiting' && row.id > after);
      return new Promise((resolve, reject) => {
        const isFault = ++reads % 4 === 0;
        answers.push(() => (isFault ? reject(new Error('busy')) : resolve(waiting.slice(0, limit))));
      });
    },
    dueAt: row => clock.monotonic() + Math.max(0, (row.next_at ?? 0) - clock.now()),
    onChange: () => {},
  });

  function take(): boolean {
    const entry = queue.take(clock.monotonic());
    if (entry !== undefined) underWay.push(entry);
    backlog.fill(entry === undefined);
    return entry !== undefined;
  }

  return {
    clock,
    queue,
    store,
    sent,
    take,
    commit(subject: string) {
      const { operation, event } = opening({ subject });
      for (const row of operation.deliveries) {
        store.set(row.id, row);
        committed.push(() => backlog.add(row, event));
      }
    },
    /** Whoever wrote the oldest learns that it is on disk: others may have read it by then. */
    hand: () => committed.shift()?.(),
    /** Books the attempt that began first: done, or to be tried again after `ms`. */
    end(ms: number) {
      const entry = underWay.shift();
      if (entry === undefined) return false;
      const again = { ...entry.row, next_at: clock.now() + ms };
      store.set(entry.row.id, ms > 0 ? again : { ...entry.row, state: 'sent' });
      backlog.markSettled(entry.row.id);
      if (ms > 0) queue.release(entry, { ...entry, row: again, due: clock.monotonic() + ms });
      else {
        sent.push(entry.row);
        queue.release(entry);
      }
      return true;
    },
    /** To the beginning, or behind one that was committed. */
    rewind: (which: number) => backlog.rewind([...store.keys()][which - 1] ?? ''),
    async answer() {
      const answer = answers.shift();
      answer?.();
      await letRun();
      return answer !== undefined;
    },
  };
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ commit: fc.integer({ min: 0, max: 25 }) }) },
  { weight: 4, arbitrary: fc.constant({ hand: true }) },
  { weight: 5, arbitrary: fc.constant({ take: true }) },
  { weight: 4, arbitrary: fc.record({ end: fc.constantFrom(0, 1000, 2000, 5000, 60_000) }) },
  { weight: 2, arbitrary: fc.constant({ answer: true }) },
  { weight: 1, arbitrary: fc.record({ advance: fc.constantFrom(100, 1000, 5000) }) },
  { weight: 1, arbitrary: fc.record({ rewind: fc.nat(30) }) },
);

it('sends everything once and in order and never holds too much, however answers, commits and retries fall', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 200 }), async steps => {
      const { clock, queue, store, sent, ...does } = worker();
      for (const one of steps) {
        if ('commit' in one) does.commit(`s${one.commit}`);
        else if ('hand' in one) does.hand();
        else if ('end' in one) does.end(one.end);
        else if ('answer' in one) await does.answer();
        else if ('advance' in one) await clock.advance(one.advance);
        else if ('rewind' in one) does.rewind(one.rewind);
        else does.take();
        expect(queue.size).toBeLessThanOrEqual(MOST);
      }
      for (let turn = 0; turn < 400 && sent.length < store.size; turn++) {
        while (does.take()) expect(queue.size).toBeLessThanOrEqual(MOST);
        does.hand();
        if (!(await does.answer()) && !does.end(0)) await clock.advance(2000);
      }
      expect(sent.map(row => row.id).sort()).toEqual([...store.keys()]);
      for (const subject of new Set(sent.map(row => row.subject))) {
        const ids = sent.filter(row => row.subject === subject).map(row => row.id);
        expect(ids).toEqual([...ids].sort());
      }
    }),
    { numRuns: 400 },
  );
});

it('does not bring back what was settled while the store was being read again', async () => {
  const { clock, queue, sent, take, commit, hand, end, answer } = worker();
  take();
  await answer();
  for (let count = 0; count <= MOST; count++) {
    commit(`s${count}`);
    hand();
  }
  while (take());
  for (let count = 0; count < MOST; count++) end(1000 * (count + 1));
  take();
  await answer();
  while (take());
  end(0);
  await clock.advance(5000);
  while (take());
  while (end(0));
  expect(sent).toHaveLength(5);
  await answer();
  expect(queue.size).toBe(0);
});

const rowsOf = (subject: string, count: number): DeliveryRow[] =>
  Array.from({ length: count }, () => opening({ subject }).operation.deliveries[0]).filter(
    row => row !== undefined,
  );

/** A queue before a store that answers at once, unless it is told to wait. */
function simple(store: DeliveryRow[]) {
  const clock = testClock();
  const queue = createQueue();
  let held: (() => void) | undefined;
  let isHeld = false;
  const backlog = createBacklog({
    queue,
    clock,
    capacity: 100,
    faultLog: { failed: () => {}, recovered: () => {} },
    read(after, limit) {
      const rows = store.filter(row => row.id > after).slice(0, limit);
      if (!isHeld) return Promise.resolve(rows);
      return new Promise(resolve => {
        held = () => resolve(rows);
      });
    },
    dueAt: row => clock.monotonic() + (row.next_at ?? 0),
    onChange: () => {},
  });
  const drain = (): string[] => {
    const ids: string[] = [];
    for (let taken = queue.take(clock.monotonic()); taken; taken = queue.take(clock.monotonic())) {
      ids.push(taken.row.id);
      queue.release(taken);
    }
    return ids;
  };
  return {
    backlog,
    queue,
    clock,
    drain,
    async fill() {
      backlog.fill(false);
      await letRun();
    },
    hold: () => {
      isHeld = true;
    },
    async answer() {
      isHeld = false;
      held?.();
      await letRun();
    },
  };
}

it('reads what lies behind a place it has passed, and nothing of it twice', async () => {
  const [first, missed, last] = rowsOf('a', 3);
  if (!first || !missed || !last) throw new Error('no deliveries were made');
  const store = [first, last];
  const { backlog, queue, drain, fill } = simple(store);
  await fill();
  store.splice(1, 0, missed);
  await fill();
  expect(queue.size).toBe(2);
  backlog.rewind(first.id);
  backlog.rewind(missed.id);
  await fill();
  expect(drain()).toEqual([first.id, missed.id, last.id]);
});

it('does not take an answer that is older than what is to be read again', async () => {
  const [row] = rowsOf('a', 1);
  if (row === undefined) throw new Error('no delivery was made');
  const store: DeliveryRow[] = [{ ...row, next_at: 3_600_000 }];
  const { backlog, drain, fill, hold, answer } = simple(store);
  hold();
  await fill();
  store[0] = row;
  backlog.rewind('');
  await answer();
  expect(drain()).toEqual([]);
  await fill();
  expect(drain()).toEqual([row.id]);
});
