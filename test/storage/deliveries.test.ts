import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idFloor } from '../../src/lib/ids.ts';
import type { SettleOperation } from '../../src/storage/operations/settle.ts';
import type { TransitionOperation } from '../../src/storage/operations/transition.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { DeliveryRow, RequeueFilter } from '../../src/storage/stores/deliveries.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase, TestDialect } from './contract.ts';
import { dialects } from './dialects.ts';
import { attemptRow, closed, deliveryOf, incidentRow, repeated, settle, transition } from './rows.ts';

const ALL = { offset: 0, limit: 1000 };
const NOW = Date.UTC(2026, 5, 1);

/** The contract of fallback, requeued and retained deliveries, for one dialect. */
export function describeDeliveries(dialect: TestDialect): void {
  describe(`deliveries on ${dialect.name}`, () => {
    let database: TestDatabase;
    let storage: Storage;

    beforeEach(async () => {
      database = await dialect.create();
      storage = await database.open(testClock());
    });
    afterEach(async () => {
      await storage.close();
      await database.remove();
    });

    const stores = () => storage.in('default');
    const get = async (id: string) => await stores().deliveries.get(id);
    const all = async () => (await stores().deliveries.list({}, ALL)).rows;

    async function committed(operation: TransitionOperation): Promise<TransitionOperation> {
      await storage.commit(operation);
      return operation;
    }

    async function end(id: string, state: SettleOperation['state'], attempts = 3): Promise<void> {
      const retriedAt = (await get(id))?.retried_at ?? null;
      await storage.commit(settle(id, { state, attempts, lastError: state, retriedAt }));
    }

    /** A delivery in the given state. */
    async function one(state: SettleOperation['state'], facts = {}, targets = ['hook']): Promise<string> {
      const id = deliveryOf(await committed(transition(incidentRow(facts), { targets })));
      if (state !== 'waiting') await end(id, state);
      return id;
    }

    const requeue = (filter: Partial<RequeueFilter>, { after = '', limit = 100 } = {}) =>
      storage.transaction(tx =>
        tx.in('default').requeue({ states: ['refused', 'exhausted'], ...filter }, { now: NOW, after, limit }),
      );

    describe('a settlement that hands over', () => {
      const standIn = (row: DeliveryRow | undefined, target = 'spare'): DeliveryRow => {
        if (row === undefined) throw new Error('there is no delivery');
        return { ...row, id: `${row.id}-for-${target}`, target, fallback_for: row.target };
      };

      it('writes what the fallback gets with it, which then waits', async () => {
        const { deliveries } = await committed(transition(incidentRow()));
        const handOver = standIn(deliveries[0]);
        await storage.commit(
          settle(deliveries[0]?.id ?? '', { state: 'exhausted', fallbackDeliveries: [handOver] }),
        );
        expect(await get(handOver.id)).toEqual(handOver);
        expect(await stores().deliveries.waiting('spare', '', 10)).toEqual([handOver]);
        expect(await stores().deliveries.waiting('hook', '', 10)).toEqual([]);
      });

      it('lists the fallback targets of incidents as long as a resolution is still to be sent', async () => {
        const incident = incidentRow();
        const [row] = (await committed(transition(incident))).deliveries;
        const { notified: told, fallbackTargets: standIns } = stores().deliveries;
        expect(await told(incident.id, 'hook')).toEqual({ isNotified: false, fallbacks: [] });
        const others = [standIn(row, 'spare'), standIn(row, 'pager')];
        await storage.commit(settle(row?.id ?? '', { state: 'exhausted', fallbackDeliveries: others }));
        const repeat = await committed(transition(repeated(incident)));
        await end(deliveryOf(repeat), 'sent');
        expect(await told(incident.id, 'hook')).toEqual({ isNotified: true, fallbacks: ['pager', 'spare'] });
        expect(await told(incident.id, 'spare')).toEqual({ isNotified: false, fallbacks: [] });
        expect(await told('another', 'hook')).toEqual({ isNotified: false, fallbacks: [] });
        for (const other of others) await end(other.id, 'sent');
        expect((await standIns()).toSorted()).toEqual(['pager', 'spare']);
        const over = await committed(transition(closed(repeated(incident))));
        expect((await standIns()).toSorted()).toEqual(['pager', 'spare']);
        expect(await storage.in('another').deliveries.fallbackTargets()).toEqual([]);
        await end(deliveryOf(over), 'sent');
        expect(await standIns()).toEqual([]);
      });

      it('is recorded although the fallback has that event already, and gives it nothing twice', async () => {
        const operation = await committed(transition(incidentRow(), { targets: ['hook', 'spare'] }));
        const [first, second] = operation.deliveries;
        await storage.commit(
          settle(first?.id ?? '', { state: 'refused', fallbackDeliveries: [standIn(first)] }),
        );
        expect(await get(first?.id ?? '')).toMatchObject({ state: 'refused' });
        expect(await get(second?.id ?? '')).toEqual(second);
        expect(await all()).toHaveLength(2);
      });

      it('hands over nothing when it is refused', async () => {
        const { deliveries } = await committed(transition(incidentRow()));
        const [row] = deliveries;
        const attempt = attemptRow(row?.id ?? '', 1);
        await storage.commit(settle(row?.id ?? '', { state: 'waiting', attempt }));
        const again = settle(row?.id ?? '', {
          state: 'exhausted',
          attempt,
          fallbackDeliveries: [standIn(row)],
        });
        await expect(storage.commit(again)).rejects.toMatchObject({ code: 'conflict' });
        expect(await all()).toHaveLength(1);
        expect(await get(row?.id ?? '')).toMatchObject({ state: 'waiting' });
      });
    });

    it('knows whether a target has got something later of the incident', async () => {
      const incident = incidentRow();
      const first = await committed(transition(incident));
      const second = await committed(transition(repeated(incident)));
      const { isSuperseded: overtaken } = stores().deliveries;
      expect(await overtaken(incident.id, 'hook', 1)).toBe(false);
      await end(deliveryOf(first), 'sent');
      expect(await overtaken(incident.id, 'hook', 1)).toBe(false);
      await end(deliveryOf(second), 'sent');
      expect(await overtaken(incident.id, 'hook', 1)).toBe(true);
      expect(await overtaken(incident.id, 'hook', 2)).toBe(false);
      expect(await overtaken(incident.id, 'log', 1)).toBe(false);
      expect(await overtaken('another', 'hook', 1)).toBe(false);
    });

    it('lists and puts back what was made in a range of time, its end excluded', async () => {
      const times = [1000, 2000, 2000, 3000];
      const ids = times.map((ms, index) => `${idFloor(ms)}-7000-8000-00000000000${index}`);
      for (const [index, id] of ids.entries()) {
        const operation = transition(incidentRow({ subject: id }));
        await storage.commit({ ...operation, deliveries: operation.deliveries.map(row => ({ ...row, id })) });
        await end(ids[index] ?? '', 'refused');
      }
      const list = async (filter: object) =>
        (await stores().deliveries.list(filter, ALL)).rows.map(row => row.id).reverse();
      expect(await list({ since: 1000 })).toEqual(ids);
      expect(await list({ since: 1001 })).toEqual(ids.slice(1));
      expect(await list({ since: 2000, until: 3000 })).toEqual(ids.slice(1, 3));
      expect(await list({ until: 2000 })).toEqual(ids.slice(0, 1));
      expect((await stores().deliveries.list({ since: 1001 }, { offset: 1, limit: 1 })).total).toBe(3);
      const { rows } = await requeue({ since: 2000, until: 3000 });
      expect(rows.map(row => row.id)).toEqual(ids.slice(1, 3));
    });

    it('takes what may have reached a target for what has reached it', async () => {
      const incident = incidentRow();
      const first = await committed(transition(incident));
      const second = await committed(transition(repeated(incident)));
      const { isSuperseded: overtaken, notified: told } = stores().deliveries;
      await storage.commit(
        settle(deliveryOf(first), { state: 'waiting', unknownAttempts: 1, settledAt: null }),
      );
      expect(await get(deliveryOf(first))).toMatchObject({ state: 'waiting', unknown_attempts: 1 });
      await storage.commit(settle(deliveryOf(first), { state: 'unknown', attempts: 2, unknownAttempts: 1 }));
      expect(await told(incident.id, 'hook')).toEqual({ isNotified: true, fallbacks: [] });
      expect(await overtaken(incident.id, 'hook', 0)).toBe(true);
      expect(await requeue({ states: ['unknown'] })).toMatchObject({ rows: [{ target: 'hook' }] });
      expect(await get(deliveryOf(first))).toMatchObject({ state: 'waiting', unknown_attempts: 1 });
      await storage.commit(
        settle(deliveryOf(first), { state: 'refused', attempts: 3, unknownAttempts: 1, retriedAt: NOW }),
      );
      await end(deliveryOf(second), 'unknown');
      expect(await requeue({})).toMatchObject({ rows: [], superseded: 1 });
    });

    describe('the mark of a process that sends', () => {
      const begin = (until: number) => storage.transaction(tx => tx.in('default').beginSending(until));
      const unknown = async (id: string) => (await get(id))?.unknown_attempts;
      const LATER = NOW + 60_000;

      it('says after an end without a word which deliveries may have been under way', async () => {
        expect(await begin(NOW)).toBe(0);
        const fresh = await one('waiting', { subject: 'fresh' });
        const [due, planned] = [
          await one('waiting', { subject: 'due' }),
          await one('waiting', { subject: 'planned' }),
        ];
        await storage.commit(settle(due, { state: 'waiting', attempts: 2, nextAt: NOW, settledAt: null }));
        await storage.commit(settle(planned, { state: 'waiting', nextAt: NOW + 1, settledAt: null }));
        const incident = incidentRow({ subject: 'two' });
        const head = deliveryOf(await committed(transition(incident)));
        const behind = deliveryOf(await committed(transition(closed(incident))));
        const [sent, given] = [
          await one('sent', { subject: 'sent' }),
          await one('exhausted', { subject: 'given up' }),
        ];
        await storage.transaction(tx => tx.in('other').beginSending(NOW));

        expect(await begin(LATER)).toBe(3);
        expect(await Promise.all([fresh, due, head].map(unknown))).toEqual([1, 1, 1]);
        expect(await Promise.all([planned, behind, sent, given].map(unknown))).toEqual([0, 0, 0, 0]);
        expect(await get(fresh)).toMatchObject({ state: 'waiting', attempts: 0 });
        expect((await get(fresh))?.last_error).toContain('may have been sent already');
      });

      it('keeps the later of two times, as a clock may have been set back, and counts each such end', async () => {
        await begin(LATER);
        await storage.transaction(tx => tx.in('default').extendSending(NOW));
        const id = await one('waiting');
        await storage.commit(settle(id, { state: 'waiting', nextAt: LATER, settledAt: null }));
        expect([await begin(NOW), await begin(NOW)]).toEqual([1, 1]);
        expect(await unknown(id)).toBe(2);
      });

      it('says nothing of deliveries after an end that was said', async () => {
        await begin(NOW);
        const id = await one('waiting');
        await storage.transaction(tx => tx.in('default').endSending());
        expect(await begin(LATER)).toBe(0);
        expect(await unknown(id)).toBe(0);
      });

      it('makes what is sent before its time due, unless one of it is settled', async () => {
        const [first, second] = [
          await one('waiting', { subject: 'a' }),
          await one('waiting', { subject: 'b' }),
        ];
        for (const id of [first, second])
          await storage.commit(settle(id, { state: 'waiting', nextAt: LATER, settledAt: null }));
        const hurry = () =>
          storage.commit({ kind: 'hurry', workspace: 'default', deliveryIds: [first, second] });
        await hurry();
        expect((await get(second))?.next_at).toBeNull();
        await end(second, 'sent');
        await expect(hurry()).rejects.toMatchObject({ code: 'conflict' });
      });
    });

    describe('putting back', () => {
      it('makes those in the given states wait for nothing, with a schedule that begins anew', async () => {
        const states = ['waiting', 'sent', 'refused', 'exhausted', 'skipped'] as const;
        const ids: string[] = [];
        for (const state of states) ids.push(await one(state, { subject: state }));
        const done = await requeue({});
        expect(done).toMatchObject({ superseded: 0, next: undefined });
        expect(done.rows.map(row => row.id).sort()).toEqual(ids.slice(2, 4));
        for (const id of ids.slice(2, 4))
          expect(await get(id)).toMatchObject({
            state: 'waiting',
            attempts: 3,
            retried_from: 3,
            retried_at: NOW,
            next_at: null,
            settled_at: null,
          });
        const left = await Promise.all([0, 1, 4].map(index => get(ids[index] ?? '')));
        expect(left.map(row => [row?.state, row?.retried_at])).toEqual([
          ['waiting', null],
          ['sent', null],
          ['skipped', null],
        ]);
      });

      it('takes only what fits the filter', async () => {
        const hook = await one('refused', { subject: 'a', notification: 'n1' });
        const log = await one('exhausted', { subject: 'b', notification: 'n1' }, ['log']);
        const other = await one('refused', { subject: 'c', notification: 'n2' });
        const ids = async (filter: Partial<RequeueFilter>) => {
          const { rows } = await requeue(filter);
          for (const { id } of rows) await end(id, id === log ? 'exhausted' : 'refused');
          return rows.map(row => row.id).sort();
        };
        expect(await ids({ target: 'log' })).toEqual([log]);
        expect(await ids({ notification: 'n2' })).toEqual([other]);
        expect(await ids({ states: ['exhausted'] })).toEqual([log]);
        expect(await ids({ id: hook })).toEqual([hook]);
        expect(await ids({ since: NOW + 400 * 86_400_000 })).toEqual([]);
        expect(await ids({ until: 1 })).toEqual([]);
        expect(await ids({ incident: 'none' })).toEqual([]);
        expect(await ids({})).toEqual([hook, log, other].sort());
      });

      it('takes the end along that was skipped for its sake, at its own target only', async () => {
        const incident = incidentRow();
        const alarm = await committed(transition(incident, { targets: ['hook', 'log'] }));
        const over = await committed(transition(closed(incident), { targets: ['hook', 'log'] }));
        for (const row of alarm.deliveries) await end(row.id, 'refused');
        for (const row of over.deliveries) await end(row.id, 'skipped', 0);
        const { rows } = await requeue({ target: 'hook' });
        const ids = [alarm.deliveries[0]?.id, over.deliveries[0]?.id];
        expect(rows.map(row => row.id).sort()).toEqual(ids);
        expect(rows.map(row => row.target)).toEqual(['hook', 'hook']);
        expect((await stores().deliveries.waiting('hook', '', 10)).map(row => row.id)).toEqual(ids);
        expect(await get(over.deliveries[1]?.id ?? '')).toMatchObject({ state: 'skipped' });
      });

      it('leaves and counts superseded deliveries', async () => {
        const incident = incidentRow();
        const first = await committed(transition(incident));
        const second = await committed(transition(repeated(incident)));
        await end(deliveryOf(first), 'exhausted');
        await end(deliveryOf(second), 'sent');
        expect(await requeue({})).toEqual({ rows: [], superseded: 1, next: undefined });
        expect(await get(deliveryOf(first))).toMatchObject({ state: 'exhausted', retried_at: null });
      });

      it('is not undone by the result of an attempt that began before, and is not sent twice when it arrived', async () => {
        const began = async (id: string) => (await get(id))?.retried_at ?? null;
        const id = await one('waiting');
        const retriedAt = await began(id);
        const states = ['waiting', 'refused'] as const;
        await requeue({ id, states });
        const attempt = attemptRow(id, 1);
        const lost = settle(id, { state: 'refused', retriedAt, attempt });
        await expect(storage.commit(lost)).rejects.toMatchObject({ code: 'conflict' });
        await storage.commit({ ...lost, lastError: 'status 404', isRequeued: true });
        expect(await get(id)).toMatchObject({
          state: 'waiting',
          attempts: 1,
          retried_from: 1,
          retried_at: NOW,
          next_at: null,
          settled_at: null,
          last_error: 'status 404',
        });
        expect(await stores().deliveries.attempts(id)).toEqual([attempt]);
        const again = settle(id, { state: 'waiting', attempts: 2, nextAt: 9, retriedAt: await began(id) });
        await expect(storage.commit({ ...again, isRequeued: true })).rejects.toMatchObject({
          code: 'conflict',
        });
        await requeue({ id, states });
        expect(await began(id)).toBe(NOW + 1);
        await expect(storage.commit(again)).rejects.toMatchObject({ code: 'conflict' });
        await storage.commit({ ...again, state: 'sent', settledAt: 5 });
        expect(await get(id)).toMatchObject({ state: 'sent', attempts: 2 });
      });

      it('keeps an end from being skipped whose alarm it puts back', async () => {
        const incident = incidentRow();
        const alarm = deliveryOf(await committed(transition(incident)));
        const over = deliveryOf(await committed(transition(closed(incident))));
        await end(alarm, 'refused');
        await requeue({ id: alarm });
        await expect(end(over, 'skipped', 0)).rejects.toMatchObject({ code: 'conflict' });
        await storage.commit(settle(alarm, { state: 'refused', retriedAt: NOW }));
        await end(over, 'skipped', 0);
        expect(await get(over)).toMatchObject({ state: 'skipped' });
      });

      it('goes through any number in slices, each once', async () => {
        const ids: string[] = [];
        for (let made = 0; made < 7; made++) ids.push(await one('refused', { subject: `s${made}` }));
        const seen: string[] = [];
        let after: string | undefined = '';
        let slices = 0;
        while (after !== undefined) {
          const { rows, next }: Awaited<ReturnType<typeof requeue>> = await requeue({}, { after, limit: 3 });
          seen.push(...rows.map(row => row.id));
          after = next;
          slices += 1;
        }
        expect(seen).toEqual(ids);
        expect(slices).toBe(3);
      });

      it('is one workspace’s own', async () => {
        const id = await one('refused');
        const { rows } = await storage.transaction(tx =>
          tx.in('another').requeue({ states: ['refused'] }, { now: NOW, after: '', limit: 10 }),
        );
        expect(rows).toEqual([]);
        expect(await get(id)).toMatchObject({ state: 'refused' });
      });
    });

    it('keeps the longest pause a target requested with its settings, until these are replaced', async () => {
      const keep = (sealed: string): Promise<void> =>
        storage.transaction(tx =>
          tx
            .in('default')
            .putRemovedTarget({ id: 'hook', target: 'hook', sealed, replaced_at: null, paused_until: null }),
        );
      const pausedUntil = async () => (await stores().removedTargets.list()).map(row => row.paused_until);
      const asked = async (subject: string, until: number): Promise<void> => {
        const id = deliveryOf(await committed(transition(incidentRow({ subject }))));
        await storage.commit(settle(id, { state: 'waiting', pause: { target: 'hook', until } }));
      };
      await asked('a', 5);
      expect(await pausedUntil()).toEqual([]);
      await keep('one');
      await asked('b', NOW);
      await asked('c', NOW - 1);
      expect(await pausedUntil()).toEqual([NOW]);
      await keep('two');
      expect(await pausedUntil()).toEqual([null]);
    });

    it('keeps the settings of targets, replaces and drops them, for each workspace', async () => {
      const keep = (workspace: string, id: string, sealed: string): Promise<void> =>
        storage.transaction(tx =>
          tx
            .in(workspace)
            .putRemovedTarget({ id, target: id, sealed, replaced_at: null, paused_until: null }),
        );
      await keep('default', 'b', 'one');
      await keep('default', 'a', 'two');
      await keep('default', 'b', 'three');
      await keep('another', 'b', 'four');
      await storage.transaction(tx => tx.in('default').replaceRemovedTarget({ id: 'b', replaced_at: 7 }));
      expect(await stores().removedTargets.list()).toEqual([
        { id: 'a', target: 'a', sealed: 'two', replaced_at: null, paused_until: null },
        { id: 'b', target: 'b', sealed: 'three', replaced_at: 7, paused_until: null },
      ]);
      await storage.transaction(tx => tx.in('default').deleteRemovedTarget('b'));
      await storage.transaction(tx => tx.in('default').deleteRemovedTarget('unknown'));
      expect((await stores().removedTargets.list()).map(({ id }) => id)).toEqual(['a']);
      expect(await storage.in('another').removedTargets.list()).toHaveLength(1);
    });
  });
}

/** The contract of deliveries that wait in groups, for one dialect. */
export function describeGroups(dialect: TestDialect): void {
  describe(`groups on ${dialect.name}`, () => {
    let database: TestDatabase;
    let storage: Storage;

    beforeEach(async () => {
      database = await dialect.create();
      storage = await database.open(testClock());
    });
    afterEach(async () => {
      await storage.close();
      await database.remove();
    });

    const stores = () => storage.in('default');
    const stateOf = async (made: TransitionOperation) =>
      (await stores().deliveries.get(deliveryOf(made)))?.state;

    async function member(group: string, subject: string): Promise<TransitionOperation> {
      const made = transition(incidentRow({ subject, group_id: group }));
      const deliveries = made.deliveries.map(row => ({
        ...row,
        state: 'grouped' as const,
        next_at: 9,
        group_id: group,
      }));
      await storage.commit({ ...made, deliveries });
      return made;
    }

    const flush = (id: string, restsUntil: number, { now = 5, onlyEnds = false } = {}): Promise<void> => {
      const group = { id, interval_ends_at: restsUntil };
      const sends = onlyEnds ? 'resolved' : 'all';
      return storage.commit({
        kind: 'flush',
        workspace: 'default',
        group,
        sends,
        moved: [],
        events: [],
        now,
      });
    };

    it('keeps members out of the queue until their group is flushed', async () => {
      const [a, other, b] = [await member('A', 'a'), await member('B', 'b'), await member('A', 'c')];
      expect(await stores().deliveries.waiting('hook', '', 10)).toEqual([]);
      expect((await stores().groups.members('', 10)).map(row => row.id)).toEqual(
        [a, other, b].map(deliveryOf),
      );
      expect((await stores().groups.members(deliveryOf(a), 1)).map(row => row.id)).toEqual([
        deliveryOf(other),
      ]);
      await flush('A', 100);
      expect(await stores().deliveries.waiting('hook', '', 10)).toMatchObject([
        { id: deliveryOf(a), state: 'waiting', next_at: null, group_id: 'A' },
        { id: deliveryOf(b), state: 'waiting', next_at: null, group_id: 'A' },
      ]);
      expect(await stateOf(other)).toBe('grouped');
    });

    it('moves a member to what it waits for by then, which another flush of its old group leaves alone', async () => {
      const [a, b] = [await member('A', 'a'), await member('A', 'b')];
      const columns = { silenced_by: null, inhibition: 'rule', inhibited_by: 'i1', next_at: null };
      await storage.commit({
        ...{ kind: 'flush', workspace: 'default', group: { id: 'A', interval_ends_at: 100 }, sends: 'all' },
        moved: [{ id: deliveryOf(a), incident: a.incident.id, group_id: 'held', ...columns }],
        ...{ events: [], now: 5 },
      });
      expect(await stores().deliveries.get(deliveryOf(a))).toMatchObject({
        ...{ state: 'grouped', group_id: 'held', ...columns },
      });
      expect(await stateOf(b)).toBe('waiting');
      expect((await stores().groups.members('', 10)).map(row => row.id)).toEqual([deliveryOf(a)]);
      await flush('held', 100);
      expect(await stateOf(a)).toBe('waiting');
    });

    it('flushes only resolutions when requested', async () => {
      const a = await member('A', 'a');
      await flush('A', 100, { onlyEnds: true });
      expect(await stateOf(a)).toBe('grouped');
    });

    it('remembers the end of the interval of a flushed group, and forgets it with a later flush', async () => {
      await flush('A', 100);
      await flush('B', 200);
      expect(await stores().groups.withinInterval()).toHaveLength(2);
      await flush('B', 300, { now: 150 });
      expect(await stores().groups.withinInterval()).toEqual([{ id: 'B', interval_ends_at: 300 }]);
    });

    it('skips dropped members with the end of their incident, and writes nothing when one was flushed', async () => {
      const [a, b] = [await member('A', 'a'), await member('B', 'b')];
      const endOf = (made: TransitionOperation): TransitionOperation => ({
        ...transition(closed(made.incident), { targets: [] }),
        dropped: [deliveryOf(made)],
      });
      await storage.commit(endOf(a));
      expect(await stateOf(a)).toBe('skipped');
      await flush('B', 100);
      await expect(storage.commit(endOf(b))).rejects.toMatchObject({ code: 'conflict' });
      expect(await stateOf(b)).toBe('waiting');
      expect(await stores().incidents.open()).toHaveLength(1);
    });
  });
}

for (const dialect of dialects) {
  describeDeliveries(dialect);
  describeGroups(dialect);
}
