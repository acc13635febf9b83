import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import { sameTimeDaysBefore } from '../../lib/timezone.ts';
import type { WorkspaceStorage } from '../../storage/storage.ts';
import type { Component, Usual, UsualWindow } from '../components/component.ts';
import type { Counter } from '../metric.ts';
import type { HourValues } from './hour-codec.ts';
import { readHours } from './reader.ts';
import { HOUR_MS, hourOf, MINUTE_MS } from './row-ids.ts';

/** So many days are compared with. */
export const USUAL_DAYS = 28;
/** An hour counts when a reading showed the component in so many of its minutes: others are gaps. */
const FEWEST_MINUTES = 54;
const SLOT_MS = 5 * MINUTE_MS;
const SLOTS = HOUR_MS / SLOT_MS;
/** The longest window, and a change of the clock. */
const REACH_MS = (USUAL_DAYS + 1) * 24 * HOUR_MS + 2 * HOUR_MS;
/** What was known of the hour before stands in until the hour under way is read, and no longer. */
const STALE_MS = 2 * HOUR_MS;
/** Components whose hours are read at once, between which other work may go on. */
const AT_ONCE = 10;

/** Knows what components usually bring at this time of the day. */
export interface UsualVolumes {
  /** Undefined while their hours are being read: they are read in the background, once for each hour. */
  usual(component: Component, metric: Counter, window: UsualWindow): Usual | undefined;
  stop(): Promise<void>;
}

export interface UsualVolumesOptions {
  readonly hours: WorkspaceStorage['hours'];
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** One metric of one component over one kind of window. */
interface Entry {
  readonly metric: Counter;
  readonly window: UsualWindow;
  /** The hour (epoch ms) that `slots` are of. */
  hour: number;
  /** In the middle of each five minutes of the hour; empty before they were first read. */
  slots: readonly Usual[];
  usedAt: number;
}

export const createUsualVolumes = (options: UsualVolumesOptions): UsualVolumes =>
  new RecordedVolumes(options);

class RecordedVolumes implements UsualVolumes {
  readonly #options: UsualVolumesOptions;
  readonly #faults: CountedLog;
  readonly #entries = new Map<Component, Map<string, Entry>>();
  readonly #waiting = new Set<Component>();
  #reading: Promise<void> | undefined;
  #prunedAt = 0;
  #isStopped = false;

  constructor(options: UsualVolumesOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'recorded hours cannot be read; baselines are unknown until they can',
      over: 'recorded hours are read again',
    });
  }

  usual(component: Component, metric: Counter, window: UsualWindow): Usual | undefined {
    const now = this.#options.clock.now();
    const entry = this.#entryOf(component, metric, window);
    entry.usedAt = now;
    const passed = now - entry.hour;
    if (passed < 0 || passed >= HOUR_MS) this.#request(component);
    return Math.abs(passed) < STALE_MS
      ? entry.slots[Math.max(0, Math.min(SLOTS - 1, Math.floor(passed / SLOT_MS)))]
      : undefined;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#reading;
  }

  #entryOf(component: Component, metric: Counter, window: UsualWindow): Entry {
    const key = `${metric} ${window.windowMs} ${window.timezone}`;
    const known = this.#entries.get(component) ?? new Map<string, Entry>();
    this.#entries.set(component, known);
    const entry = known.get(key) ?? { metric, window, hour: Number.NEGATIVE_INFINITY, slots: [], usedAt: 0 };
    known.set(key, entry);
    return entry;
  }

  #request(component: Component): void {
    if (this.#isStopped) return;
    this.#waiting.add(component);
    this.#reading ??= this.#readWaiting().finally(() => {
      this.#reading = undefined;
    });
  }

  async #readWaiting(): Promise<void> {
    try {
      while (this.#waiting.size > 0 && !this.#isStopped) {
        const some = [...this.#waiting].slice(0, AT_ONCE);
        await this.#read(some);
        for (const one of some) this.#waiting.delete(one);
      }
      this.#faults.recovered();
    } catch (error) {
      // Each evaluation asks again.
      this.#waiting.clear();
      this.#faults.failed(error);
    }
  }

  async #read(components: readonly Component[]): Promise<void> {
    const hour = hourOf(this.#options.clock.now());
    this.#prune(hour);
    const recorded = components.map(() => new Map<number, HourValues>());
    const span = { start: hour - REACH_MS, end: hour };
    for await (const hours of readHours(this.#options.hours, components, span))
      for (const { component, startedAt, values } of hours)
        if ((values.minutes ?? 0) >= FEWEST_MINUTES) recorded[component]?.set(startedAt, values);
    components.forEach((component, at) => {
      for (const entry of this.#entries.get(component)?.values() ?? []) {
        entry.slots = slotsOf(hour, entry, recorded[at]);
        entry.hour = hour;
      }
    });
  }

  /** Forgets what no notification asks for any more. */
  #prune(hour: number): void {
    if (this.#prunedAt === hour) return;
    this.#prunedAt = hour;
    for (const [component, entries] of this.#entries) {
      for (const [key, { usedAt }] of entries) if (hour - usedAt > STALE_MS) entries.delete(key);
      if (entries.size === 0) this.#entries.delete(component);
    }
  }
}

const slotsOf = (
  hour: number,
  { metric, window }: Entry,
  recorded: ReadonlyMap<number, HourValues> | undefined,
): readonly Usual[] =>
  Array.from({ length: SLOTS }, (_, slot) =>
    usualAt(hour + (slot + 0.5) * SLOT_MS, window, at => recorded?.get(at)?.[metric]),
  );

/**
 * What windows that end at `at` (epoch ms) usually hold, by the same time on each of the last 28 days. `inHour` is what the
 * hour that begins at a time brought, undefined where it was not recorded; a window that covers a part of an hour counts
 * that part of it.
 */
export function usualAt(
  at: number,
  { windowMs, timezone }: UsualWindow,
  inHour: (hour: number) => number | undefined,
): Usual {
  const sums: number[] = [];
  for (let day = 1; day <= USUAL_DAYS; day++) {
    const until = sameTimeDaysBefore(at, day, timezone);
    const sum = sumBetween(until - windowMs, until, inHour);
    if (sum !== undefined) sums.push(sum);
  }
  const median = medianOf(sums);
  return { median, deviation: medianOf(sums.map(sum => Math.abs(sum - median))), days: sums.length };
}

function sumBetween(
  from: number,
  until: number,
  inHour: (hour: number) => number | undefined,
): number | undefined {
  let sum = 0;
  for (let hour = hourOf(from); hour < until; hour += HOUR_MS) {
    const value = inHour(hour);
    if (value === undefined) return undefined;
    sum += (value * (Math.min(until, hour + HOUR_MS) - Math.max(from, hour))) / HOUR_MS;
  }
  return sum;
}

/** 0 of nothing. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? 0;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? 0) + upper) / 2 : upper;
}
