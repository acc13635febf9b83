import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { BEGIN, MINUTE_MS, type PushedApp, startPushedApp } from './pushed-app.ts';

/** Events that come in each minute. */
const EVENTS = [600, 60, 0, 0, 0, 0, 300, 300];

let app: PushedApp;

function push(events: number): Promise<void> {
  const sample = { kind: 'input', type: 'syslog', metric: 'in_events' };
  return app.push([
    { ...sample, id: 'app', value: events },
    { ...sample, id: 'other', value: 5 },
  ]);
}

const SILENT = {
  id: 'app_silent',
  condition: 'no-data',
  targets: ['log'],
  conf: { name: 'syslog:app', timeWindow: '2m' },
};

beforeAll(async () => {
  app = await startPushedApp({
    notifications: {
      targets: [{ id: 'log', type: 'notifications_log' }],
      notifications: [
        { ...SILENT, id: 'saved' },
        { id: 'expiring', condition: 'certificate-expiration', targets: ['log'] },
      ],
    },
  });
  await push(1000);
  for (const [minute, events] of EVENTS.entries()) {
    await push(events);
    await app.clock.advance(MINUTE_MS);
    await app.recorded(minute);
  }
});

afterAll(() => app.stop());

const minute = (at: number): string => new Date(BEGIN + at * MINUTE_MS).toISOString();

it('answers what a notification that nobody has saved would have done, and keeps nothing of it', async () => {
  const { status, body } = await app.ask('/notifications/backtest', { from: '-8m', notification: SILENT });
  expect(status).toBe(200);
  expect(body.items).toEqual([
    {
      notification: 'app_silent',
      ...{ from: minute(0), to: minute(8), matched: 1, exact: true, reasons: [] },
      incidents: [
        {
          subject: 'own/syslog:app',
          openedAt: expect.any(String),
          closedAt: expect.any(String),
          severity: 'warn',
          text: expect.stringMatching(/^Source syslog:app in group shop is receiving data again after/),
        },
      ],
      incidentCount: 1,
      messages: [
        { at: expect.any(String), target: 'log', events: [{ subject: 'own/syslog:app', status: 'ALARM' }] },
        { at: expect.any(String), target: 'log', events: [{ subject: 'own/syslog:app', status: 'OK' }] },
      ],
      messageCount: 2,
      coverage: { missing: [] },
    },
  ]);
  expect(readdirSync(join(app.dataFolder, 'backtest'))).toEqual([]);
});

it('answers the same of a saved one, and finds in it the incident that was', async () => {
  const { body } = await app.ask('/notifications/saved/backtest', { from: minute(0) });
  const listed = await app.ask('/incidents?notification=saved');
  const times = z.object({
    items: z.tuple([z.looseObject({ openedAt: z.string(), closedAt: z.string() })]),
  });
  const [happened] = times.parse(listed.body).items;
  const [found] = z.tuple([z.looseObject({ incidents: times.shape.items })]).parse(body.items)[0].incidents;
  for (const name of ['openedAt', 'closedAt'] as const)
    expect(Math.abs(Date.parse(found[name]) - Date.parse(happened[name]))).toBeLessThanOrEqual(MINUTE_MS);
});

it('says of which time nothing was recorded, and why a short window is not exact', async () => {
  const conf = { ...SILENT.conf, timeWindow: '30s' };
  const { body } = await app.ask('/notifications/backtest', {
    ...{ from: '-20m', to: '-4m' },
    notification: { ...SILENT, conf },
  });
  expect(body.items).toEqual([
    expect.objectContaining({
      exact: false,
      reasons: [expect.stringContaining('a value a minute')],
      coverage: { missing: [{ from: minute(-12), to: minute(0) }] },
    }),
  ]);
});

it('finds nothing in a time before the first minute, and says that nothing was recorded of it', async () => {
  const time = { from: '-2h', to: '-1h' };
  const { status, body } = await app.ask('/notifications/backtest', { ...time, notification: SILENT });
  expect([status, body.items]).toEqual([
    200,
    [
      expect.objectContaining({
        incidents: [],
        messages: [],
        coverage: { missing: [{ from: minute(8 - 120), to: minute(8 - 60) }] },
      }),
    ],
  ]);
});

it.each([
  ['/notifications/nobody/backtest', {}, 404, /not found/],
  ['/notifications/expiring/backtest', {}, 422, /inputs and outputs/],
  ['/notifications/saved/backtest', { from: 'yesterday' }, 400, /from: must be how long ago/],
  ['/notifications/saved/backtest', { from: '-2h', to: '-3h' }, 400, /to must be at least a minute later/],
  ['/notifications/saved/backtest', { from: '-40d' }, 400, /from must be at most 31 days/],
  ['/notifications/backtest', { notification: { ...SILENT, condition: 'no' } }, 400, /condition/],
  ['/notifications/backtest', { notification: { ...SILENT, targets: ['nobody'] } }, 400, /nobody/],
])('%s with %j is refused', async (path, body, status, words) => {
  const refused = await app.ask(path, body);
  expect([refused.status, refused.body.message]).toEqual([status, expect.stringMatching(words)]);
});
