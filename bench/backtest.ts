import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { processorTimeOf } from '../src/lib/thread-time.ts';
import { createBacktests } from '../src/notifications/backtest/backtests.ts';
import type { Component, PipelineState } from '../src/pipelines/components/component.ts';
import { encodeHours, type HourValues } from '../src/pipelines/history/hour-codec.ts';
import { encodeMinute } from '../src/pipelines/history/minute-codec.ts';
import { componentHash, hourPlace, minutesId } from '../src/pipelines/history/row-ids.ts';
import { openStorage } from '../src/storage/open.ts';

/**
 * How long a backtest takes, in the built worker: `npx tsx --conditions=source bench/backtest.ts [--components 1000]
 * [--days 7]`, after `npm run build`. Each input has a silence of ten minutes a day, at a time of its own.
 */
const { values } = parseArgs({
  options: {
    components: { type: 'string', default: '1000' },
    days: { type: 'string', default: '7' },
  },
});
const count = Number(values.components);
const days = Number(values.days);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const FROM = Date.UTC(2026, 0, 5);
const TO = FROM + days * 24 * HOUR_MS;

const components = Array.from(
  { length: count },
  (_, at): Component => ({
    ...{ group: 'default', pipeline: 'edge', engine: 'vector', kind: 'input', type: 'syslog' },
    ...{ engineId: `app${at}`, id: `app${at}` },
  }),
);

const edge: PipelineState = {
  ...{ id: 'edge', engine: 'vector', group: 'default', mode: 'pull', url: null, state: 'reachable' },
  ...{ lastAt: null, unreachableSince: null, error: null, unrecognised: null, uncounted: null, readings: 10 },
  ...{ unreachedMs: 0, instances: 1, components: count, bytesPerEvent: null },
};

function hourOf(at: number, hour: number): string {
  const minutes = Array.from({ length: 60 }, (_, minute) => {
    const ofDay = (((FROM + hour * HOUR_MS) / MINUTE_MS + minute) % 1440) - (at % 1400);
    const silent = ofDay >= 0 && ofDay < 10 ? (ofDay + 1) * 60 : 4;
    const in_events = silent > 4 ? 0 : 1000 + ((minute * 7 + at) % 300);
    const ended = ofDay === 10 ? { ended_silent_seconds: 610 } : {};
    return encodeMinute(minute, {
      ...{ health: 0, in_events, in_bytes: in_events * 310, errors: 0, silent_seconds: silent },
      ...ended,
    });
  });
  return minutes.join('');
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const storage = await openStorage({
  ...{ url: 'sqlite:headgate.db', dataFolder: folder, logger: silentLogger, clock: systemClock },
});
for (let hour = 0; hour < days * 24; hour++)
  await storage.transaction(tx =>
    tx.in('default').appendMinutes(
      components.map((component, at) => ({
        id: minutesId(FROM + hour * HOUR_MS, component),
        hour: FROM + hour * HOUR_MS,
        data: hourOf(at, hour),
      })),
    ),
  );
const DAYS_BEFORE = 30;
const hoursKept = (DAYS_BEFORE + days) * 24;
for (const component of components) {
  const rows = new Map<string, { start: number; hours: Map<number, HourValues> }>();
  for (let hour = -DAYS_BEFORE * 24; hour < hoursKept - DAYS_BEFORE * 24; hour++) {
    const { id, start, number } = hourPlace(FROM + hour * HOUR_MS, componentHash(component));
    const row = rows.get(id) ?? { start, hours: new Map() };
    row.hours.set(number, { minutes: 60, in_events: 69_000 + ((hour * 7) % 100), in_bytes: 21_000_000 });
    rows.set(id, row);
  }
  await storage.transaction(tx =>
    tx
      .in('default')
      .putHours([...rows].map(([id, { start, hours }]) => ({ id, start, data: encodeHours(hours) }))),
  );
}
await storage.close();

const backtests = createBacktests({ clock: systemClock, storage: 'sqlite:headgate.db', dataFolder: folder });
/** Processor time of each thread that there is, in s. */
function threadTimes(): Map<string, number> {
  const threads = existsSync('/proc/self/task') ? readdirSync('/proc/self/task') : [];
  return new Map(threads.map(thread => [thread, (processorTimeOf(Number(thread)) ?? 0) / 1000]));
}

console.log(`load ${loadavg()[0]?.toFixed(1)}`);
console.log('condition      seconds  CPU s  of the busiest thread  longest stall ms  incidents');
for (const [condition, conf] of [
  ['no-data', { name: '*', timeWindow: '5m' }],
  ['high-volume', { name: '*', timeWindow: '15m', dataVolume: '25000 events' }],
  ['low-volume', { name: '*', timeWindow: '15m', dataVolume: '5000 events' }],
  ['baseline', { name: '*', timeWindow: '1h', metric: 'events' }],
] as const) {
  const begun = performance.now();
  const before = process.cpuUsage();
  let longest = 0;
  let last = performance.now();
  const threadsBefore = threadTimes();
  let threads = threadsBefore;
  const look = setInterval(() => {
    threads = new Map([...threads, ...threadTimes()]);
  }, 100);
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - 5);
    last = performance.now();
  }, 5);
  const found = await backtests.run({
    ...{ workspace: 'default', components, pipelines: [edge], silences: [], targets: [] },
    ...{ warmUpFrom: FROM, from: FROM, to: TO, instanceName: 'bench', externalUrl: undefined },
    notification: { id: 'bench', condition, conf, targets: [] },
  });
  clearInterval(watch);
  clearInterval(look);
  const busiest = Math.max(...[...threads].map(([id, used]) => used - (threadsBefore.get(id) ?? 0)));
  const { user, system } = process.cpuUsage(before);
  console.log(
    condition.padEnd(13),
    ((performance.now() - begun) / 1000).toFixed(1).padStart(8),
    ((user + system) / 1e6).toFixed(1).padStart(6),
    busiest.toFixed(1).padStart(22),
    longest.toFixed(0).padStart(17),
    String(found.incidentCount).padStart(10),
  );
}
rmSync(folder, { recursive: true });
