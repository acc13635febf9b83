import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import { sameTimeDaysBefore } from '../../lib/timezone.ts';
import type { WorkspaceStorage } from '../../storage/storage.ts';
import type { Component, Usual, UsualWindow } from '../components/component.ts';
import type { ComponentKind, Counter } from '../metric.ts';
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

type InHour = (hour: number) => number | undefined;

/** An hour (epoch ms of its beginning) with the part of it, in ms, that is in a window. */
type HourPart = readonly [hour: number, ms: number];

/**
 * What windows that end at `at` (epoch ms) usually hold, by the same time on each of the last 28 days. `inHour` is what the
 * hour that begins at a time brought, undefined where it was not recorded; a window that covers a part of an hour counts
 * that part of it.
 */
export const usualAt = (at: number, window: UsualWindow, inHour: InHour): Usual =>
  usualOf(comparedWindows(at, window), inHour);

/** The hours of the window of each day that is compared. */
function comparedWindows(at: number, { windowMs, timezone }: UsualWindow): readonly (readonly HourPart[])[] {
  return Array.from({ length: USUAL_DAYS }, (_, day) => {
    const until = sameTimeDaysBefore(at, day + 1, timezone);
    const from = until - windowMs;
    const parts: HourPart[] = [];
    for (let hour = hourOf(from); hour < until; hour += HOUR_MS)
      parts.push([hour, Math.min(until, hour + HOUR_MS) - Math.max(from, hour)]);
    return parts;
  });
}

/** Sums of the days that are compared. */
const sums = new Float64Array(USUAL_DAYS);

function usualOf(windows: readonly (readonly HourPart[])[], inHour: InHour): Usual {
  let days = 0;
  for (const parts of windows) {
    const sum = sumOf(parts, inHour);
    if (sum !== undefined) sums[days++] = sum;
  }
  const compared = sums.subarray(0, days);
  const median = middleOf(compared.sort());
  for (let day = 0; day < days; day++) compared[day] = Math.abs((compared[day] ?? 0) - median);
  return { median, deviation: middleOf(compared.sort()), days };
}

function sumOf(parts: readonly HourPart[], inHour: InHour): number | undefined {
  let sum = 0;
  for (const [hour, ms] of parts) {
    const value = inHour(hour);
    if (value === undefined) return undefined;
    sum += (value * ms) / HOUR_MS;
  }
  return sum;
}

/** What hours brought to components: of each its events and then its bytes, hour by hour, NaN where none was recorded. */
export interface VolumesByHour {
  /** Epoch ms of the first hour. */
  readonly start: number;
  readonly hours: number;
  readonly values: Float64Array<ArrayBuffer>;
}

const VOLUMES: Readonly<Record<ComponentKind, readonly Counter[]>> = {
  input: ['in_events', 'in_bytes'],
  output: ['out_events', 'out_bytes'],
};

/** Reads what `PastVolumes` needs between two times (epoch ms). */
export async function readVolumes(
  store: WorkspaceStorage['hours'],
  components: readonly Component[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<VolumesByHour> {
  const start = hourOf(from) - REACH_MS;
  const hours = Math.ceil((to - start) / HOUR_MS);
  const values = new Float64Array(components.length * 2 * hours).fill(Number.NaN);
  for await (const some of readHours(store, components, { start, end: to }))
    for (const { component: at, startedAt, values: recorded } of some) {
      const component = components[at];
      if (component === undefined || (recorded.minutes ?? 0) < FEWEST_MINUTES) continue;
      VOLUMES[component.kind].forEach((metric, column) => {
        const place = (at * 2 + column) * hours + (startedAt - start) / HOUR_MS;
        values[place] = recorded[metric] ?? Number.NaN;
      });
    }
  return { start, hours, values };
}

/** A kind of window at a slot (epoch ms of its middle), and what is compared with it. */
interface ComparedSlot {
  readonly at: number;
  readonly windowMs: number;
  readonly timezone: string;
  readonly windows: readonly (readonly HourPart[])[];
}

/** Knows what was usual at a time that is over, as `UsualVolumes` knew it then. */
export class PastVolumes {
  readonly #volumes: VolumesByHour;
  readonly #places: ReadonlyMap<Component, number>;
  /** The last that was asked for, as all components ask for the same ones. */
  #slot: ComparedSlot | undefined;
  readonly #known = new Map<Component, { slot: ComparedSlot; metric: Counter; usual: Usual }>();

  /** The components in the order in which their hours were read. */
  constructor(volumes: VolumesByHour, components: readonly Component[]) {
    this.#volumes = volumes;
    this.#places = new Map(components.map((component, at) => [component, at]));
  }

  usual(component: Component, metric: Counter, window: UsualWindow, now: number): Usual | undefined {
    const slot = this.#slotAt((Math.floor(now / SLOT_MS) + 0.5) * SLOT_MS, window);
    const forMs = slot.at + SLOT_MS / 2 - now;
    const known = this.#known.get(component);
    if (known?.slot === slot && known.metric === metric) return valid(known.usual, forMs);
    const place = this.#places.get(component);
    const column = VOLUMES[component.kind].indexOf(metric);
    if (place === undefined || column < 0) return undefined;
    const { start, hours, values } = this.#volumes;
    const first = (place * 2 + column) * hours;
    const usual = usualOf(slot.windows, hour => {
      const number = (hour - start) / HOUR_MS;
      const value = number < 0 || number >= hours ? Number.NaN : values[first + number];
      return value === undefined || Number.isNaN(value) ? undefined : value;
    });
    this.#known.set(component, { slot, metric, usual });
    return valid(usual, forMs);
  }

  #slotAt(at: number, { windowMs, timezone }: UsualWindow): ComparedSlot {
    const last = this.#slot;
    if (last?.at === at && last.windowMs === windowMs && last.timezone === timezone) return last;
    const window = { windowMs, timezone };
    this.#slot = { at, ...window, windows: comparedWindows(at, window) };
    return this.#slot;
  }
}

const valid = ({ median, deviation, days }: Usual, forMs: number): Usual => ({
  median,
  deviation,
  days,
  forMs,
});

/** 0 of nothing. */
export const medianOf = (values: readonly number[]): number => middleOf(Float64Array.from(values).sort());

function middleOf(sorted: Float64Array): number {
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? 0;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? 0) + upper) / 2 : upper;
}
