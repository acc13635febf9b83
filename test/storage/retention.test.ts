import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ids, monotonicIds } from '../../src/lib/ids.ts';
import type { TransitionOperation } from '../../src/storage/operations/transition.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import type { RetentionKind } from '../../src/storage/stores/retention.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase, TestDialect } from './contract.ts';
import { dialects } from './dialects.ts';
import {
  attemptRow,
  closed,
  incidentRow,
  messageRow,
  repeated,
  settle,
  transition,
  versionRow,
} from './rows.ts';

const ALL = { offset: 0, limit: 500 };
const DAY_MS = 86_400_000;
/** After everything that `rows.ts` makes, the ids included. */
const LATER = Date.UTC(2026, 0, 1) + 40 * DAY_MS;
const KINDS: readonly RetentionKind[] = [
  'deliveries',
  'events',
  'received',
  'incidents',
  'versions',
  'messages',
  'audit',
];

/** The contract of retention, for one dialect. */
export function describeRetention(dialect: TestDialect): void {
  describe(`retention on ${dialect.name}`, () => {
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

    async function remove(kind: RetentionKind, { before = LATER, limit = 100 } = {}): Promise<number> {
      let removed = 0;
      let after: string | undefined = '';
      while (after !== undefined) {
        const { ids, next } = await stores().retention.findExpired(kind, { before, after, limit });
        removed += await storage.transaction(tx => tx.in('default').removeExpired(kind, before, ids));
        after = next;
      }
      return removed;
    }

    async function sweep(before = LATER): Promise<void> {
      for (const kind of KINDS) await remove(kind, { before, limit: 3 });
    }

    async function commit(incident: IncidentRow, targets = ['hook']): Promise<TransitionOperation> {
      const operation = transition(incident, { targets });
      await storage.commit(operation);
      return operation;
    }

    async function settleAll(operation: TransitionOperation, state: 'sent' | 'refused' = 'sent') {
      for (const { id } of operation.deliveries) await storage.commit(settle(id, { state }));
    }

    const deliveryIds = async () => (await stores().deliveries.list({}, ALL)).rows.map(row => row.id);

    it('removes an incident that is over with all that belongs to it', async () => {
      const incident = incidentRow();
      const alarm = await commit(incident);
      const [delivery] = alarm.deliveries;
      if (delivery === undefined) throw new Error('no delivery');
      await storage.commit(settle(delivery.id, { attempts: 2, attempt: attemptRow(delivery.id, 1) }));
      await settleAll(await commit(closed(incident)));

      expect(await remove('deliveries')).toBe(2);
      expect(await stores().deliveries.attempts(delivery.id)).toEqual([]);
      expect(await remove('events')).toBe(2);
      expect(await remove('incidents')).toBe(1);
      expect(await remove('messages')).toBe(1);
      expect(await stores().incidents.list({}, ALL)).toEqual({ rows: [], total: 0 });
    });

    it('keeps what is younger than the limit', async () => {
      const incident = incidentRow();
      await settleAll(await commit(incident));
      await settleAll(await commit(closed(incident)));
      await storage.transaction(tx => tx.in('default').addMessage(messageRow('noon')));
      for (const kind of KINDS) expect(await remove(kind, { before: Date.UTC(2026, 0, 1) })).toBe(0);
    });

    it('forgets received ids of external events that are old, and knows since when the last ones came', async () => {
      const receive = (workspace: string, ids: Ids, event: string) =>
        storage.commit({ kind: 'receive', workspace, rows: [{ id: ids.next(), event }] });
      const start = Date.UTC(2026, 0, 1);
      const clock = testClock(start);
      const ids = monotonicIds(clock);
      await receive('default', ids, 'first');
      await clock.advance(DAY_MS);
      for (const event of ['second', 'first']) await receive('default', ids, event);
      await receive('other', ids, 'first');
      const { retention, events } = stores();
      expect((await events.known(['second', 'first', 'third'])).received.toSorted()).toEqual([
        'first',
        'second',
      ]);
      expect(await retention.receivedBefore(2)).toBeUndefined();
      expect(await retention.receivedBefore(1)).toBe(start + 1);
      expect(await remove('received', { before: start + 1 })).toBe(1);
      expect((await events.known(['first', 'second'])).received).toEqual(['second']);
      expect((await storage.in('other').events.known(['first'])).received).toEqual(['first']);
    });

    it('keeps what waits, its event and its incident', async () => {
      const incident = incidentRow();
      await settleAll(await commit(incident), 'refused');
      const end = await commit(closed(incident));
      await sweep();
      expect(await deliveryIds()).toEqual(end.deliveries.map(row => row.id));
      expect(await stores().events.get(end.event.id)).toEqual(end.event);
      expect(await stores().incidents.get(incident.id)).toBeDefined();
    });

    it('keeps the last alarm that reached a target as long as its incident is open', async () => {
      const incident = incidentRow();
      await settleAll(await commit(incident));
      const repeat = await commit(repeated(incident));
      await settleAll(repeat);
      await sweep();
      expect(await deliveryIds()).toEqual(repeat.deliveries.map(row => row.id));
      expect(await stores().deliveries.notified(incident.id, 'hook')).toMatchObject({ isNotified: true });
    });

    it('keeps what a fallback target has got until the resolution has reached the target it is the fallback of', async () => {
      const incident = incidentRow();
      const alarm = await commit(incident);
      const [lost] = alarm.deliveries;
      if (lost === undefined) throw new Error('there is no delivery');
      const standIn = { ...lost, id: `${lost.id}-for-spare`, target: 'spare', fallback_for: lost.target };
      await storage.commit(settle(lost.id, { state: 'refused', fallbackDeliveries: [standIn] }));
      await storage.commit(settle(standIn.id));
      const end = await commit(closed(incident));
      await sweep();
      expect(await stores().deliveries.notified(incident.id, lost.target)).toEqual({
        isNotified: false,
        fallbacks: ['spare'],
      });
      await settleAll(end);
      await sweep();
      expect(await deliveryIds()).toEqual([]);
    });

    it('keeps it until the target has heard the end', async () => {
      const incident = incidentRow();
      await settleAll(await commit(incident));
      const end = await commit(closed(incident));
      await sweep();
      expect(await stores().deliveries.notified(incident.id, 'hook')).toMatchObject({ isNotified: true });
      await settleAll(end);
      await sweep();
      expect(await deliveryIds()).toEqual([]);
    });

    it('keeps the last event of an open incident without deliveries', async () => {
      const incident = incidentRow();
      const first = await commit(incident, []);
      const last = transition(
        { ...repeated(incident), last_event_at: first.event.created_at + 1 },
        { targets: [] },
      );
      await storage.commit(last);
      await sweep();
      expect(await stores().events.get(first.event.id)).toBeUndefined();
      expect(await stores().events.get(last.event.id)).toEqual(last.event);
    });

    it("keeps a notification's message while an incident of it is open", async () => {
      const incident = incidentRow();
      await commit(incident, []);
      await storage.transaction(tx => tx.in('default').addMessage(messageRow('noon')));
      expect(await remove('messages')).toBe(1);
      expect((await stores().messages.list(ALL)).rows.map(row => row.id)).toEqual([incident.notification]);
    });

    it('keeps the 20 newest versions of the configuration', async () => {
      const rows = Array.from({ length: 23 }, () => versionRow());
      await storage.transaction(async tx => {
        for (const row of rows) await tx.in('default').addVersion(row);
      });
      expect(await remove('versions')).toBe(3);
      expect(await stores().versions.get(rows[2]?.id ?? '')).toBeUndefined();
      expect(await stores().versions.get(rows[3]?.id ?? '')).toEqual(rows[3]);
      expect(await remove('versions')).toBe(0);
    });

    it('looks at a row again when it is removed', async () => {
      const incident = incidentRow();
      await commit(incident, []);
      await storage.commit(transition(closed(incident), { targets: [] }));
      const { ids } = await stores().retention.findExpired('messages', {
        before: LATER,
        after: '',
        limit: 10,
      });
      await commit(incidentRow(), []);
      expect(await storage.transaction(tx => tx.in('default').removeExpired('messages', LATER, ids))).toBe(0);
    });

    it('touches nothing of another workspace', async () => {
      const operation = transition(incidentRow(), { workspace: 'other' });
      await storage.commit(operation);
      for (const { id } of operation.deliveries)
        await storage.commit(settle(id, { workspace: 'other', state: 'refused' }));
      await sweep();
      expect((await storage.in('other').deliveries.list({}, ALL)).total).toBe(1);
    });

    it('leaves every delivery that waits its event, and every incident that is open what it needs', async () => {
      const step = fc.record({
        subject: fc.integer({ min: 0, max: 2 }),
        act: fc.constantFrom('open', 'repeat', 'close', 'sent', 'refused', 'sweep'),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async steps => {
          await history(steps);
          await sweep();
          await expectWhole();
        }),
        { numRuns: 25 },
      );
    });

    const unsettled: string[] = [];
    const current = new Map<number, IncidentRow>();
    const reached = new Map<string, string>();

    async function history(
      steps: readonly { readonly subject: number; readonly act: string }[],
    ): Promise<void> {
      for (const { subject, act } of steps) {
        const present = current.get(subject);
        if (act === 'sweep') await sweep();
        else if (act === 'sent' || act === 'refused') await settleNext(act);
        else if (act === 'open' && present === undefined)
          await go(subject, incidentRow({ subject: `input${subject}` }));
        else if (act === 'repeat' && present !== undefined) await go(subject, repeated(present));
        else if (act === 'close' && present !== undefined) await go(subject, closed(present));
      }
    }

    async function go(subject: number, incident: IncidentRow): Promise<void> {
      const operation = await commit(incident, ['hook', 'mail']);
      unsettled.push(...operation.deliveries.map(row => row.id));
      if (incident.state === 'open') current.set(subject, incident);
      else current.delete(subject);
    }

    async function settleNext(state: 'sent' | 'refused'): Promise<void> {
      const id = unsettled.shift();
      if (id === undefined) return;
      const row = await stores().deliveries.get(id);
      await storage.commit(settle(id, { state }));
      if (row?.status === 'ALARM' && state === 'sent')
        reached.set(`${row.incident_id} ${row.target}`, row.incident_id);
    }

    async function expectWhole(): Promise<void> {
      const waiting = await Promise.all(unsettled.map(id => stores().deliveries.get(id)));
      const events = await stores().events.byIds(waiting.map(row => row?.event_id ?? 'lost'));
      expect(new Set(events.map(event => event.id))).toEqual(new Set(waiting.map(row => row?.event_id)));
      const open = await stores().incidents.open();
      expect(new Set(open.map(row => row.id))).toEqual(new Set([...current.values()].map(row => row.id)));
      const ends = waiting.flatMap(row => (row?.status === 'OK' ? [`${row.incident_id} ${row.target}`] : []));
      for (const [key, incident] of reached) {
        const isNeeded = open.some(row => row.id === incident) || ends.includes(key);
        const [, target = ''] = key.split(' ');
        if (isNeeded)
          expect(await stores().deliveries.notified(incident, target)).toMatchObject({ isNotified: true });
      }
    }
  });
}

for (const dialect of dialects) describeRetention(dialect);
