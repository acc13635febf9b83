import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRepeat, type Repeat } from '../../lib/repeat.ts';
import type { WorkspaceStorage, WorkspaceTransaction } from '../../storage/storage.ts';
import type { MinutesRow } from '../../storage/stores/minutes.ts';
import type { Component, ComponentStatus, Components, ObservedFacts } from '../components/component.ts';
import { COUNTERS, isCounter, METRICS } from '../metric.ts';
import { decodeHours, encodeHours, hourOfMinutes } from './hour-codec.ts';
import {
  decodeMinutes,
  encodeMinute,
  HEALTH_NUMBERS,
  type MinuteValues,
  OBSERVED_VALUES,
} from './minute-codec.ts';
import { hashOfRow, hourOf, hourPlace, MINUTE_MS, minutesId } from './row-ids.ts';

/** Rows that are written in one transaction, while nothing else is written. */
const BATCH = 250;
/** Between two batches, for others that wait for the writer or the processor. */
const PAUSE_MS = 50;

/** The last minute that was over, of one component; epoch ms of its beginning. */
interface LastMinute {
  readonly startedAt: number;
  readonly values: MinuteValues;
}

/** Records what each component did, minute by minute. */
export interface MinuteRecorder {
  start(): void;
  /** Begins no further batch and waits for the one under way. */
  stop(): Promise<void>;
  /** Undefined before the first minute is over, and of what was not seen in it. */
  last(component: Component): LastMinute | undefined;
  /** How many components the last minute was recorded of; 0 while there are more than may be. */
  recordedCount(): number;
}

export interface MinuteRecorderOptions {
  readonly components: Pick<Components, 'all' | 'status' | 'observed'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** With more components than this nothing is recorded; called each minute. */
  readonly maxComponents: () => number;
  /** Each row is new, or is appended to the one of its id. */
  readonly append: (rows: readonly MinutesRow[]) => Promise<void>;
}

export const createMinuteRecorder = (options: MinuteRecorderOptions): MinuteRecorder =>
  new BatchRecorder(options);

/** The values that the next minute is compared with. */
interface Baseline {
  /** By counter, when it was last recorded. */
  readonly totals: Readonly<Record<string, number>>;
  readonly observed: ObservedFacts | undefined;
  readonly last: LastMinute | undefined;
}

class BatchRecorder implements MinuteRecorder {
  readonly #options: MinuteRecorderOptions;
  readonly #faults: CountedLog;
  readonly #abort = new AbortController();
  readonly #loop: Repeat;
  /** Undefined while there are more components than may be. */
  #baselines: WeakMap<Component, Baseline> | undefined;
  #recordedCount = 0;

  constructor(options: MinuteRecorderOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'what components did cannot be recorded',
      over: 'what components did is recorded again',
    });
    const { clock } = options;
    this.#loop = createRepeat({
      clock,
      interval: () => MINUTE_MS - (clock.now() % MINUTE_MS),
      work: () => {
        // Timers follow another clock, and may be a little early.
        const over = Math.round(clock.now() / MINUTE_MS) * MINUTE_MS;
        return this.#record(over - MINUTE_MS);
      },
      // Only a minute that was recorded has recovered: see `#record`.
      faults: { failed: error => this.#faults.failed(error) },
    });
  }

  start(): void {
    const { components, maxComponents } = this.#options;
    const all = components.all();
    if (this.#baselines === undefined && all.length <= maxComponents()) this.#takeBaselines(all);
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#loop.stop();
  }

  last(component: Component): LastMinute | undefined {
    return this.#baselines?.get(component)?.last;
  }

  recordedCount(): number {
    return this.#recordedCount;
  }

  async #record(startedAt: number): Promise<void> {
    const { components, clock, maxComponents, append } = this.#options;
    const all = components.all();
    const most = maxComponents();
    const isTooMany = all.length > most;
    this.#recordedCount = isTooMany ? 0 : all.length;
    if (isTooMany) {
      if (most > 0)
        this.#faults.failed(
          new Error(`there are more than ${most} inputs and outputs; raise history.components`),
        );
      this.#baselines = undefined;
      return;
    }
    if (this.#baselines === undefined) return this.#takeBaselines(all);
    const hour = hourOf(startedAt);
    const minute = (startedAt - hour) / MINUTE_MS;
    for (let at = 0; at < all.length && !this.#abort.signal.aborted; at += BATCH) {
      const rows = all.slice(at, at + BATCH).flatMap(component => {
        const values = this.#measure(component, startedAt);
        return values === undefined
          ? []
          : [{ id: minutesId(hour, component), hour, data: encodeMinute(minute, values) }];
      });
      await append(rows);
      await clock.sleep(PAUSE_MS, this.#abort.signal);
    }
    this.#faults.recovered();
  }

  /** Begins to record: what was counted before belongs to no minute. */
  #takeBaselines(all: readonly Component[]): void {
    const { components } = this.#options;
    this.#baselines = new WeakMap(
      all.map(component => [
        component,
        {
          totals: components.status(component).metrics,
          observed: components.observed(component),
          last: undefined,
        },
      ]),
    );
  }

  /** The values of the minute; undefined when nothing is known of the component. */
  #measure(component: Component, startedAt: number): MinuteValues | undefined {
    const { components } = this.#options;
    const status = components.status(component);
    const { health, timestamp, metrics } = status;
    const observed = components.observed(component);
    const baseline = this.#baselines?.get(component);
    const before = baseline?.totals ?? {};
    const number = HEALTH_NUMBERS[health];
    const values: MinuteValues = number === undefined ? {} : { health: number };
    // Increases that no reading showed in this minute are left to the one in which a reading does.
    const isSeen = timestamp !== null && timestamp >= startedAt;
    if (isSeen)
      for (const name of METRICS) {
        const now = metrics[name];
        if (now !== undefined) values[name] = isCounter(name) ? increase(before[name] ?? 0, now) : now;
      }
    if (observed !== undefined) addObserved(values, { status, observed, before: baseline?.observed });
    const isKnown = Object.keys(values).length > 0;
    const last = isKnown ? { startedAt, values } : undefined;
    this.#baselines?.set(component, { totals: isSeen ? metrics : before, observed, last });
    return isKnown ? values : undefined;
  }
}

interface ObservedMinute {
  readonly status: Pick<ComponentStatus, 'silentMs' | 'replicas'>;
  readonly observed: ObservedFacts;
  /** A minute before. */
  readonly before: ObservedFacts | undefined;
}

/** Adds what conditions look at beside metrics, as `MinuteValues` says. */
function addObserved(values: MinuteValues, { status, observed, before }: ObservedMinute): void {
  const { endedSilence } = observed;
  const isEndedNow = endedSilence !== undefined && endedSilence.endedAt !== before?.endedSilence?.endedAt;
  const found: MinuteValues = {
    silent_seconds: seconds(status.silentMs),
    ended_silent_seconds: isEndedNow ? seconds(endedSilence.ms) : 0,
    unread_seconds: seconds(observed.unreadMs),
    red_ms: Math.round(increase(before?.redMs ?? 0, observed.redMs)),
    blocked_ms: Math.round(increase(before?.blockedMs ?? 0, observed.blockedMs)),
    replicas: status.replicas === 1 ? 0 : status.replicas,
    queue_usage: status.replicas > 1 ? (observed.queueUsage ?? 0) : 0,
  };
  for (const counter of COUNTERS)
    found[`unobserved_${counter}`] = increase(
      before?.unobserved[counter] ?? 0,
      observed.unobserved[counter] ?? 0,
    );
  for (const name of OBSERVED_VALUES) {
    const value = found[name] ?? 0;
    if (value > 0) values[name] = value;
  }
}

const seconds = (ms: number): number => Math.round(ms / 1000);

/** A total that is less than before began anew. */
const increase = (before: number, now: number): number => (now < before ? now : now - before);

/** The last minute of an hour is written within seconds; one that comes later is added by making the hour anew. */
const SETTLE_MS = 90_000;
const EVERY_MS = 60_000;
/** A start has more urgent things to do. */
const FIRST_AFTER_MS = 10_000;
/** Components in one transaction, while nothing else is written. */
const HOURS_AT_ONCE = 50;

/** Keeps an hour of each component once its minutes are complete. */
export interface HourKeeper {
  start(): void;
  /** Begins no further batch and waits for the one under way. */
  stop(): Promise<void>;
}

export interface HourKeeperOptions {
  readonly minutes: Pick<WorkspaceStorage['minutes'], 'firstHourToKeep'>;
  readonly transaction: <Result>(work: (tx: WorkspaceTransaction) => Promise<Result>) => Promise<Result>;
  /** For how many seconds of the hour (epoch ms) an incident was open on components, by the hash of each. */
  readonly openSeconds: (hour: number) => Promise<ReadonlyMap<string, number>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Minutes say themselves whether their hour holds them, in the same transaction: after a stop, a crash or a change of the
 * leader the next one goes on where the last one was, an hour that gets a minute more is made anew, and one that is made
 * twice is the same.
 */
export function createHourKeeper(options: HourKeeperOptions): HourKeeper {
  const { clock } = options;
  const abort = new AbortController();
  const repeat: Repeat = createRepeat({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    interval: EVERY_MS,
    work: () => keepCompleteHours(options, abort.signal),
    faults: createCountedLog(options.logger, {
      fields: {},
      message: 'hours of components cannot be kept; their minutes stay until they can',
      over: 'hours of components are kept again',
    }),
  });
  return {
    start: () => repeat.start(),
    async stop() {
      abort.abort();
      await repeat.stop();
    },
  };
}

async function keepCompleteHours(options: HourKeeperOptions, signal: AbortSignal): Promise<void> {
  const { minutes, transaction, openSeconds, clock } = options;
  const before = hourOf(clock.now() - SETTLE_MS);
  let last: number | undefined;
  while (!signal.aborted) {
    const hour = await minutes.firstHourToKeep(before);
    // An hour that comes again has rows that cannot be kept; they must not keep the others from it for ever.
    if (hour === undefined || hour === last) return;
    last = hour;
    const open = await openSeconds(hour);
    for (let kept = HOURS_AT_ONCE; kept === HOURS_AT_ONCE && !signal.aborted; ) {
      kept = await transaction(tx => keepSome(tx, hour, open));
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

/** Answers of how many components it kept the hour. */
async function keepSome(
  tx: WorkspaceTransaction,
  hour: number,
  open: ReadonlyMap<string, number>,
): Promise<number> {
  const taken = await tx.takeMinutes(hour, HOURS_AT_ONCE);
  const places = taken.map(row => ({ row, hash: hashOfRow(row.id), ...hourPlace(hour, hashOfRow(row.id)) }));
  const before = new Map((await tx.hoursByIds(places.map(({ id }) => id))).map(row => [row.id, row.data]));
  const rows = places.map(({ row, hash, id, start, number }) => {
    const data = before.get(id);
    const hours = data === undefined ? new Map() : decodeHours(data);
    hours.set(number, hourOfMinutes(decodeMinutes(row.data), open.get(hash) ?? 0));
    return { id, start, data: encodeHours(hours) };
  });
  await tx.putHours(rows);
  return taken.length;
}
