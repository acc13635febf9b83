import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { closed, incidentRow, settle, transition } from './rows.ts';

const TIME = Date.UTC(2026, 0, 1);
const SPAN = { since: TIME - 1000, until: TIME + 86_400_000 };

describe.each(dialects)('a report on $name', dialect => {
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

  const report = (workspace = 'default') => storage.in(workspace).report;

  /** An incident whose delivery to each target ends in its state, after so many ms. */
  async function incident(
    notification: string,
    outcomes: Readonly<Record<string, readonly [Parameters<typeof settle>[1], number]>>,
  ): Promise<void> {
    const operation = transition(incidentRow({ notification, subject: `${notification}${Math.random()}` }), {
      targets: Object.keys(outcomes),
    });
    await storage.commit(operation);
    for (const { id, target } of operation.deliveries) {
      const [facts, afterMs] = outcomes[target] ?? [{}, 0];
      await storage.commit(settle(id, { settledAt: TIME + afterMs, ...facts }));
    }
  }

  it('counts the incidents and deliveries of each notification, the noisiest first', async () => {
    await incident('quiet', { hook: [{}, 5] });
    for (let times = 0; times < 3; times++) await incident('noisy', { hook: [{}, 5], mail: [{}, 5] });
    expect(await report().noisiest(SPAN, 1)).toEqual([{ notification: 'noisy', incidents: 3 }]);
    expect(await report().noisiest(SPAN, 9)).toHaveLength(2);
    expect(await report().deliveriesOf(SPAN, ['noisy'])).toEqual([{ notification: 'noisy', deliveries: 6 }]);
    expect(await report().deliveriesOf(SPAN, [])).toEqual([]);
    expect(await report().countIncidents(SPAN)).toBe(4);
  });

  it('measures from the opening until the first target was notified, those that keep a record left out', async () => {
    for (let ms = 1; ms <= 100; ms++)
      await incident('app', { hook: [{}, ms * 10], slower: [{}, 9000], bulletin: [{}, 0] });
    await incident('app', { hook: [{ state: 'refused' }, 1], bulletin: [{}, 0] });
    expect(await report().timeToNotify(SPAN, ['bulletin'], 1000)).toEqual({
      incidents: 100,
      p50Ms: 500,
      p99Ms: 990,
    });
    expect(await report().timeToNotify(SPAN, ['bulletin'], 11)).toMatchObject({ incidents: 10, p50Ms: 950 });
    expect(await report().timeToNotify(SPAN, [], 1000)).toMatchObject({ incidents: 101, p50Ms: 0 });
  });

  it('lists incidents that nobody acknowledged, open ones first and then the newest', async () => {
    const opened = [];
    for (let at = 0; at < 5; at++) opened.push(incidentRow({ subject: `app${at}` }));
    for (const one of opened) await storage.commit(transition(one));
    const [first, second, third, fourth, fifth] = opened;
    const acknowledge = async (one: IncidentRow | undefined, acknowledged: 0 | 1) => {
      const by = { changed_at: TIME, changed_by: 'ann', note: '' };
      if (one === undefined) throw new Error('no incident');
      await storage.transaction(tx =>
        tx.in('default').putAcknowledgement({ incident: one.id, acknowledged, ...by }),
      );
    };
    await acknowledge(second, 1);
    await acknowledge(third, 1);
    await acknowledge(third, 0);
    for (const one of [second, third, fourth])
      if (one !== undefined) await storage.commit(transition(closed(one)));
    const listed = await report().unacknowledged(SPAN, 3);
    expect(listed.total).toBe(4);
    expect(listed.rows.map(({ id }) => id)).toEqual([fifth?.id, first?.id, fourth?.id]);
    expect((await report().unacknowledged(SPAN, 9)).rows.map(({ id }) => id)).toContain(third?.id);
  });

  it('names the targets that failed, with how', async () => {
    await incident('app', { hook: [{}, 1], dead: [{ state: 'exhausted', attempts: 11 }, 1] });
    await incident('app', { dead: [{ state: 'refused' }, 1], slow: [{ state: 'unknown', attempts: 2 }, 1] });
    const none = { refused: 0, exhausted: 0, unknown: 0, retries: 0 };
    expect(await report().failedTargets(SPAN, 5)).toEqual([
      { ...none, target: 'dead', deliveries: 2, refused: 1, exhausted: 1, retries: 10 },
      { ...none, target: 'slow', deliveries: 1, unknown: 1, retries: 1 },
    ]);
    expect(await report().failedTargets(SPAN, 1)).toHaveLength(1);
  });

  it('is of its time and its workspace alone', async () => {
    await incident('app', { dead: [{ state: 'refused' }, 1], hook: [{}, 1] });
    const empty = { incidents: 0, p50Ms: null, p99Ms: null };
    for (const [one, span] of [
      [report('other'), SPAN],
      [report(), { since: TIME - 5000, until: TIME - 1000 }],
      [report(), { since: SPAN.until, until: SPAN.until + 1000 }],
    ] as const) {
      expect(await one.noisiest(span, 9)).toEqual([]);
      expect(await one.countIncidents(span)).toBe(0);
      expect(await one.unacknowledged(span, 9)).toEqual({ total: 0, rows: [] });
      expect(await one.failedTargets(span, 9)).toEqual([]);
      expect(await one.timeToNotify(span, [], 9)).toEqual(empty);
    }
  });
});
