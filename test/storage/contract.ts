import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/lib/clock.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import { testClock } from '../helpers/clock.ts';
import {
  attemptRow,
  closed,
  deliveryOf,
  incidentRow,
  keyRow,
  repeated,
  settle,
  transition,
  userRow,
} from './rows.ts';

/** A database of its own, empty at first. */
export interface TestDatabase {
  open(clock: Clock): Promise<Storage>;
  remove(): Promise<void>;
}

export interface TestDialect {
  readonly name: string;
  create(): Promise<TestDatabase>;
}

const FIRST_PAGE = { offset: 0, limit: 100 };

/** The contract of the storage interface, for one dialect. */
export function describeStorage(dialect: TestDialect): void {
  describe(`storage on ${dialect.name}`, () => {
    let database: TestDatabase;
    let storage: Storage;
    const clock = testClock();

    beforeEach(async () => {
      database = await dialect.create();
      storage = await database.open(clock);
    });
    afterEach(async () => {
      await storage.close();
      await database.remove();
    });

    async function reopen(): Promise<void> {
      await storage.close();
      storage = await database.open(clock);
    }

    const stores = () => storage.in('default');

    async function opened(facts: Partial<IncidentRow> = {}): Promise<IncidentRow> {
      const incident = incidentRow(facts);
      await storage.commit(transition(incident));
      return incident;
    }

    describe('transitions', () => {
      it('writes the incident, its event, its deliveries and its message', async () => {
        const incident = incidentRow();
        const operation = transition(incident, { targets: ['hook', 'log'] });
        await storage.commit(operation);

        expect(await stores().incidents.get(incident.id)).toEqual(incident);
        expect(await stores().incidents.open()).toEqual([incident]);
        expect(await stores().events.get(operation.event.id)).toEqual(operation.event);
        const deliveries = await stores().deliveries.list({ incident: incident.id }, FIRST_PAGE);
        expect(deliveries.rows).toEqual([...operation.deliveries].reverse());
        expect(await stores().messages.list(FIRST_PAGE)).toEqual({ rows: [operation.message], total: 1 });
      });

      it('repeats and then closes an open incident', async () => {
        const incident = await opened();
        await storage.commit(transition(repeated(incident)));
        expect(await stores().incidents.get(incident.id)).toEqual(repeated(incident));

        const end = closed(repeated(incident));
        await storage.commit(transition(end));
        expect(await stores().incidents.get(incident.id)).toEqual(end);
        expect(await stores().incidents.open()).toEqual([]);
        expect((await stores().deliveries.list({}, FIRST_PAGE)).total).toBe(3);
      });

      it('refuses a wrong seq and writes nothing of it', async () => {
        const incident = await opened();
        const late = transition({ ...incident, seq: 3 });

        await expect(storage.commit(late)).rejects.toMatchObject({ code: 'conflict' });
        expect(await stores().incidents.get(incident.id)).toEqual(incident);
        expect(await stores().events.get(late.event.id)).toBeUndefined();
        expect((await stores().deliveries.list({}, FIRST_PAGE)).total).toBe(1);
      });

      it('refuses to change an incident that is closed', async () => {
        const end = closed(await opened());
        await storage.commit(transition(end));
        await expect(storage.commit(transition(repeated(end)))).rejects.toMatchObject({ code: 'conflict' });
      });

      it('refuses a second open incident of the same notification and subject, until the first is closed', async () => {
        const first = await opened();
        const second = incidentRow();
        await expect(storage.commit(transition(second))).rejects.toMatchObject({ code: 'conflict' });

        await storage.commit(transition(incidentRow({ subject: 'syslog:other' })));
        await storage.commit(transition(closed(first)));
        await storage.commit(transition(second));
        expect(await stores().incidents.open()).toHaveLength(2);
      });

      it('refuses a delivery of the same incident and seq to the same target', async () => {
        const twice = transition(incidentRow(), { targets: ['hook', 'hook'] });
        await expect(storage.commit(twice)).rejects.toMatchObject({ code: 'conflict' });
        expect(await stores().incidents.open()).toEqual([]);
      });

      it('writes a removed message anew with the next transition, and replaces one that is there', async () => {
        const incident = await opened();
        await storage.transaction(tx => tx.in('default').removeMessage(incident.notification));
        expect(await stores().messages.list(FIRST_PAGE)).toEqual({ rows: [], total: 0 });

        for (const step of [repeated(incident), closed(repeated(incident))]) {
          const next = transition(step);
          await storage.commit(next);
          expect(await stores().messages.list(FIRST_PAGE)).toEqual({ rows: [next.message], total: 1 });
        }
      });
    });

    describe('settlements', () => {
      it('records a retry with its attempt and leaves the delivery waiting', async () => {
        const operation = transition(incidentRow());
        const id = deliveryOf(operation);
        await storage.commit(operation);
        const retry = {
          state: 'waiting',
          nextAt: 99,
          lastStatus: 503,
          lastError: 'later',
          settledAt: null,
        } as const;
        await storage.commit(settle(id, { ...retry, attempt: attemptRow(id, 1) }));

        expect(await stores().deliveries.get(id)).toMatchObject({
          state: 'waiting',
          attempts: 1,
          next_at: 99,
          last_status: 503,
          last_error: 'later',
          settled_at: null,
        });
        expect(await stores().deliveries.attempts(id)).toEqual([attemptRow(id, 1)]);
        expect(await stores().deliveries.waiting('hook', '', 10)).toHaveLength(1);
        expect(await stores().deliveries.notified(operation.incident.id, 'hook')).toMatchObject({
          isNotified: false,
        });
      });

      it('settles a delivery once', async () => {
        const operation = transition(incidentRow());
        const id = deliveryOf(operation);
        await storage.commit(operation);
        await storage.commit(settle(id));

        const again = settle(id, { state: 'refused', attempt: attemptRow(id, 2) });
        await expect(storage.commit(again)).rejects.toMatchObject({ code: 'conflict' });
        expect(await stores().deliveries.get(id)).toMatchObject({ state: 'sent', last_status: 200 });
        expect(await stores().deliveries.attempts(id)).toEqual([]);
        expect(await stores().deliveries.waiting('hook', '', 10)).toEqual([]);
      });

      it('knows the targets that a firing event has reached, not those that only got a resolution', async () => {
        const incident = await opened();
        const end = transition(closed(incident), { targets: ['log'] });
        await storage.commit(end);
        await storage.commit(settle(deliveryOf(end)));
        expect(await stores().deliveries.notified(incident.id, 'log')).toMatchObject({ isNotified: false });

        const [firing] = await stores().deliveries.waiting('hook', '', 1);
        await storage.commit(settle(firing?.id ?? ''));
        expect(await stores().deliveries.notified(incident.id, 'hook')).toMatchObject({ isNotified: true });
      });
    });

    it('refuses only the poisoned operation of many that are committed at once', async () => {
      const first = await opened({ subject: 'taken' });
      const subjects = Array.from({ length: 60 }, (_, index) => (index === 37 ? 'taken' : `input${index}`));
      const outcomes = await Promise.allSettled(
        subjects.map(subject => storage.commit(transition(incidentRow({ subject })))),
      );

      expect(outcomes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([37]);
      const open = await stores().incidents.open();
      expect(open.map(incident => incident.subject)).toEqual([
        first.subject,
        ...subjects.filter(subject => subject !== 'taken'),
      ]);
    });

    it('keeps operations in the order they were committed in, within and across batches', async () => {
      let incident = incidentRow();
      const steps = [incident];
      for (let count = 0; count < 1200; count++) {
        incident = repeated(incident);
        steps.push(incident);
      }
      await Promise.all(steps.map(step => storage.commit(transition(step, { targets: [] }))));
      expect(await stores().incidents.get(incident.id)).toEqual(incident);
    });

    describe('lists', () => {
      it('pages incidents newest first and counts all that match', async () => {
        const one = await opened({ subject: 'a' });
        const two = await opened({ subject: 'b', notification: 'other' });
        const three = await opened({ subject: 'c' });
        await storage.commit(transition(closed(one)));

        const { incidents } = stores();
        const idsOf = async (filter: Parameters<typeof incidents.list>[0], offset = 0, limit = 100) => {
          const { rows, total } = await incidents.list(filter, { offset, limit });
          return { ids: rows.map(row => row.id), total };
        };
        expect(await idsOf({})).toEqual({ ids: [three.id, two.id, one.id], total: 3 });
        expect(await idsOf({}, 1, 1)).toEqual({ ids: [two.id], total: 3 });
        expect(await idsOf({}, 9)).toEqual({ ids: [], total: 3 });
        expect(await idsOf({ state: 'open' })).toEqual({ ids: [three.id, two.id], total: 2 });
        expect(await idsOf({ notification: 'app_silent' })).toEqual({ ids: [three.id, one.id], total: 2 });
        expect(await idsOf({ notification: 'app_silent', state: 'closed' })).toEqual({
          ids: [one.id],
          total: 1,
        });
      });

      it('filters and pages deliveries newest first', async () => {
        const incident = incidentRow();
        const other = incidentRow({ notification: 'other' });
        const start = transition(incident, { targets: ['hook', 'log'] });
        const elsewhere = transition(other, { targets: ['hook'] });
        await storage.commit(start);
        await storage.commit(elsewhere);
        const [toHook = '', toLog = ''] = start.deliveries.map(row => row.id);
        const last = deliveryOf(elsewhere);
        await storage.commit(settle(toLog));

        const { deliveries } = stores();
        const idsOf = async (filter: Parameters<typeof deliveries.list>[0], offset = 0, limit = 100) => {
          const { rows, total } = await deliveries.list(filter, { offset, limit });
          return { ids: rows.map(row => row.id), total };
        };
        expect(await idsOf({})).toEqual({ ids: [last, toLog, toHook], total: 3 });
        expect(await idsOf({}, 1, 1)).toEqual({ ids: [toLog], total: 3 });
        expect(await idsOf({ state: 'sent' })).toEqual({ ids: [toLog], total: 1 });
        expect(await idsOf({ target: 'hook' })).toEqual({ ids: [last, toHook], total: 2 });
        expect(await idsOf({ notification: 'other' })).toEqual({ ids: [last], total: 1 });
        expect(await idsOf({ incident: incident.id, state: 'waiting' })).toEqual({ ids: [toHook], total: 1 });
      });

      it('hands out what waits for a target oldest first, from a given id on', async () => {
        const operations = ['a', 'b', 'c'].map(subject => transition(incidentRow({ subject })));
        for (const operation of operations) await storage.commit(operation);
        const [first = '', second = '', third = ''] = operations.map(deliveryOf);

        const waitingAfter = async (id: string, limit: number) =>
          (await stores().deliveries.waiting('hook', id, limit)).map(row => row.id);
        expect(await waitingAfter('', 2)).toEqual([first, second]);
        expect(await waitingAfter(second, 2)).toEqual([third]);
        expect(await stores().deliveries.waiting('log', '', 2)).toEqual([]);
      });

      it('finds the first event of each incident by when it was written, whatever its id is', async () => {
        const opened = ['a', 'b', 'c'].map(subject => transition(incidentRow({ subject })));
        for (const operation of opened) await storage.commit(operation);
        const [one, other] = opened;
        if (one === undefined || other === undefined) throw new Error('two incidents are needed');
        const again = transition(repeated(one.incident));
        const event = { ...again.event, id: ' before all others', created_at: one.event.created_at + 1 };
        await storage.commit({ ...again, event });

        const { events } = stores();
        const first = await events.firstOf([other.incident.id, one.incident.id, 'unknown']);
        expect(first.toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual([one.event, other.event]);
        expect(await events.firstOf([])).toEqual([]);
        const tooMany = Array.from({ length: 501 }, () => one.incident.id);
        await expect(events.firstOf(tooMany)).rejects.toMatchObject({ code: 'invalid-request' });
        expect(await storage.in('other').events.firstOf([one.incident.id])).toEqual([]);
      });

      it('reads events by their ids, in the order of the ids, and refuses too many', async () => {
        const operations = ['a', 'b'].map(subject => transition(incidentRow({ subject })));
        for (const operation of operations) await storage.commit(operation);
        const [first = '', second = ''] = operations.map(operation => operation.event.id);

        const { events } = stores();
        expect((await events.byIds([second, 'unknown', first])).map(row => row.id)).toEqual([first, second]);
        expect(await events.byIds([])).toEqual([]);
        const tooMany = Array.from({ length: 501 }, () => first);
        await expect(events.byIds(tooMany)).rejects.toMatchObject({ code: 'invalid-request' });
      });
    });

    describe('transactions', () => {
      it('keeps users, keys and values', async () => {
        const admin = userRow('admin');
        await storage.transaction(async tx => {
          expect(await tx.countUsers()).toBe(0);
          await tx.addUser(admin);
          await tx.addKey(keyRow('second', 2));
          await tx.addKey(keyRow('first', 1));
          await tx.setInstanceValue('key-ring', 'one');
          await tx.setInstanceValue('key-ring', 'two');
          expect(await tx.countUsers()).toBe(1);
          expect(await tx.keys()).toHaveLength(2);
          expect(await tx.instanceValue('key-ring')).toBe('two');
        });

        expect(await storage.users.count()).toBe(1);
        expect(await storage.users.byName('admin')).toEqual(admin);
        expect(await storage.users.byId(admin.id)).toEqual(admin);
        expect(await storage.users.byId('unknown')).toBeUndefined();
        expect(await storage.users.byName('nobody')).toBeUndefined();
        expect((await storage.keys()).map(key => key.kid)).toEqual(['first', 'second']);
        expect(await storage.instanceValue('key-ring')).toBe('two');
        expect(await storage.instanceValue('unknown')).toBeUndefined();
      });

      it('refuses a name that is taken', async () => {
        await storage.transaction(tx => tx.addUser(userRow('admin')));
        const again = storage.transaction(tx => tx.addUser(userRow('admin')));
        await expect(again).rejects.toMatchObject({ code: 'conflict' });
        expect(await storage.users.count()).toBe(1);
      });

      it('undoes everything when its work throws', async () => {
        const failing = storage.transaction(async tx => {
          await tx.addUser(userRow('admin'));
          await tx.setInstanceValue('half', 'done');
          throw new Error('changed my mind');
        });
        await expect(failing).rejects.toThrow('changed my mind');
        expect(await storage.users.count()).toBe(0);
        expect(await storage.instanceValue('half')).toBeUndefined();
      });

      it('lets the first of two that both want to be first win', async () => {
        const becomeFirst = (name: string) =>
          storage.transaction(async tx => {
            if ((await tx.countUsers()) > 0) return false;
            await tx.addUser(userRow(name));
            return true;
          });
        expect(await Promise.all([becomeFirst('one'), becomeFirst('two')])).toEqual([true, false]);
        expect(await storage.users.byName('two')).toBeUndefined();
      });

      it('never shares the writer: a commit asked for meanwhile comes after it and outlives its end', async () => {
        const done: string[] = [];
        const say = (what: string) => () => void done.push(what);
        let meanwhile: Promise<void> | undefined;
        const before = storage.commit(transition(incidentRow({ subject: 'before' }))).then(say('before'));
        const failing = storage.transaction(async tx => {
          await tx.setInstanceValue('half', 'done');
          meanwhile = storage
            .commit(transition(incidentRow({ subject: 'meanwhile' })))
            .then(say('meanwhile'));
          await storage.users.count();
          await tx.setInstanceValue('half', 'all');
          say('work')();
          throw new Error('changed my mind');
        });
        await expect(failing).rejects.toThrow('changed my mind');
        await Promise.all([before, meanwhile]);
        expect(done).toEqual(['before', 'work', 'meanwhile']);
        expect(await stores().incidents.open()).toHaveLength(2);
        expect(await storage.instanceValue('half')).toBeUndefined();
      });

      it('is not starved by a stream of commits', async () => {
        let streaming = true;
        let commits = 0;
        const streams = Array.from({ length: 4 }, async (_, stream) => {
          while (streaming) {
            await storage.commit(transition(incidentRow({ subject: `${stream}:${commits++}` })));
          }
        });
        await storage.transaction(tx => tx.setInstanceValue('heard', 'yes'));
        streaming = false;
        await Promise.all(streams);
        expect(await storage.instanceValue('heard')).toBe('yes');
      });

      it('is rolled back after 30 s of hanging, and the writes behind it go on', async () => {
        let touch = async (): Promise<void> => {};
        let started = (): void => {};
        const running = new Promise<void>(resolve => {
          started = resolve;
        });
        const hanging = storage.transaction(async tx => {
          await tx.addUser(userRow('ghost'));
          touch = () => tx.addUser(userRow('late'));
          started();
          await new Promise(() => {});
        });
        const refused = expect(hanging).rejects.toMatchObject({ code: 'unavailable' });
        await running;
        const behind = storage.commit(transition(incidentRow()));
        await clock.advance(30_000);
        await refused;
        await behind;
        await expect(touch()).rejects.toThrow();
        expect(await storage.users.count()).toBe(0);
      });
    });

    it('keeps everything over a restart', async () => {
      const incident = await opened();
      await storage.transaction(tx => tx.addUser(userRow('admin')));
      await reopen();
      expect(await stores().incidents.open()).toEqual([incident]);
      expect(await storage.users.count()).toBe(1);
      await storage.commit(transition(repeated(incident)));
    });

    it('keeps workspaces separate, even with the same ids in each', async () => {
      const operation = transition(incidentRow(), { workspace: 'blue' });
      await storage.commit(operation);
      await storage.commit({ ...operation, workspace: 'green' });
      await storage.commit(settle(deliveryOf(operation), { workspace: 'green' }));

      const blue = storage.in('blue');
      expect(await blue.deliveries.get(deliveryOf(operation))).toMatchObject({ state: 'waiting' });
      expect(await storage.in('green').deliveries.get(deliveryOf(operation))).toMatchObject({
        state: 'sent',
      });
      expect(await stores().incidents.open()).toEqual([]);
      expect(await stores().incidents.get(operation.incident.id)).toBeUndefined();
      expect(await stores().events.get(operation.event.id)).toBeUndefined();
      expect(await stores().deliveries.get(deliveryOf(operation))).toBeUndefined();
      expect((await stores().deliveries.list({}, FIRST_PAGE)).total).toBe(0);
      expect((await stores().messages.list(FIRST_PAGE)).total).toBe(0);
    });

    it('writes what it has accepted before it closes, and nothing afterwards', async () => {
      const subjects = Array.from({ length: 700 }, (_, index) => `input${index}`);
      const commits = subjects.map(subject => storage.commit(transition(incidentRow({ subject }))));
      const change = storage.transaction(tx => tx.setInstanceValue('last', 'word'));
      const closing = storage.close();
      const late = storage.commit(transition(incidentRow({ subject: 'late' })));
      await expect(late).rejects.toMatchObject({ code: 'unavailable' });
      await Promise.all([...commits, change, closing]);
      await storage.close();
      await expect(storage.users.count()).rejects.toMatchObject({ code: 'unavailable' });
      await expect(storage.transaction(async () => {})).rejects.toMatchObject({ code: 'unavailable' });

      storage = await database.open(clock);
      expect(await stores().incidents.open()).toHaveLength(700);
      expect(await storage.instanceValue('last')).toBe('word');
    });
  });
}
