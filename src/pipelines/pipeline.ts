import { AppError } from '../lib/errors.ts';
import type { PipelineState } from './component.ts';
import { createRsyslogReader, type RsyslogReader } from './engines/rsyslog.ts';
import { createFeed, dropFeed, type Feed, type FeedParts, sweepFeed } from './feed.ts';
import type { StatsObject } from './formats/impstats.ts';
import type { Point } from './formats/point.ts';
import { recordOf, restoreFeed, restoreRows } from './memory.ts';
import { createPointReader } from './points.ts';
import { createPull } from './pull.ts';
import type { PushedValue } from './pushed-value.ts';
import { createReach } from './reach.ts';
import { createRoom } from './room.ts';
import type { PipelineSettings } from './settings.ts';
import type { Shared } from './shared.ts';
import type { PipelineRecord } from './snapshot.ts';
import type { Row } from './state.ts';

/** What is known of each url or sender of a pipeline, by its name. */
export interface Senders {
  readonly feeds: Map<string, Feed>;
  readonly readers: Map<string, RsyslogReader>;
}

/** A configured pipeline at work. */
export interface Pipeline {
  readonly settings: PipelineSettings;
  state(): PipelineState;
  record(): PipelineRecord;
  restore(record: PipelineRecord): void;
  start(): void;
  stop(): void;
  /** Stops, and forgets its counters; with `components` those too. */
  drop(what: 'counters' | 'components'): void;
  /** Stops, and hands its counters to a pipeline that reads on. */
  release(): Senders;
  /** Takes values of one sender; says how many found room. */
  push(instance: string | undefined, rounds: readonly (readonly PushedValue[])[]): number;
  /** Takes points of one sender; says how many told something of an input or output. */
  pushPoints(instance: string | undefined, points: readonly Point[]): number;
  /** Takes rsyslog's objects of one sender; says how many told something of an input or output. */
  pushStats(instance: string | undefined, rounds: readonly (readonly StatsObject[])[]): number;
  sweep(forgotten: ReadonlySet<Row>): void;
}

/** Senders are named by themselves; so many names from one pipeline are a mistake or an attack. */
const MOST_INSTANCES = 10_000;
const LONGEST_INSTANCE = 256;

export function createPipeline(settings: PipelineSettings, shared: Shared, from?: Senders): Pipeline {
  const { clock, rows, slots, intake } = shared;
  const logger = shared.logger.child({ pipeline: settings.id });
  const identity = { pipeline: settings.id, group: settings.group, engine: settings.engine };
  const { feeds, readers } = from ?? {
    feeds: new Map<string, Feed>(),
    readers: new Map<string, RsyslogReader>(),
  };
  const room = createRoom({
    limits: { ...settings, componentQuota: shared.componentQuota },
    clock,
    logger,
    refused: what => shared.meter.refused(settings.id, what),
  });
  const parts: FeedParts = { pipeline: identity, room, partial: settings.push === true };
  for (const feed of feeds.values()) {
    feed.room = room;
    room.series += feed.series.size;
  }
  const valuesOfPoints = createPointReader(settings);
  const reach = createReach(clock);
  let pushedAt: number | null = null;
  const capacities = new Map(
    settings.engine === 'rsyslog' ? Object.entries(settings.queueCapacities ?? {}) : [],
  );

  function feedOf(name: string): Feed {
    let feed = feeds.get(name);
    if (feed === undefined) {
      if (feeds.size >= MOST_INSTANCES || name.length > LONGEST_INSTANCE || name === '')
        throw new AppError(
          'invalid-request',
          `pipeline '${settings.id}' takes at most ${MOST_INSTANCES} instances with names of 1 to ${LONGEST_INSTANCE} characters`,
        );
      feed = createFeed(name, parts, slots);
      feeds.set(name, feed);
    }
    return feed;
  }

  const pull = settings.push
    ? undefined
    : createPull({ settings, shared, logger, reach, feedOf, keepOnly: dropOthers });

  /** Forgets the counters of instances that are no longer read; their inputs and outputs stay for a while. */
  function dropOthers(names: ReadonlySet<string>): void {
    for (const [name, feed] of feeds) {
      if (names.has(name)) continue;
      dropFeed(feed, slots);
      feeds.delete(name);
    }
  }

  function errors(): string[] {
    const notice = room.notice();
    return [...(pull?.state().errors ?? []), ...(notice === undefined ? [] : [notice])];
  }

  function push(instance: string | undefined, rounds: readonly (readonly PushedValue[])[]): number {
    const feed = feedOf(instance ?? settings.id);
    const at = clock.monotonic();
    let taken = 0;
    for (const round of rounds) {
      intake.begin(feed);
      const own = intake.enterOwn(feed);
      for (const { series } of round) {
        const head = feed.series.get(series);
        if (head !== -1) (slots.replica[head]?.instance ?? own).repeated = true;
      }
      for (const { series, discover, value, time } of round) {
        const fate = intake.take(feed, series, value, time, discover);
        if (fate === 'taken') taken++;
      }
      intake.end(feed, true);
    }
    reach.reached(at);
    pushedAt = clock.now();
    return taken;
  }

  return {
    settings,
    push,
    start: () => pull?.start(),
    stop: () => pull?.stop(),
    pushPoints(instance, points) {
      const values = valuesOfPoints(points);
      push(instance, [values]);
      return values.length;
    },
    pushStats(instance, rounds) {
      const name = instance ?? settings.id;
      const reader = readers.get(name) ?? createRsyslogReader();
      const read = rounds.map(round => reader.read(round, capacities));
      push(
        name,
        read.map(({ stats }) =>
          stats.map(({ series, statements, value }) => ({
            series,
            discover: () => ({ instance: undefined, statements }),
            value,
            time: Number.NaN,
          })),
        ),
      );
      readers.set(name, reader);
      return read.reduce((sum, { known }) => sum + known, 0);
    },
    state() {
      const reading = pull?.state();
      const told = errors();
      return {
        id: settings.id,
        engine: settings.engine,
        group: settings.group,
        mode: settings.push ? 'push' : 'pull',
        url: settings.push ? null : (settings.url ?? null),
        state: reading?.state ?? (pushedAt === null ? 'waiting' : 'reachable'),
        lastAt: reading?.lastAt ?? pushedAt,
        unreachableSince: reading?.unreachableSince ?? null,
        error: told.length === 0 ? null : told.join('; '),
        ...reach.state(),
        instances: settings.push
          ? feeds.size
          : [...feeds.values()].reduce((sum, { active }) => sum + active, 0),
        components: rows.countIn(settings.id),
        bytesPerEvent: settings.bytesPerEvent ?? null,
      };
    },
    record: () => ({
      ...recordOf(identity, { rows, slots, feeds: feeds.values(), clock }),
      unreachedMs: reach.state().unreachedMs,
    }),
    restore(record) {
      reach.restore(record.unreachedMs);
      restoreRows(record, rows, clock);
      // What files list is not known yet: what they no longer do is forgotten when they have been read.
      const own = settings.push || settings.url === undefined ? undefined : new URL(settings.url).host;
      for (const one of record.feeds)
        if (own === undefined || one.name === own)
          feeds.set(one.name, restoreFeed(one, parts, { slots, monotonic: clock.monotonic() }));
    },
    release() {
      pull?.stop();
      return { feeds, readers };
    },
    drop(what) {
      pull?.stop();
      for (const feed of feeds.values()) dropFeed(feed, slots);
      feeds.clear();
      readers.clear();
      if (what === 'components') for (const row of [...rows.in(settings.id)]) rows.remove(row);
    },
    sweep(forgotten) {
      for (const feed of feeds.values()) {
        sweepFeed(feed, slots, forgotten, clock.monotonic());
        if (!feed.partial || feed.instances.size > 0) continue;
        feeds.delete(feed.name);
        readers.delete(feed.name);
      }
    },
  };
}
