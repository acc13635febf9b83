import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bench, startBench, URL_OF, vectorAt } from '../../../test/helpers/monitor.ts';
import type { Served } from '../../../test/helpers/pages.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { settle } from '../../../test/storage/rows.ts';
import { createResultBus, type ResultBus } from '../../delivery/results.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import { configureNotification, type Notification } from '../notification.ts';

const REFUSED = new HttpFailure('refused', 'http://edge.test: connect ECONNREFUSED');
const REASON = 'http://edge.test: connect ECONNREFUSED';

let store: TestStorage;
let bench: Bench;
let engine: Engine;
let results: ResultBus;
let events: HeadgateEvent[];
let released: string[];
let count: number;

beforeEach(async () => {
  store = await openTestStorage();
  events = [];
  released = [];
  count = 1;
});

afterEach(async () => {
  await engine.stop();
  await bench.monitor.stop();
  await store.close();
});

const target = (id: string): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
});

const configure = (...notifications: Notification[]): void =>
  engine.configure(notifications, [target('hook'), target('other')]);

function create(): void {
  results = createResultBus();
  engine = createEngine({
    workspace: 'default',
    storage: store.storage,
    components: bench.monitor.components,
    clock: bench.clock,
    observedClock: bench.observedClock,
    ids: monotonicIds(bench.clock),
    logger: silentLogger,
    results,
    outbox: {
      enqueue: (_rows, event) => events.push(event),
      readFrom: targets => released.push(...targets),
    },
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
  });
}

async function start(...notifications: Notification[]): Promise<void> {
  bench = await startBench(vectorAt('edge'), { ...vectorAt('west'), group: 'far' });
  create();
  configure(...notifications);
  await engine.start();
  await pass(30, 'flows');
}

async function restart(...notifications: Notification[]): Promise<void> {
  await engine.stop();
  await bench.restart();
  create();
  configure(...notifications);
  await engine.start();
}

const unreachable = (change: object = {}, conf: object = {}): Notification =>
  configureNotification({
    id: 'unreachable',
    condition: 'pipeline-unreachable',
    targets: ['hook'],
    conf: { name: 'edge', timeWindow: '30s', ...conf },
    ...change,
  });

const silent = (change: object = {}, conf: object = {}): Notification =>
  configureNotification({
    id: 'silent',
    condition: 'no-data',
    targets: ['hook', 'other'],
    conf: { name: 'syslog:app', timeWindow: '60s', ...conf },
    ...change,
  });

const unhealthy = (change: object = {}): Notification =>
  configureNotification({
    id: 'ill',
    condition: 'unhealthy-source',
    targets: ['hook', 'other'],
    conf: { name: 'syslog:app', timeWindow: '60s' },
    ...change,
  });

const page = (events: number): string =>
  `vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} ${events}\n`;

/** `flows`: the input counts on. `still`: the page can be read, and nothing came in. */
type Traffic = 'flows' | 'still' | 'lost';

/** Advances the clock, and waits until every transition of each second is on disk. */
async function pass(seconds: number, traffic: Traffic): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    if (traffic === 'flows') count++;
    const answer: Served = traffic === 'lost' ? REFUSED : page(count);
    bench.pages.serve(URL_OF('edge'), answer);
    bench.pages.serve(URL_OF('west'), page(1).replace('app', 'web'));
    await bench.clock.advance(1000);
    // The writer answers in order: a read transaction behind the commits returns after them.
    await store.storage.transaction(async () => {});
    await bench.clock.advance(0);
  }
}

const deliveries = async (): Promise<string[]> =>
  (await store.storage.in('default').deliveries.list({}, { offset: 0, limit: 1000 })).rows
    .toReversed()
    .map(row => `${row.notification} ${row.status} ${row.target} ${row.state}`);
const incidents = async (): Promise<readonly IncidentRow[]> =>
  (await store.storage.in('default').incidents.list({}, { offset: 0, limit: 100 })).rows.toReversed();
const notified = (notification: string): string[] =>
  events.filter(event => event.cribl_notification === notification).map(event => event._raw);

describe('a pipeline that cannot be read', () => {
  it('notifies once, and once that it can be read again', async () => {
    await start(unreachable({ severity: 'error' }));
    await pass(120, 'lost');
    await pass(10, 'still');
    expect(events).toMatchObject([
      {
        status: 'ALARM',
        condition: 'pipeline-unreachable',
        pipeline: 'edge',
        origin_metadata: { type: 'pipeline', id: 'edge', subType: 'vector' },
        severity: 'error',
        reason: REASON,
        timeWindow: '30s',
        _raw: expect.stringMatching(
          `^Pipeline edge has been unreachable since 2026-01-01T00:00:\\d\\dZ: ${REASON}$`,
        ),
        __pipeline: 'edge',
        __worker_group: 'default',
      },
      {
        status: 'OK',
        severity: 'info',
        _raw: expect.stringMatching(/^Pipeline edge is reachable again after 1m \d+s$/),
      },
    ]);
    expect(await incidents()).toMatchObject([{ subject: 'edge', state: 'closed', close_reason: 'resolved' }]);
  });

  it('opens an incident for each pipeline that a pattern matches, in the group that the notification names', async () => {
    await start(
      unreachable({}, { name: '*' }),
      unreachable({ id: 'far' }, { name: '*', __workerGroup: 'far' }),
    );
    await pass(60, 'lost');
    expect((await incidents()).map(row => `${row.notification} ${row.subject}`)).toEqual([
      'unreachable edge',
    ]);
  });

  it('notifies nothing while no pipeline has its name', async () => {
    await start(unreachable({}, { name: 'nobody' }));
    await pass(60, 'lost');
    expect(await incidents()).toEqual([]);
  });

  it('is pending for as long as the notification says', async () => {
    await start(unreachable({ for: '20s' }));
    await pass(40, 'lost');
    expect(await incidents()).toEqual([]);
    await pass(20, 'lost');
    expect(await incidents()).toHaveLength(1);
  });

  it('closes with a reason when it is removed from the configuration', async () => {
    await start(unreachable());
    await pass(45, 'lost');
    bench.configure(vectorAt('west'));
    await pass(1, 'lost');
    expect(await incidents()).toMatchObject([
      { state: 'closed', close_reason: 'pipeline edge was removed from the configuration' },
    ]);
    expect(await deliveries()).toEqual(['unreachable ALARM hook waiting', 'unreachable OK hook waiting']);
  });

  it('closes with a reason when it is in another group than the notification names', async () => {
    await start(unreachable({}, { __workerGroup: 'default' }));
    await pass(45, 'lost');
    bench.configure({ ...vectorAt('edge'), group: 'far' }, vectorAt('west'));
    await pass(1, 'lost');
    expect(await incidents()).toMatchObject([{ close_reason: 'pipeline edge is in the group far now' }]);
  });

  it('neither opens nor closes an incident by the first reading after a restart', async () => {
    await start(unreachable());
    await pass(45, 'lost');
    await restart(unreachable());
    await pass(10, 'still');
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({ state: 'reachable', readings: 1 });
    expect(await incidents()).toMatchObject([{ state: 'open' }]);
    await pass(10, 'still');
    expect(await incidents()).toMatchObject([{ state: 'closed', close_reason: 'resolved' }]);
  });
});

describe('an alarm of an input whose pipeline cannot be read', () => {
  it('goes only to targets that were not notified of the pipeline, and so does its end', async () => {
    await start(unreachable(), silent(), unhealthy());
    await pass(90, 'lost');
    expect(await deliveries()).toEqual([
      'unreachable ALARM hook waiting',
      'silent ALARM hook grouped',
      'silent ALARM other waiting',
      'ill ALARM hook grouped',
      'ill ALARM other waiting',
    ]);
    expect(notified('silent')).toEqual([
      `Source syslog:app had no data for 60s: pipeline unreachable: ${REASON}`,
    ]);
    await pass(70, 'flows');
    expect((await deliveries()).slice(1)).toEqual([
      'silent ALARM hook skipped',
      'silent ALARM other waiting',
      'ill ALARM hook skipped',
      'ill ALARM other waiting',
      'unreachable OK hook waiting',
      'silent OK other waiting',
      'ill OK other waiting',
    ]);
    expect(released).toEqual([]);
  });

  it('records in its incident and its delivery which incident inhibits it', async () => {
    await start(unreachable(), silent());
    await pass(90, 'lost');
    const [outage, held] = await incidents();
    expect(held).toMatchObject({ notification: 'silent', state: 'open', inhibited_by: outage?.id });
    expect(outage).toMatchObject({ notification: 'unreachable', inhibited_by: null });
    const { rows } = await store.storage
      .in('default')
      .deliveries.list({ state: 'grouped' }, { offset: 0, limit: 10 });
    expect(rows).toMatchObject([{ target: 'hook', inhibited_for: 'edge', next_at: null }]);
    await pass(10, 'flows');
    const skipped = await store.storage
      .in('default')
      .deliveries.list({ state: 'skipped' }, { offset: 0, limit: 10 });
    expect(skipped.rows).toMatchObject([
      { target: 'hook', last_error: 'its incident was over before its pipeline could be read again' },
    ]);
    expect(await incidents()).toMatchObject([
      { state: 'closed' },
      { state: 'closed', inhibited_by: outage?.id },
    ]);
  });

  it('is inhibited as well when both windows are as long and data came with the last page', async () => {
    await start(unreachable({}, { timeWindow: '60s' }), silent());
    await pass(90, 'lost');
    expect(await deliveries()).toEqual([
      'unreachable ALARM hook waiting',
      'silent ALARM hook grouped',
      'silent ALARM other waiting',
    ]);
  });

  it('is sent when the pipeline is back and the input is still silent, and its end after it', async () => {
    await start(unreachable(), silent());
    await pass(10, 'still');
    await pass(90, 'lost');
    await pass(12, 'still');
    expect(released).toEqual(['hook']);
    expect(await deliveries()).toEqual([
      'unreachable ALARM hook waiting',
      'silent ALARM hook waiting',
      'silent ALARM other waiting',
      'unreachable OK hook waiting',
    ]);
    await pass(10, 'flows');
    expect((await deliveries()).slice(4)).toEqual(['silent OK hook waiting', 'silent OK other waiting']);
  });

  it('of bad health comes after a whole window without a page, and is over with the next good page', async () => {
    await start(unreachable({}, { timeWindow: '10s' }), unhealthy({ for: '30s' }));
    const ofHealth = async () => (await deliveries()).filter(line => line.startsWith('ill'));
    await pass(80, 'lost');
    expect(await ofHealth()).toEqual([]);
    await pass(30, 'lost');
    expect(await ofHealth()).toEqual(['ill ALARM hook grouped', 'ill ALARM other waiting']);
    await pass(12, 'flows');
    expect((await deliveries()).filter(line => line.startsWith('ill'))).toEqual([
      'ill ALARM hook skipped',
      'ill ALARM other waiting',
      'ill OK other waiting',
    ]);
  });

  it('that was notified before the pipeline gets its end', async () => {
    await start(unreachable(), silent({ repeatInterval: '30s' }));
    await pass(70, 'still');
    await pass(60, 'lost');
    await pass(10, 'flows');
    const toHook = (await deliveries()).filter(line => line.includes('hook'));
    expect(toHook[0]).toBe('silent ALARM hook waiting');
    expect(toHook.filter(line => line.startsWith('silent')).at(-1)).toBe('silent OK hook waiting');
    expect(toHook).toContain('silent ALARM hook skipped');
  });

  it('stays inhibited in the process that takes over, which sends it', async () => {
    await start(unreachable(), silent());
    await pass(90, 'lost');
    await restart(unreachable(), silent());
    await pass(15, 'lost');
    expect(released).toEqual([]);
    expect(await deliveries()).toContain('silent ALARM hook grouped');
    await pass(15, 'still');
    expect(released).toEqual(['hook']);
    expect(await deliveries()).toContain('silent ALARM hook waiting');
  });

  it.each([
    ['is disabled', { disabled: true }, {}],
    ['is one of another pipeline', {}, { name: 'west' }],
    ['goes to another target', { targets: ['other'] }, {}],
    ['is muted itself', { muteWindows: [{ times: ['00:00-24:00'] }] }, {}],
  ])('is not inhibited for a target when the notification on pipelines %s', async (_, change, conf) => {
    await start(unreachable(change, conf), silent({ targets: ['hook'] }));
    await pass(90, 'lost');
    expect((await deliveries()).filter(line => line.startsWith('silent'))).toEqual([
      'silent ALARM hook waiting',
    ]);
    expect((await incidents()).map(row => row.inhibited_by).filter(Boolean)).toEqual([]);
  });

  it('is sent when the notification on pipelines is disabled while the pipeline cannot be read', async () => {
    await start(unreachable(), silent());
    await pass(90, 'lost');
    configure(unreachable({ disabled: true }), silent());
    await pass(3, 'lost');
    expect(released).toEqual(['hook']);
  });

  it('is sent to a target whose alarm of the pipeline was given up, also after a restart', async () => {
    await start(unreachable(), silent());
    await pass(40, 'lost');
    const stores = store.storage.in('default');
    const [alarm] = (await stores.deliveries.list({}, { offset: 0, limit: 1 })).rows;
    if (alarm === undefined) throw new Error('there is no alarm of the pipeline');
    const operation = settle(alarm.id, { state: 'refused', settledAt: bench.clock.now() });
    await store.storage.commit(operation);
    results.publish({ kind: 'settled', row: alarm, operation, durationMs: null });
    await pass(40, 'lost');
    expect(await deliveries()).toEqual([
      'unreachable ALARM hook refused',
      'silent ALARM hook waiting',
      'silent ALARM other waiting',
    ]);
    await restart(unreachable(), silent({ id: 'again' }));
    await pass(30, 'lost');
    expect(await deliveries()).toContain('again ALARM hook waiting');
  });

  it('goes on waiting for the end of a mute window when the pipeline is back', async () => {
    await start(unreachable(), silent({ muteWindows: [{ times: ['00:02-00:04'] }] }));
    await pass(10, 'still');
    await pass(85, 'lost');
    await pass(60, 'still');
    expect(await deliveries()).toContain('unreachable OK hook waiting');
    expect(await deliveries()).toContain('silent ALARM hook grouped');
    await pass(60, 'still');
    expect(await deliveries()).toContain('silent ALARM hook waiting');
  });
});
