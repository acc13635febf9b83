import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StorageOperation } from '../../src/storage/operations/operation.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { createModel, type Model } from './model.ts';
import { attemptRow, closed, incidentRow, repeated, settle, transition } from './rows.ts';

const ALL = { offset: 0, limit: 1000 };

const several = fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 3 });
/** One step of a random history; numbers choose among what is there when the step is taken. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('open' as const),
    subject: fc.constantFrom('a', 'b', 'c'),
    targets: fc.array(fc.constantFrom('hook', 'log'), { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constantFrom('repeat' as const, 'close' as const),
    which: fc.nat(20),
    /** Mostly the right seq. */
    drift: fc.constantFrom(0, 0, 0, 1, -1),
  }),
  fc.record({
    kind: fc.constant('settle' as const),
    which: fc.nat(20),
    state: fc.constantFrom('waiting' as const, 'sent' as const, 'refused' as const, 'exhausted' as const),
    attempt: fc.option(fc.integer({ min: 1, max: 3 })),
    /** The target that gets it in place of its own. */
    fallback: fc.option(fc.constantFrom('hook', 'log')),
  }),
  fc.record({ kind: fc.constant('batch' as const), which: several }),
  fc.record({ kind: fc.constant('hurry' as const), which: several }),
);
/** Steps in groups: those of one group are committed at once. */
const history = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { maxLength: 8 });
type Step = ReturnType<typeof step.generate>['value'];

const pick = <Item>(items: readonly Item[], which: number): Item | undefined => items[which % items.length];

/** The operation a step stands for, given what the model holds; nothing when there is nothing to do it to. */
function operationOf(one: Step, model: Model, workspace: string): StorageOperation | undefined {
  if (one.kind === 'open') {
    return transition(incidentRow({ subject: one.subject }), { workspace, targets: one.targets });
  }
  if (one.kind === 'settle') {
    const delivery = pick([...model.deliveries.values()], one.which);
    if (delivery === undefined) return undefined;
    const attempt = one.attempt === null ? null : attemptRow(delivery.id, one.attempt);
    const { state, fallback } = one;
    const handOver =
      fallback === null ? [] : [{ ...delivery, id: `${delivery.id}-${fallback}`, target: fallback }];
    const facts = {
      workspace,
      state,
      attempts: delivery.attempts + 1,
      attempt,
      batch: delivery.batch,
      handOver,
    };
    return settle(delivery.id, facts);
  }
  if (one.kind === 'batch' || one.kind === 'hurry') {
    const all = [...model.deliveries.keys()];
    const deliveryIds = [...new Set(one.which.flatMap(which => pick(all, which) ?? []))];
    if (one.kind === 'hurry') return { kind: 'hurry', workspace, deliveryIds };
    return { kind: 'batch', workspace, batch: `b${one.which.join('-')}`, deliveryIds };
  }
  const present = pick([...model.incidents.values()], one.which);
  if (present === undefined) return undefined;
  const from: IncidentRow = { ...present, seq: Math.max(1, present.seq + one.drift) };
  return transition(one.kind === 'repeat' ? repeated(from) : closed(from), { workspace });
}

async function expectSameRows(storage: Storage, workspace: string, model: Model): Promise<void> {
  const stores = storage.in(workspace);
  const newestFirst = (a: { id: string }, b: { id: string }) => (a.id < b.id ? 1 : -1);
  const incidents = [...model.incidents.values()].sort(newestFirst);
  const deliveries = [...model.deliveries.values()].sort(newestFirst);

  expect(await stores.incidents.list({}, ALL)).toEqual({ rows: incidents, total: incidents.length });
  const open = incidents.filter(incident => incident.state === 'open').reverse();
  expect(await stores.incidents.open()).toEqual(open);
  expect(await stores.deliveries.list({}, ALL)).toEqual({ rows: deliveries, total: deliveries.length });
  for (const target of ['hook', 'log']) {
    const waiting = deliveries.filter(row => row.target === target && row.state === 'waiting').reverse();
    expect(await stores.deliveries.waiting(target, '', 1000)).toEqual(waiting);
  }
  const ids = [...model.events.keys()].sort();
  expect(await stores.events.byIds(ids)).toEqual(ids.map(id => model.events.get(id)));
  const attempts = await Promise.all(deliveries.map(row => stores.deliveries.attempts(row.id)));
  expect(attempts.flat()).toHaveLength(model.attempts.length);
  expect(attempts.flat()).toEqual(expect.arrayContaining(model.attempts));
  expect((await stores.messages.list(ALL)).rows).toEqual([...model.messages.values()]);
}

describe.each(dialects)('storage on $name against a model', dialect => {
  let database: TestDatabase;
  let storage: Storage;
  let runs = 0;

  beforeAll(async () => {
    database = await dialect.create();
    storage = await database.open(testClock());
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  it('accepts, refuses and keeps the same whatever is committed, and in whatever groups', async () => {
    await fc.assert(
      fc.asyncProperty(history, async groups => {
        const workspace = `w${runs++}`;
        const model = createModel();
        for (const group of groups) {
          const expected: boolean[] = [];
          const commits = group.flatMap(one => {
            const operation = operationOf(one, model, workspace);
            if (operation === undefined) return [];
            expected.push(model.apply(operation));
            return [storage.commit(operation)];
          });
          const outcomes = await Promise.allSettled(commits);
          expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(expected);
        }
        await expectSameRows(storage, workspace, model);
      }),
      { numRuns: 150 },
    );
  });
});
