import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { deterministicId, idFloor } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { MinutesRow } from '../../storage/stores/minutes.ts';
import type { Component, Components } from '../components/component.ts';
import { isCounter, METRICS } from '../metric.ts';
import { encodeMinute, HEALTH_NUMBERS, type MinuteValues } from './minute-codec.ts';

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** What is written in one transaction, while nothing else is written. */
const BATCH = 250;
/** Between two batches, for whoever waits for the writer or the processor. */
const PAUSE_MS = 50;

/** Names the row of a component and an hour (epoch ms of its beginning): ids grow with time. */
export const minutesId = (hour: number, { kind, pipeline, type, engineId }: Component): string =>
  `${idFloor(hour)}-${deterministicId(kind, pipeline, type, engineId)}`;

/** The last minute that was over, of one component; epoch ms of its beginning. */
interface LastMinute {
  readonly startedAt: number;
  readonly values: MinuteValues;
}

/** Writes down what each component did, minute by minute. */
export interface MinuteRecorder {
  start(): void;
  /** Begins no further batch and waits for the one under way. */
  stop(): Promise<void>;
  /** Undefined before the first minute is over, and of what was not seen in it. */
  last(component: Component): LastMinute | undefined;
  /** How many components there were in the last minute, each looked at; 0 while there are more than may be. */
  recordedCount(): number;
}

export interface MinuteRecorderOptions {
  readonly components: Pick<Components, 'all' | 'status'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** With more components than this nothing is recorded; asked each minute. */
  readonly maxComponents: () => number;
  /** Each row is new, or goes behind the one of its id. */
  readonly append: (rows: readonly MinutesRow[]) => Promise<void>;
}

interface Baseline {
  /** By counter, when it was last recorded. */
  readonly totals: Readonly<Record<string, number>>;
  readonly last: LastMinute | undefined;
}

export function createMinuteRecorder(options: MinuteRecorderOptions): MinuteRecorder {
  const { components, clock, logger, maxComponents, append } = options;
  const abort = new AbortController();
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'what components did cannot be recorded',
    over: 'what components did is recorded again',
  });
  let baselines: WeakMap<Component, Baseline> | undefined;
  let count = 0;

  /** What the minute brought; undefined of a component that nothing is known of. */
  function measureMinute(component: Component, startedAt: number): MinuteValues | undefined {
    const { health, timestamp, metrics } = components.status(component);
    const before = baselines?.get(component)?.totals ?? {};
    const number = HEALTH_NUMBERS[health];
    const values: MinuteValues = number === undefined ? {} : { health: number };
    // What nobody has told in this minute is left to the one in which somebody does.
    const isSeen = timestamp !== null && timestamp >= startedAt;
    if (isSeen)
      for (const name of METRICS) {
        const now = metrics[name];
        if (now !== undefined) values[name] = isCounter(name) ? increase(before[name] ?? 0, now) : now;
      }
    const isKnown = Object.keys(values).length > 0;
    const last = isKnown ? { startedAt, values } : undefined;
    baselines?.set(component, { totals: isSeen ? metrics : before, last });
    return isKnown ? values : undefined;
  }

  async function record(startedAt: number): Promise<void> {
    const all = components.all();
    const isTooMany = all.length > maxComponents();
    count = isTooMany ? 0 : all.length;
    if (isTooMany) {
      if (maxComponents() > 0)
        faults.failed(
          new Error(`there are more than ${maxComponents()} inputs and outputs; raise history.components`),
        );
      baselines = undefined;
      return;
    }
    if (baselines === undefined) return takeBaseline(all);
    const hour = Math.floor(startedAt / HOUR_MS) * HOUR_MS;
    const minute = (startedAt - hour) / MINUTE_MS;
    for (let at = 0; at < all.length && !abort.signal.aborted; at += BATCH) {
      const rows = all.slice(at, at + BATCH).flatMap(component => {
        const values = measureMinute(component, startedAt);
        return values === undefined
          ? []
          : [{ id: minutesId(hour, component), hour, data: encodeMinute(minute, values) }];
      });
      await append(rows);
      await clock.sleep(PAUSE_MS, abort.signal);
    }
    faults.recovered();
  }

  /** What was counted before somebody recorded belongs to no minute. */
  function takeBaseline(all: readonly Component[]): void {
    baselines = new WeakMap(
      all.map(component => [component, { totals: components.status(component).metrics, last: undefined }]),
    );
  }

  const recording = createRepeat({
    clock,
    interval: () => MINUTE_MS - (clock.now() % MINUTE_MS),
    work: () => {
      // Timers follow another clock, and may be a little early.
      const over = Math.round(clock.now() / MINUTE_MS) * MINUTE_MS;
      return record(over - MINUTE_MS);
    },
    // Only a minute that was recorded has passed: see `record`.
    faults: { failed: error => faults.failed(error) },
  });

  return {
    start() {
      if (baselines === undefined && components.all().length <= maxComponents())
        takeBaseline(components.all());
      recording.start();
    },
    async stop() {
      abort.abort();
      await recording.stop();
    },
    last: component => baselines?.get(component)?.last,
    recordedCount: () => count,
  };
}

/** A total that is less than before began anew. */
const increase = (before: number, now: number): number => (now < before ? now : now - before);
