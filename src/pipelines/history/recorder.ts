import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { deterministicId, idFloor } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRepeat, type Repeat } from '../../lib/repeat.ts';
import type { MinutesRow } from '../../storage/stores/minutes.ts';
import type { Component, Components } from '../components/component.ts';
import { isCounter, METRICS } from '../metric.ts';
import { encodeMinute, HEALTH_NUMBERS, type MinuteValues } from './minute-codec.ts';

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** Rows that are written in one transaction, while nothing else is written. */
const BATCH = 250;
/** Between two batches, for others that wait for the writer or the processor. */
const PAUSE_MS = 50;

/** Names the row of a component and an hour (epoch ms of its beginning): ids grow with time. */
export const minutesId = (hour: number, { kind, pipeline, type, engineId }: Component): string =>
  `${idFloor(hour)}-${deterministicId(kind, pipeline, type, engineId)}`;

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
  readonly components: Pick<Components, 'all' | 'status'>;
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
    const hour = Math.floor(startedAt / HOUR_MS) * HOUR_MS;
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
      all.map(component => [component, { totals: components.status(component).metrics, last: undefined }]),
    );
  }

  /** The values of the minute; undefined when nothing is known of the component. */
  #measure(component: Component, startedAt: number): MinuteValues | undefined {
    const { health, timestamp, metrics } = this.#options.components.status(component);
    const before = this.#baselines?.get(component)?.totals ?? {};
    const number = HEALTH_NUMBERS[health];
    const values: MinuteValues = number === undefined ? {} : { health: number };
    // Increases that no reading showed in this minute are left to the one in which a reading does.
    const isSeen = timestamp !== null && timestamp >= startedAt;
    if (isSeen)
      for (const name of METRICS) {
        const now = metrics[name];
        if (now !== undefined) values[name] = isCounter(name) ? increase(before[name] ?? 0, now) : now;
      }
    const isKnown = Object.keys(values).length > 0;
    const last = isKnown ? { startedAt, values } : undefined;
    this.#baselines?.set(component, { totals: isSeen ? metrics : before, last });
    return isKnown ? values : undefined;
  }
}

/** A total that is less than before began anew. */
const increase = (before: number, now: number): number => (now < before ? now : now - before);
