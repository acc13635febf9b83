import { afterAll, beforeAll, expect, it } from 'vitest';
import { monotonicIds } from '../../src/lib/ids.ts';
import { until } from '../helpers/until.ts';
import { type PushedApp, startPushedApp } from './pushed-app.ts';

let app: PushedApp;
const ask: PushedApp['ask'] = (path, body) => app.ask(path, body);

beforeAll(async () => {
  app = await startPushedApp({
    makeIds: monotonicIds,
    notifications: {
      targets: [{ id: 'book', type: 'notifications_log' }],
      notifications: [
        {
          id: 'app_full',
          condition: 'high-volume',
          targets: ['book'],
          conf: { name: 'syslog:app', dataVolume: '10 events' },
        },
        { id: 'off', condition: 'no-data', disabled: true, conf: { name: '*' } },
      ],
    },
  });
});
afterAll(() => app.stop());

function push(events: number): Promise<void> {
  const sample = { kind: 'input', type: 'syslog', metric: 'in_events', value: events };
  return app.push([
    { ...sample, id: 'app' },
    { ...sample, id: 'unwatched' },
  ]);
}

it('reports what alerted, and what no enabled notification is about', async () => {
  await push(1);
  await app.clock.advance(1000);
  await until(async () => {
    await push(50);
    await app.clock.advance(1000);
    return (await ask('/report?since=1d')).body.items[0]?.incidents === 1;
  }, 'the incident');
  await until(async () => {
    await app.clock.advance(1000);
    return (await ask('/deliveries?state=sent')).body.items.length > 0;
  }, 'its delivery');
  expect((await ask('/report')).body.items).toEqual([
    {
      since: new Date(app.clock.now() - 7 * 86_400_000).toISOString(),
      until: new Date(app.clock.now()).toISOString(),
      incidents: 1,
      noisiest: [{ notification: 'app_full', incidents: 1, deliveries: 1 }],
      // The log keeps a record and alerts nobody.
      timeToNotify: { incidents: 0, p50Ms: null, p99Ms: null },
      failedTargets: [],
      unacknowledged: {
        total: 1,
        incidents: [
          {
            id: expect.any(String),
            notification: 'app_full',
            subject: 'own/syslog:app',
            state: 'open',
            severity: 'warn',
            openedAt: expect.any(String),
            closedAt: null,
            text: expect.stringContaining('syslog:app'),
          },
        ],
      },
      unwatched: {
        total: 1,
        components: [
          { component: 'syslog:unwatched', kind: 'input', id: 'unwatched', group: 'shop', pipeline: 'own' },
        ],
      },
    },
  ]);
});

it('leaves out an incident that somebody has acknowledged', async () => {
  const [incident] = (await ask('/incidents')).body.items;
  expect((await ask(`/incidents/${incident?.id}/acknowledge`, {})).status).toBe(200);
  expect((await ask('/report')).body.items).toMatchObject([
    { incidents: 1, unacknowledged: { total: 0, incidents: [] } },
  ]);
});

it.each([
  ['soon', 'since'],
  ['401d', 'since'],
  ['2025-13-01T00:00:00Z', 'since'],
  ['1d&until=2d', 'until'],
  ['1d&until=never', 'until'],
])('refuses since=%s', async (query, path) => {
  const { status, body } = await ask(`/report?since=${query}`);
  expect([status, body.errors]).toMatchObject([400, [{ path }]]);
});

it('takes times as well as how long ago', async () => {
  const query = 'since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:01%2B00:00';
  expect((await ask(`/report?${query}`)).body.items).toMatchObject([
    { since: '2026-01-01T00:00:00.000Z', until: '2026-01-01T00:00:01.000Z' },
  ]);
});

it('suggests nothing before a day is recorded, and says so', async () => {
  const { body } = await ask('/suggest?component=syslog:app');
  expect(body.items).toMatchObject([
    { component: 'syslog:app', group: 'shop', suggestions: [], recordedMinutes: expect.any(Number) },
  ]);
  expect((await ask('/suggest?limit=1')).body).toMatchObject({ count: 1, totalCount: 2 });
  expect((await ask('/m/default/suggest')).body.items).toEqual([]);
  expect((await ask('/suggest?limit=21')).status).toBe(400);
});
