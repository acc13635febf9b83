import { expect, onTestFinished, test } from 'vitest';
import { type Bench, startBench, vectorAt } from '../../../test/helpers/monitor.ts';
import { openTestStorage } from '../../../test/helpers/storage.ts';
import { testEngine } from '../../../test/helpers/test-engine.ts';
import { silentLogger } from '../../lib/logger.ts';
import { packHour } from '../../pipelines/history/minute-codec.ts';
import { createMinuteRecorder } from '../../pipelines/history/recorder.ts';
import { minutesId } from '../../pipelines/history/row-ids.ts';
import type { Target } from '../../targets/target.ts';
import { configureNotification, type Notification } from '../notification.ts';
import { backtest, recordMessages } from './backtest.ts';

const MINUTE_MS = 60_000;

const hook: Target = {
  settings: { id: 'hook', type: 'test', systemFields: [] },
  ...{ concurrency: 1, fallback: undefined, batching: undefined, neverGroups: false },
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
};

const INPUT = { name: 'syslog:app', timeWindow: '2m' };
const NOTIFICATIONS: readonly Notification[] = [
  { id: 'silent', condition: 'no-data', conf: INPUT },
  { id: 'silent_late', condition: 'no-data', conf: INPUT, for: '2m', keepFiringFor: '4m' },
  { id: 'flapping', condition: 'no-data', conf: INPUT, flapThreshold: 3, flapWindow: '20m' },
  { id: 'flood', condition: 'high-volume', conf: { ...INPUT, timeWindow: '3m', dataVolume: '4000 events' } },
  { id: 'thin', condition: 'low-volume', conf: { ...INPUT, timeWindow: '5m', dataVolume: '600 events' } },
  { id: 'errors', condition: 'source-errors', conf: { ...INPUT, timeWindow: '4m', threshold: 50 } },
  { id: 'ill', condition: 'unhealthy-dest', conf: { name: 'http:out', timeWindow: '3m' } },
  { id: 'grouped', condition: 'no-data', conf: { ...INPUT, name: '*' }, groupBy: [], groupWait: '3m' },
].map(settings => configureNotification({ targets: ['hook'], ...settings }));

/** What the pipeline does for some minutes: events and errors each 10 s; undefined for a page that cannot be read. */
interface Phase {
  readonly minutes: number;
  readonly events?: number;
  readonly errors?: number;
  /** Requests of the output fail. */
  readonly isRefused?: boolean;
  readonly isUnread?: boolean;
}

const DAY: readonly (Phase | 'restart')[] = [
  { minutes: 25, events: 100 },
  { minutes: 6, events: 0 },
  { minutes: 15, events: 100 },
  { minutes: 7, events: 400 },
  { minutes: 20, events: 100, errors: 4 },
  { minutes: 12, events: 10 },
  'restart',
  { minutes: 15, events: 100 },
  { minutes: 9, events: 100, isRefused: true },
  { minutes: 12, events: 100 },
  { minutes: 3, isUnread: true },
  { minutes: 14, events: 100 },
  { minutes: 3, events: 0 },
  { minutes: 4, events: 100 },
  { minutes: 3, events: 0 },
  { minutes: 4, events: 100 },
  { minutes: 3, events: 0 },
  { minutes: 30, events: 100 },
  { minutes: 4, events: 0 },
  'restart',
  { minutes: 8, events: 0 },
  { minutes: 20, events: 100 },
];

interface Running {
  stop(): Promise<void>;
}

interface Totals {
  received: number;
  sent: number;
  errors: number;
  refused: number;
}

const pageOf = ({ received, sent, errors, refused }: Totals): string => {
  const labels = 'component_id="app",component_kind="source",component_type="syslog"';
  const out = 'component_id="out",component_kind="sink",component_type="http"';
  return [
    `vector_component_received_events_total{${labels}} ${received}`,
    `vector_component_received_event_bytes_total{${labels}} ${received * 300}`,
    `vector_component_errors_total{${labels}} ${errors}`,
    `vector_component_received_events_total{${out}} ${received}`,
    `vector_component_sent_events_total{${out}} ${sent}`,
    `vector_http_client_errors_total{${out}} ${refused}`,
    '',
  ].join('\n');
};

async function play(bench: Bench, totals: Totals, phase: Phase, settled: () => Promise<void>): Promise<void> {
  const { minutes, events = 0, errors = 0, isRefused = false, isUnread = false } = phase;
  for (let reading = 0; reading < minutes * 6; reading++) {
    totals.received += events;
    totals.errors += errors;
    if (isRefused) totals.refused += events > 0 ? 3 : 0;
    else totals.sent += events;
    await bench.scrape(isUnread ? { status: 503 } : pageOf(totals));
    // What is written takes real time, in which the clock of the test would go on.
    await settled();
  }
}

test('what a notification would have done is what it did, over restarts and gaps', async () => {
  const bench = await startBench(vectorAt('edge'));
  const real = await openTestStorage();
  onTestFinished(() => real.close());
  const messages = recordMessages({
    ...{ storage: real.storage, workspace: 'default', targets: [hook], clock: bench.clock },
  });
  const rows = new Map<string, string>();
  async function start(): Promise<Running> {
    const { clock, observedClock } = bench;
    const { components } = bench.monitor;
    const recorder = createMinuteRecorder({
      ...{ components, clock, logger: silentLogger, maxComponents: () => 100 },
      async append(added) {
        for (const { id, data } of added) rows.set(id, (rows.get(id) ?? '') + data);
      },
    });
    const engine = testEngine({
      ...{ components, clock, observedClock, storage: messages.storage, outbox: messages.outbox },
    });
    engine.configure(NOTIFICATIONS, [hook]);
    await engine.start();
    recorder.start();
    return {
      async stop() {
        await engine.stop();
        await recorder.stop();
      },
    };
  }
  const from = bench.clock.now();
  const totals: Totals = { received: 1_000_000, sent: 900_000, errors: 5, refused: 0 };
  let running = await start();
  for (const phase of DAY) {
    if (phase !== 'restart') {
      await play(bench, totals, phase, messages.settled);
      continue;
    }
    await running.stop();
    await bench.restart(7 * MINUTE_MS);
    running = await start();
  }
  await bench.clock.advance(MINUTE_MS - (bench.clock.now() % MINUTE_MS));
  const to = bench.clock.now();
  const components = bench.monitor.components.all();
  const happened = await real.storage.in('default').incidents.list({}, { offset: 0, limit: 1000 });
  for (const notification of NOTIFICATIONS) {
    const store = await openTestStorage();
    const found = await backtest({
      ...{ notification, targets: [hook], silences: [], components, storage: store.storage },
      pipelines: bench.monitor.components.pipelines(),
      ...{ warmUpFrom: from, from, to, instanceName: 'gate', externalUrl: undefined },
      history: {
        readHour: async hour => packHour(components.map(component => rows.get(minutesId(hour, component)))),
        readVolumes: () => Promise.reject(new Error('no notification asks for hours')),
      },
    });
    await store.close();
    const expected = happened.rows.filter(row => row.notification === notification.id);
    expect(found.incidents, notification.id).toHaveLength(expected.length);
    expected.forEach((row, at) => {
      const same = found.incidents[at];
      expect(same?.subject).toBe(row.subject);
      expect(Math.abs((same?.openedAt ?? 0) - row.opened_at)).toBeLessThanOrEqual(MINUTE_MS);
      expect(Math.abs((same?.closedAt ?? 0) - (row.closed_at ?? 0))).toBeLessThanOrEqual(MINUTE_MS);
    });
    expect(found.missing.map(one => one.to - one.from)).toEqual([7 * MINUTE_MS, 7 * MINUTE_MS]);
  }
  await running.stop();
});
