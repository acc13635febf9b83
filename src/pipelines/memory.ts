import type { Clock } from '../lib/clock.ts';
import { createFeed, type Feed, type FeedParts } from './feed.ts';
import { createInstance } from './instance.ts';
import type { Rows } from './rows.ts';
import type { Slots } from './slots.ts';
import type { PipelineRecord } from './snapshot.ts';
import type { Row } from './state.ts';
import { partsOf, restoreWindow } from './window.ts';

/** A pipeline as the snapshot keeps it, of which parts change with the pipeline: it is written at once. Silence is kept as its length, so that time while nothing ran is never counted. */
export function recordOf(
  identity: Feed['pipeline'],
  parts: {
    readonly rows: Rows;
    readonly slots: Slots;
    readonly feeds: Iterable<Feed>;
    readonly clock: Clock;
  },
): Omit<PipelineRecord, 'unreachedMs'> {
  const monotonic = parts.clock.monotonic();
  return {
    ...identity,
    components: [...parts.rows.in(identity.pipeline)].map(row => componentRecord(row, monotonic)),
    feeds: [...parts.feeds].map(feed => feedRecord(feed, parts.slots)),
  };
}

function componentRecord(row: Row, monotonic: number): PipelineRecord['components'][number] {
  const { kind, type, engineId, id } = row.component;
  return {
    kind,
    type,
    engineId,
    id,
    totals: row.totals,
    known: row.known,
    lastDataAt: row.lastDataAt,
    timestamp: row.timestamp,
    silentMs: monotonic - row.silentSince,
    idleMs: monotonic - row.lifeAt,
    windows: row.windows.map(({ metric, window }) => ({
      metric,
      ms: window.ms,
      parts: partsOf(window, monotonic),
      watchedMs: monotonic - window.since,
    })),
  };
}

function feedRecord(feed: Feed, slots: Slots): PipelineRecord['feeds'][number] {
  const known = [...feed.series.heads()].filter(head => stands(feed, head, slots));
  const size = known.length + feed.restored.size;
  const record = {
    name: feed.name,
    startTime: feed.startTime,
    instances: [...feed.instances.keys()],
    series: new Array<string>(size),
    values: new Float64Array(size),
    times: new Float64Array(size),
  };
  let at = 0;
  const put = (series: string, value: number, time: number): void => {
    record.series[at] = series;
    record.values[at] = value;
    record.times[at] = time;
    at++;
  };
  for (const head of known)
    put(feed.series.textOf(head), slots.last[head] ?? 0, slots.time[head] ?? Number.NaN);
  for (const [series, { value, time }] of feed.restored) put(series, value, time);
  return record;
}

/** A series the last reading lacked would be born again, so its value is no longer one to compare with. */
function stands(feed: Feed, head: number, slots: Slots): boolean {
  const instance = slots.replica[head]?.instance;
  return instance !== undefined && (feed.partial || slots.seen[head] === instance.readings);
}

/** Brings back the components of a record. */
export function restoreRows(record: PipelineRecord, rows: Rows, clock: Clock): void {
  const { pipeline, group, engine } = record;
  const monotonic = clock.monotonic();
  for (const { kind, type, engineId, id, totals, ...rest } of record.components) {
    const row = rows.add({ pipeline, group, engine, kind, type, engineId }, id);
    if (row === undefined) return;
    totals.forEach((total, at) => {
      row.totals[at] = total;
    });
    row.known = rest.known;
    row.lastDataAt = rest.lastDataAt;
    row.timestamp = rest.timestamp;
    row.silentSince = monotonic - rest.silentMs;
    row.lifeAt = monotonic - rest.idleMs;
    for (const { metric, ms, parts, watchedMs } of rest.windows)
      row.windows.push({
        metric,
        window: restoreWindow(ms, monotonic, parts, watchedMs),
        askedAt: monotonic,
      });
  }
}

/** Brings back what a feed last read. Its series are compared with that when they come again. */
export function restoreFeed(
  record: PipelineRecord['feeds'][number],
  parts: FeedParts,
  { slots, monotonic }: { readonly slots: Slots; readonly monotonic: number },
): Feed {
  const feed = createFeed(record.name, parts, slots);
  feed.startTime = record.startTime;
  for (const name of record.instances) {
    const instance = createInstance(name, feed);
    instance.restored = true;
    instance.lifeAt = monotonic;
    feed.instances.set(name, instance);
  }
  record.series.forEach((series, at) => {
    feed.restored.set(series, { value: record.values[at] ?? 0, time: record.times[at] ?? Number.NaN });
  });
  return feed;
}
