import type { Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Logger } from '../lib/logger.ts';
import type { PipelineState } from './component.ts';
import { profileOf } from './engines/index.ts';
import { createRsyslogReader, type RsyslogReader } from './engines/rsyslog.ts';
import { createFeed, dropFeed, type Feed, sweepFeed } from './feed.ts';
import type { StatsObject } from './formats/impstats.ts';
import type { Point } from './formats/point.ts';
import type { Intake } from './intake.ts';
import { recordOf, restoreFeed, restoreRows } from './memory.ts';
import { createPageReader } from './page.ts';
import { createPointReader } from './points.ts';
import type { PushedValue } from './pushed-value.ts';
import { settleFailure } from './replica.ts';
import type { Rows } from './rows.ts';
import { type Page, startScraping } from './scrape.ts';
import type { PipelineSettings, PullSettings } from './settings.ts';
import type { Slots } from './slots.ts';
import type { PipelineRecord } from './snapshot.ts';
import type { Row } from './state.ts';

/** What pipelines share. */
export interface Shared {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly rows: Rows;
  readonly slots: Slots;
  readonly intake: Intake;
}

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
  const valuesOfPoints = createPointReader(settings);
  const capacities = new Map(
    settings.engine === 'rsyslog' ? Object.entries(settings.queueCapacities ?? {}) : [],
  );
  let lastAt: number | null = null;
  let unreachableSince: number | null = null;
  let error: string | null = null;
  let stopScraping = (): void => {};

  function feedOf(name: string): Feed {
    let feed = feeds.get(name);
    if (feed === undefined) {
      if (feeds.size >= MOST_INSTANCES || name.length > LONGEST_INSTANCE || name === '')
        throw new AppError(
          'invalid-request',
          `pipeline '${settings.id}' takes at most ${MOST_INSTANCES} instances with names of 1 to ${LONGEST_INSTANCE} characters`,
        );
      feed = createFeed(name, identity, settings.push === true);
      feeds.set(name, feed);
    }
    return feed;
  }

  function reached(): void {
    lastAt = clock.now();
    if (error !== null) logger.info({}, 'The pipeline can be read again');
    error = null;
    unreachableSince = null;
  }

  function failed(feed: Feed, reason: string): void {
    lastAt = clock.now();
    unreachableSince ??= lastAt;
    if (error !== reason) logger.warn({ reason }, 'The pipeline cannot be read');
    error = reason;
    feed.unreachable = reason;
    settleFailure(feed.instances.values(), clock.monotonic());
  }

  function pageTaker(pull: PullSettings): (page: Page) => void {
    const { host, origin } = new URL(pull.url);
    const feed = feedOf(host);
    const read = createPageReader(profileOf(pull), intake);
    let warned = false;
    return page => {
      if ('error' in page) return failed(feed, page.error);
      const reading = read(feed, page.text, page.openMetrics);
      if (reading.error !== undefined) return failed(feed, `${origin}: ${reading.error}`);
      reached();
      if (reading.bad > 0 && !warned)
        logger.warn({ lines: reading.bad }, 'Lines of the page cannot be read and are skipped');
      warned = reading.bad > 0;
    };
  }

  function guarded(take: (page: Page) => void, feed: () => Feed): (page: Page) => void {
    return page => {
      try {
        take(page);
      } catch (fault) {
        logger.error({ reason: reasonOf(fault) }, 'A page broke its reader');
        failed(feed(), 'the page broke its reader; the log has the detail');
      }
    };
  }

  function push(instance: string | undefined, rounds: readonly (readonly PushedValue[])[]): number {
    const feed = feedOf(instance ?? settings.id);
    let taken = 0;
    for (const round of rounds) {
      intake.begin(feed);
      const own = intake.enterOwn(feed);
      for (const { series } of round) {
        const head = feed.series.get(series);
        if (head !== undefined) (slots.replica[head]?.instance ?? own).repeated = true;
      }
      for (const { series, discover, value, time } of round) {
        const fate = intake.take(feed, series, value, time, discover);
        if (fate === 'taken') taken++;
      }
      intake.end(feed);
    }
    reached();
    return taken;
  }

  function stop(): void {
    stopScraping();
    stopScraping = () => {};
  }

  return {
    settings,
    push,
    stop,
    start() {
      if (settings.push) return;
      const take = guarded(pageTaker(settings), () => feedOf(new URL(settings.url).host));
      stopScraping = startScraping({ ...shared, settings, take });
    },
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
    state: () => ({
      id: settings.id,
      engine: settings.engine,
      group: settings.group,
      mode: settings.push ? 'push' : 'pull',
      url: settings.push ? null : settings.url,
      state: error !== null ? 'unreachable' : lastAt === null ? 'waiting' : 'reachable',
      lastAt,
      unreachableSince,
      error,
      instances: settings.push
        ? feeds.size
        : [...feeds.values()].reduce((sum, { active }) => sum + active, 0),
      components: rows.countIn(settings.id),
      bytesPerEvent: settings.bytesPerEvent ?? null,
    }),
    record: () => recordOf(identity, { rows, slots, feeds: feeds.values(), clock }),
    restore(record) {
      restoreRows(record, rows, clock);
      const own = settings.push ? undefined : new URL(settings.url).host;
      for (const one of record.feeds)
        if (own === undefined || one.name === own)
          feeds.set(one.name, restoreFeed(one, identity, own === undefined, clock.monotonic()));
    },
    release() {
      stop();
      return { feeds, readers };
    },
    drop(what) {
      stop();
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
