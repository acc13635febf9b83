import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { until } from '../helpers/until.ts';
import { BEGIN, MINUTE_MS, type PushedApp, startPushedApp } from './pushed-app.ts';

let app: PushedApp;
const ask: PushedApp['ask'] = (path, body) => app.ask(path, body);

beforeAll(async () => {
  app = await startPushedApp({
    files: { 'outputs.yml': 'outputs:\n  - {id: unused, type: s3, disabled: true}\n' },
  });
  await app.push([
    { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 1000 },
    { kind: 'output', type: 's3', id: 'lake', metric: 'out_events', value: 500 },
    { kind: 'output', type: 's3', id: 'unused', metric: 'out_events', value: 1 },
  ]);
  for (const [minute, events] of [600, 60, 0].entries()) {
    await app.push([
      { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: events },
      { kind: 'output', type: 's3', id: 'lake', metric: 'out_events', value: events / 2 },
      { kind: 'output', type: 's3', id: 'lake', metric: 'queue_size', value: events * 10 },
      { kind: 'output', type: 's3', id: 'lake', metric: 'queue_capacity', value: 10_000 },
    ]);
    await app.clock.advance(MINUTE_MS);
    await app.recorded(minute);
  }
});

afterAll(() => app.stop());

const query = (facts: object = {}) =>
  ask('/system/metrics/query', {
    components: ['syslog:app'],
    metrics: ['in_events'],
    from: '2026-01-01T00:00:00Z',
    to: '2026-01-01T00:04:00Z',
    ...facts,
  });

const pointsOf = async (facts: object = {}) => (await query(facts)).body.items.map(({ points }) => points);

const at = (minute: number) => BEGIN + minute * MINUTE_MS;

describe('what was recorded', () => {
  it('is a series by minute, with nothing where nothing is known', async () => {
    expect((await query()).body).toEqual({
      count: 1,
      items: [
        {
          component: 'syslog:app',
          kind: 'input',
          id: 'app',
          group: 'shop',
          pipeline: 'own',
          metric: 'in_events',
          points: [
            [at(0), 1600],
            [at(1), 60],
            [at(2), 0],
            [at(3), null],
          ],
        },
      ],
    });
  });

  it('is added up in longer steps, and of a queue the fullest', async () => {
    const both = { components: ['*'], kind: 'output', metrics: ['queue_size', 'out_events'], step: '2m' };
    expect(
      (await query(both)).body.items.map(({ component, metric, points }) => [component, metric, points]),
    ).toEqual([
      [
        's3:unused',
        'out_events',
        [
          [at(0), 1],
          [at(2), null],
        ],
      ],
      [
        's3:unused',
        'queue_size',
        [
          [at(0), null],
          [at(2), null],
        ],
      ],
      [
        's3:lake',
        'out_events',
        [
          [at(0), 830],
          [at(2), 0],
        ],
      ],
      [
        's3:lake',
        'queue_size',
        [
          [at(0), 6000],
          [at(2), 0],
        ],
      ],
    ]);
  });

  it('is that of a group below its path, and of nobody nothing', async () => {
    const inGroup = async (group: string) => {
      const body = { components: ['app'], metrics: ['health'], from: '2026-01-01T00:02:00Z' };
      return ask(`/m/${group}/system/metrics/query`, body);
    };
    expect((await inGroup('shop')).body.items).toMatchObject([{ points: [[at(2), 0]] }]);
    expect((await inGroup('default')).body.items).toEqual([]);
    expect((await inGroup('nobody')).status).toBe(404);
    expect(await pointsOf({ components: ['nobody'] })).toEqual([]);
  });

  it.each([
    ['the end is not later than the beginning', { to: '2026-01-01T00:00:00Z' }, 'to'],
    ['the step is no whole minutes', { step: '90s' }, 'step'],
    ['there would be too many values', { from: '2025-06-01T00:00:00Z' }, 'step'],
    ['hours are asked for in minutes', { metrics: ['open_seconds'], step: '30m' }, 'step'],
    ['a metric is none', { metrics: ['weight'] }, 'metrics[0]'],
    ['no component is named', { components: [] }, 'components'],
  ])('is refused when %s', async (_, facts, path) => {
    const { status, body } = await query(facts);
    expect([status, body.errors]).toMatchObject([400, [{ path }]]);
  });
});

describe('what components do now', () => {
  const rows = async (search = '') => (await ask(`/system/metrics${search}`)).body.items;

  it('is a row for each, keyed by metric as in the family, but for those that are disabled', async () => {
    const model = { input: 'syslog:app', group: 'shop', id: 'app', pipeline: 'own' };
    const lake = { output: 's3:lake', group: 'shop', id: 'lake', pipeline: 'own' };
    await app.push([{ kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 120 }]);
    await app.clock.advance(MINUTE_MS);
    await app.recorded(3);
    expect(await rows()).toEqual([
      {
        'health.inputs': [{ model, val: 0 }],
        'total.in_events': [{ model, val: 120, rate: 2 }],
      },
      {
        'health.outputs': [{ model: lake, val: 0 }],
        'pq.queue_size': [{ model: lake, val: 0 }],
        'pq.queue_capacity': [{ model: lake, val: 10_000 }],
      },
    ]);
  });

  it('is filtered by kind, name, metric and group, and comes page by page', async () => {
    expect(await rows('?kind=output')).toHaveLength(1);
    expect(await rows('?component=syslog:*')).toHaveLength(1);
    expect((await rows('?metricNameFilter=^health&metricNameFilter=capacity')).map(Object.keys)).toEqual([
      ['health.inputs'],
      ['health.outputs', 'pq.queue_capacity'],
    ]);
    expect((await ask('/system/metrics?limit=1&offset=1&numBuckets=1')).body).toMatchObject({
      count: 1,
      totalCount: 2,
      offset: 1,
    });
    expect((await ask('/m/default/system/metrics')).body.items).toEqual([]);
    for (const bad of ['(', '(%3F=a)'])
      expect((await ask(`/system/metrics?metricNameFilter=${bad}`)).status).toBe(400);
  });
});

describe('hours', () => {
  it('answer what minutes do not reach, and what is known of hours only', async () => {
    await app.clock.advance(65 * MINUTE_MS);
    const hourly = { metrics: ['in_events', 'open_seconds', 'last_data', 'minutes'], step: '1h' };
    const seriesFrom = async (from: string) => {
      const { items } = (await query({ ...hourly, from, to: '2026-01-01T02:00:00Z' })).body;
      return new Map(items.map(({ metric, points }) => [metric, points]));
    };
    await until(async () => {
      await app.clock.advance(MINUTE_MS);
      const [first] = z
        .array(z.tuple([z.number(), z.number().nullable()]))
        .parse((await seriesFrom('2026-01-01T00:30:00Z')).get('open_seconds'));
      return first?.[1] === 0;
    }, 'the first hour');
    const series = await seriesFrom('2026-01-01T00:30:00Z');
    expect(series.get('in_events')).toEqual([
      [at(0), 1780],
      [at(60), null],
    ]);
    expect(series.get('last_data')).toEqual([
      [at(0), at(3)],
      [at(60), null],
    ]);
    expect(series.get('minutes')).toMatchObject([
      // A reading showed it in four of them.
      [at(0), 4],
      [at(60), expect.any(Number)],
    ]);
    const yearsAgo = await seriesFrom('2025-06-01T00:00:00Z');
    expect(yearsAgo.get('in_events')).toBeInstanceOf(Array);
  });
});
