import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BEGIN, MINUTE_MS, type PushedApp, startPushedApp } from '../api/pushed-app.ts';
import { eachDeployment } from './deployments.ts';

const PATH = '/system/metrics/query';
const SECONDS = BEGIN / 1000;

let app: PushedApp;
beforeAll(async () => {
  app = await startPushedApp();
  for (const [minute, events] of [600, 60].entries()) {
    await app.push([
      { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: events },
      { kind: 'input', type: 'syslog', id: 'app', metric: 'in_bytes', value: events * 100 },
      { kind: 'input', type: 'http', id: 'till', metric: 'in_events', value: 6 },
      { kind: 'output', type: 's3', id: 'lake', metric: 'in_events', value: events },
      { kind: 'output', type: 's3', id: 'lake', metric: 'out_events', value: events / 2 },
      { kind: 'output', type: 's3', id: 'lake', metric: 'queue_size', value: events * 10 },
    ]);
    await app.clock.advance(MINUTE_MS);
    await app.recorded(minute);
  }
});
afterAll(() => app.stop());

const TIME = { earliest: BEGIN, latest: BEGIN + 2 * MINUTE_MS };

async function resultsOf(aggs: object, more: object = TIME): Promise<unknown> {
  const { status, body } = await app.ask(PATH, { aggs, ...more });
  expect([status, body]).toMatchObject([200, { items: [], count: 0 }]);
  return body.results;
}

describe('metrics as clients of the family ask for them', () => {
  it('are rows by input for each window', async () => {
    const { body } = await app.ask(PATH, {
      where: "__worker_group=='shop'",
      ...TIME,
      aggs: {
        aggregations: ['sum("total.in_bytes").as("inB")', 'sum("total.in_events").as("inE")'],
        splitBys: ['__worker_group', 'input'],
        timeWindowSeconds: 60,
      },
    });
    const first = { starttime: SECONDS, endtime: SECONDS + 60, __worker_group: 'shop' };
    const second = { ...first, starttime: SECONDS + 60, endtime: SECONDS + 120 };
    expect(body).toMatchObject({ info: { timeWindowSeconds: 60 } });
    const rows = [
      { ...first, input: 'syslog:app', inB: 60_000, inE: 600 },
      { ...first, input: 'http:till', inE: 6 },
      { ...second, input: 'syslog:app', inB: 6000, inE: 60 },
      { ...second, input: 'http:till', inE: 6 },
    ];
    expect(body.results).toHaveLength(rows.length);
    expect(body.results).toEqual(expect.arrayContaining(rows));
  });

  it('count what comes in at inputs and what goes out at outputs, once', async () => {
    const aggregations = ['sum("total.in_events").as("in")', 'sum(total.out_events).as(out)'];
    const whole = { starttime: SECONDS, endtime: SECONDS + 120 };
    expect(await resultsOf({ aggregations, cumulative: true })).toEqual([{ ...whole, in: 672, out: 330 }]);
    const where = '(has_no_dimensions) && (__dist_mode=="worker")';
    expect(await resultsOf({ aggregations, cumulative: true }, { ...TIME, where })).toEqual([
      { ...whole, in: 672, out: 330 },
    ]);
  });

  it('have rates, maxima and counts, by names of their own where none is given', async () => {
    const aggregations = [
      'rate("total.out_events")',
      'max("pq.queue_size").as("queue")',
      'count("total.out_events").as("minutes")',
    ];
    expect(
      await resultsOf(
        { aggregations, splitBys: ['output'], cumulative: true },
        { ...TIME, where: '(output != null) && (!!output)' },
      ),
    ).toEqual([
      {
        ...{ starttime: SECONDS, endtime: SECONDS + 120, output: 's3:lake' },
        ...{ 'total.out_events_rate': 2.75, queue: 6000, minutes: 2 },
      },
    ]);
  });

  it.each([
    ['seconds', { earliest: SECONDS, latest: SECONDS + 120 }],
    ['texts of milliseconds', { earliest: String(BEGIN), latest: String(BEGIN + 2 * MINUTE_MS) }],
    ['a time ago', { earliest: '-2m', latest: 'now' }],
    ['a time ago without a sign', { earliest: '120s' }],
    ['nothing', {}],
  ])('are of a time that is given in %s', async (_, time) => {
    const aggregations = ['sum("total.in_events").as("in")'];
    expect(await resultsOf({ aggregations, cumulative: true }, time)).toMatchObject([{ in: 672 }]);
  });

  it('are those of a group below its path', async () => {
    const aggs = { aggregations: ['sum("total.in_events").as("in")'], cumulative: true };
    expect((await app.ask(`/m/default${PATH}`, { aggs, ...TIME })).body).toMatchObject({ results: [] });
    expect((await app.ask(`/m/shop${PATH}`, { aggs, ...TIME })).body.results).toMatchObject([{ in: 672 }]);
  });
});

eachDeployment('a query of metrics', ({ call }) => {
  const good = { aggs: { aggregations: ['sum("total.in_events").as("in")'] } };

  it('is answered with no rows where nothing is recorded', async () => {
    expect(await call('POST', PATH, good)).toMatchObject({
      status: 200,
      body: { results: [], info: { timeWindowSeconds: 60 } },
    });
  });

  it.each([
    ['aggs.aggregations[0]', { aggs: { aggregations: ['perc("total.in_events", 95)'] } }, 'must be such as'],
    ['aggs.aggregations[0]', { aggs: { aggregations: ['sum("route.in_events")'] } }, 'no metric'],
    ['aggs.aggregations[0]', { aggs: { aggregations: ['sum("health.inputs")'] } }, 'max'],
    ['aggs.aggregations[0]', { aggs: { aggregations: ['max("total.in_events")'] } }, 'sum or rate'],
    ['aggs.splitBys[0]', { aggs: { ...good.aggs, splitBys: ['route'] } }, ''],
    ['where', { ...good, where: "route == 'a'" }, "'route' is not known here"],
    ['where', { ...good, where: 'input ==' }, ''],
    ['earliest', { ...good, earliest: 'yesterday' }, 'such as `-15m`'],
    ['latest', { ...good, earliest: 'now', latest: '-1h' }, 'later than earliest'],
    ['aggs.aggregations', { aggs: {} }, 'is required'],
  ])('is refused at %s', async (path, body, message) => {
    const refusal = await call('POST', PATH, body);
    expect([refusal.status, refusal.body.errors]).toEqual([
      400,
      [{ path, message: expect.stringContaining(message) }],
    ]);
  });
});
