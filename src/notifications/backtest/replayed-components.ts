import type { ComponentRule, OkBound } from '../../conditions/condition.ts';
import type {
  Component,
  ComponentHealth,
  ComponentStatus,
  Components,
  Measurement,
  PipelineState,
  Usual,
  UsualWindow,
} from '../../pipelines/components/component.ts';
import {
  CARRIED_MINUTE,
  HEALTH_NUMBERS,
  MinuteTable,
  maskOf,
  type PackedHour,
  placeOf,
} from '../../pipelines/history/minute-codec.ts';
import { HOUR_MS, MINUTE_MS } from '../../pipelines/history/row-ids.ts';
import { PastVolumes, type VolumesByHour } from '../../pipelines/history/usual-volumes.ts';
import { type Counter, isCounter, METRICS, type Metric, type Windowed } from '../../pipelines/metric.ts';
import type { Notification } from '../notification.ts';

/** What was recorded of components, in their order. */
export interface RecordedHistory {
  /** The minutes of the hour that begins at `hour` (epoch ms); `spare` is of one that is no longer looked at. */
  readonly readHour: (hour: number, spare?: PackedHour) => Promise<PackedHour>;
  /** What hours brought, from 28 days before the minutes on. */
  readonly readVolumes: () => Promise<VolumesByHour>;
}

/** Where a window is in the minutes: how far it has come, and what it holds. */
interface WindowPlace {
  /** The first minute of the hour that is not added yet. */
  next: number;
  /** Minutes in a row, before that one, that no reading showed. */
  unseen: number;
  /** Where the amount of the last observed minute stands. */
  newest: number;
  observedMinutes: number;
  /** The sum of the whole minutes in the window. */
  whole: number;
}

/** The sum of a metric over the last minutes. */
interface MinuteWindow extends WindowPlace {
  readonly metric: Windowed;
  readonly ms: number;
  /** Amounts of the last observed minutes, the newest at `newest`. */
  readonly amounts: Float64Array;
  readonly place: number;
  /** The place of what counts for no window; times have none. */
  readonly unobservedPlace: number | undefined;
  /** How much of the minute before the whole ones is in it, 0 to 1. */
  readonly share: number;
  /** Where it was before it was moved ahead of the minute that is shown, with the amounts that were replaced since. */
  before: WindowPlace | undefined;
  readonly replaced: Float64Array;
}

interface ReplayedState {
  readonly component: Component;
  /** The hour that is shown. */
  readonly table: MinuteTable;
  readonly windows: MinuteWindow[];
  /** The place of the last minute that was taken over; -1 before the first. */
  minute: number;
  /** The first minute of the hour that is not taken over yet. */
  next: number;
  silentMs: number;
  /** Epoch ms; 0 when nothing is known of any. */
  lastDataAt: number;
  /** Minutes in a row, before the present one, that no reading showed. */
  unseenMinutes: number;
  /** Metrics that any minute had. */
  readonly known: Set<Metric>;
}

/** In an hour. */
const MINUTES = HOUR_MS / MINUTE_MS;
const METRICS_MASK = maskOf(METRICS);
const HEALTH = placeOf('health');
const SILENT = placeOf('silent_seconds');
const ENDED_SILENT = placeOf('ended_silent_seconds');
const ENDED_SILENT_MASK = maskOf(['ended_silent_seconds']);
const UNREAD = placeOf('unread_seconds');
const REPLICAS = placeOf('replicas');
const QUEUE_USAGE = placeOf('queue_usage');
const QUEUE_SIZE = placeOf('queue_size');
const QUEUE_CAPACITY = placeOf('queue_capacity');

/**
 * Components as minutes recorded them. They stand still until the next minute is shown. A component takes over what was
 * shown when it is asked for: most are looked at once in an hour.
 */
export class ReplayedComponents implements Components {
  readonly #states: readonly ReplayedState[];
  readonly #byComponent: ReadonlyMap<Component, ReplayedState>;
  readonly #pipelines: ReadonlyMap<string, PipelineState>;
  /** Those that have had a minute, and those that have not. */
  #seen: readonly Component[] = [];
  #unseen: readonly ReplayedState[];
  /** Epoch ms of the hour that is shown. */
  #hour = 0;
  /** The first and the last minute of the hour that were shown; -1 before the first. */
  #first = -1;
  #shown = -1;
  #isBetweenMinutes = false;
  #volumes: PastVolumes | undefined;
  /** By minute of the hour, 1 where anything was recorded. */
  readonly #recorded = new Uint8Array(MINUTES);
  /** By minute of the hour, those whose silence of a minute or more data ended. */
  readonly #ended = new Map<number, ReplayedState[]>();
  revision = 0;

  constructor(components: readonly Component[], pipelines: readonly PipelineState[]) {
    this.#states = components.map(newState);
    this.#unseen = this.#states;
    this.#byComponent = new Map(this.#states.map(state => [state.component, state]));
    this.#pipelines = new Map(pipelines.map(pipeline => [pipeline.id, pipeline]));
  }

  /** Takes over what hours brought, of the days before the minutes that are played too. */
  readVolumes(volumes: VolumesByHour): void {
    this.#volumes = new PastVolumes(
      volumes,
      this.#states.map(({ component }) => component),
    );
  }

  /** The notification, enabled, with a rule that looks ahead: what is ok for a while is not evaluated meanwhile. */
  replayed(notification: Notification): Notification {
    const { rule } = notification;
    if (rule.source !== 'component' || rule.okWhile === undefined)
      return { ...notification, disabled: false };
    return { ...notification, disabled: false, rule: this.#lookingAhead(rule) };
  }

  /** Takes over the minutes of the hour that begins at `hour` (epoch ms), in the order of the components. */
  readHour(hour: number, packed: PackedHour): void {
    for (const state of this.#states) {
      this.#catchUp(state);
      for (const window of state.windows) {
        this.#catchUpWindow(state, window);
        window.next = 0;
        window.before = undefined;
      }
    }
    this.#hour = hour;
    this.#first = -1;
    this.#shown = -1;
    this.#recorded.fill(0);
    this.#ended.clear();
    let at = 0;
    for (const state of this.#states) at = this.#readState(state, packed, at);
  }

  /** True when data ended a silence of a minute or more within that minute of the hour. */
  hasEndedSilence(minute: number): boolean {
    return this.#ended.has(minute);
  }

  /** Shows silences that data ended within that minute of the hour as they were just before. */
  showEndedSilences(minute: number): void {
    this.#isBetweenMinutes = true;
    for (const state of this.#ended.get(minute) ?? []) {
      this.#catchUp(state);
      state.silentMs = (state.table.value(minute, ENDED_SILENT) ?? 0) * 1000;
    }
  }

  /** Shows the end of that minute of the hour; false when nothing was recorded of it. */
  showMinute(minute: number): boolean {
    this.#isBetweenMinutes = false;
    if (this.#first < 0) this.#first = minute;
    this.#shown = minute;
    const appeared = this.#unseen.filter(({ table }) => table.isRecorded(minute));
    if (appeared.length > 0) {
      this.#unseen = this.#unseen.filter(({ table }) => !table.isRecorded(minute));
      this.#seen = [...this.#seen, ...appeared.map(({ component }) => component)];
      this.revision++;
    }
    return this.#recorded[minute] !== 0;
  }

  all(): readonly Component[] {
    return this.#seen;
  }

  status(component: Component): ComponentStatus {
    const state = this.#stateOf(component);
    const health = HEALTH_BY_NUMBER.get(shownValue(state, HEALTH)) ?? 'Unknown';
    const replicas = shownValue(state, REPLICAS) ?? 1;
    return {
      health,
      presence: 'present',
      healthCounts: { Green: 0, Yellow: 0, Red: 0, Unknown: 0, [health]: replicas },
      timestamp: null,
      metrics: state === undefined ? {} : gaugesOf(state),
      error: null,
      replicas,
      lastDataAt: this.lastDataAt(component),
      silentMs: state?.silentMs ?? 0,
    };
  }

  silentMs(component: Component): number {
    return this.#stateOf(component)?.silentMs ?? 0;
  }

  lastDataAt(component: Component): number | null {
    return this.#stateOf(component)?.lastDataAt || null;
  }

  presence(): ReturnType<Components['presence']> {
    return { presence: 'present', reason: null };
  }

  unreadMs(component: Component): number {
    return (shownValue(this.#stateOf(component), UNREAD) ?? 0) * 1000;
  }

  hasMetric(component: Component, metric: Metric): boolean {
    const state = this.#stateOf(component);
    if (state === undefined || state.minute < 0) return false;
    if (state.known.has(metric)) return true;
    const isKnown = state.table.value(state.minute, placeOf(metric)) !== undefined;
    if (isKnown) state.known.add(metric);
    return isKnown;
  }

  measure(component: Component, metric: Windowed, ms: number): Measurement | undefined {
    const state = this.#stateOf(component);
    if (state === undefined) return undefined;
    const window = windowOf(state, metric, ms) ?? beginWindow(state, metric, ms);
    this.#catchUpWindow(state, window);
    return { sum: sumOf(window), observedMs: window.observedMinutes * MINUTE_MS };
  }

  queueUsage(component: Component): number | undefined {
    const state = this.#stateOf(component);
    const usage = shownValue(state, QUEUE_USAGE);
    if (usage !== undefined) return usage;
    const size = shownValue(state, QUEUE_SIZE);
    const capacity = shownValue(state, QUEUE_CAPACITY) ?? 0;
    return size === undefined || capacity <= 0 ? undefined : (size / capacity) * 100;
  }

  /** Undefined while nothing is known of the days before. */
  usual(component: Component, metric: Counter, window: UsualWindow): Usual | undefined {
    return this.#volumes?.usual(component, metric, window, this.#hour + (this.#shown + 1) * MINUTE_MS);
  }

  observed(): undefined {
    return undefined;
  }

  /** Not recorded. */
  hosts(): readonly string[] {
    return [];
  }

  pipeline(id: string): PipelineState | undefined {
    return this.#pipelines.get(id);
  }

  pipelines(): readonly PipelineState[] {
    return [...this.#pipelines.values()];
  }

  #readState(state: ReplayedState, packed: PackedHour, at: number): number {
    const { table } = state;
    if (state.minute >= 0) {
      table.carry(state.minute);
      state.minute = CARRIED_MINUTE;
    }
    state.next = 0;
    const end = table.unpack(packed, at);
    if (end === at + 1) return end;
    for (let minute = 0; minute < MINUTES; minute++) {
      if (!table.isRecorded(minute)) continue;
      this.#recorded[minute] = 1;
      if (!table.hasAny(minute, ENDED_SILENT_MASK)) continue;
      const ended = this.#ended.get(minute);
      if (ended === undefined) this.#ended.set(minute, [state]);
      else ended.push(state);
    }
    return end;
  }

  #stateOf(component: Component): ReplayedState | undefined {
    const state = this.#byComponent.get(component);
    if (state !== undefined) this.#catchUp(state);
    return state;
  }

  /** Takes over the minutes that were shown since it was last looked at. */
  #catchUp(state: ReplayedState): void {
    if (state.next > this.#shown) return;
    takeOver(state, { from: Math.max(state.next, this.#first), end: this.#shown + 1 }, this.#hour);
    state.next = this.#shown + 1;
  }

  /** Adds the minutes that were shown; one that is ahead of them goes back first. */
  #catchUpWindow({ table }: ReplayedState, window: MinuteWindow): void {
    const end = this.#shown + 1;
    if (window.next === end || end === 0) return;
    if (window.next > end) goBack(window);
    window.next = Math.max(window.next, this.#first);
    addMinutes(window, table, end);
  }

  /** As `endOfValue`. The window itself moves on, so that each sum is the one it will have, and mostly stays there until then. */
  #endOfSum(
    state: ReplayedState,
    { metric, ms }: { readonly metric: Windowed; readonly ms: number },
    holds: OkBound['holds'],
    { from, end }: Stretch,
  ): number {
    const window = windowOf(state, metric, ms);
    if (window === undefined) return from;
    this.#catchUpWindow(state, window);
    keepPlace(window);
    return addMinutes(window, state.table, end, holds);
  }

  #lookingAhead(rule: ComponentRule): ComponentRule {
    return {
      ...rule,
      evaluate: evaluation => {
        const verdict = rule.evaluate(evaluation);
        const { component } = evaluation.subject;
        if (verdict.state !== 'ok' || evaluation.open !== undefined || component === undefined)
          return verdict;
        const bounds = rule.okWhile?.(evaluation);
        // What the condition itself promises goes by a clock that runs; here only minutes say what comes, and how much was observed.
        const okForMs = bounds === undefined ? 0 : this.#okForMs(component, bounds);
        return { state: verdict.state, describe: verdict.describe, okForMs };
      },
    };
  }

  /** For how long, in observed ms, the bounds hold for certain: until within the first minute in which one may not. */
  #okForMs(component: Component, bounds: readonly OkBound[]): number {
    const state = this.#stateOf(component);
    if (state === undefined || this.#isBetweenMinutes) return 0;
    const from = this.#shown + 1;
    let end = MINUTES;
    for (const { forMs } of bounds)
      if (forMs !== undefined) end = Math.max(from, Math.min(end, from + Math.ceil(forMs / MINUTE_MS) - 1));
    for (const bound of bounds) {
      if (typeof bound.value === 'string') end = endOfValue(state, bound.value, bound.holds, { from, end });
      else end = this.#endOfSum(state, bound.value, bound.holds, { from, end });
    }
    let okForMs = MINUTE_MS / 2;
    for (let minute = from; minute < end; minute++) okForMs += (this.#recorded[minute] ?? 0) * MINUTE_MS;
    return okForMs;
  }
}

interface Stretch {
  readonly from: number;
  readonly end: number;
}

/** The first minute of the stretch in which the bound may not hold; its end when it holds in all of them. */
function endOfValue(
  { table }: ReplayedState,
  value: 'silentMs' | 'unreadMs',
  holds: OkBound['holds'],
  { from, end }: Stretch,
): number {
  const place = value === 'silentMs' ? SILENT : UNREAD;
  for (let minute = from; minute < end; minute++) {
    if (!table.isRecorded(minute)) continue;
    const isEnded = place === SILENT && table.hasAny(minute, ENDED_SILENT_MASK);
    if (isEnded || !holds((table.value(minute, place) ?? 0) * 1000)) return minute;
  }
  return end;
}

/** Keeps what the next hour of minutes replaces in a window. */
function keepPlace(window: MinuteWindow): void {
  const { next, unseen, newest, observedMinutes, whole, amounts } = window;
  const { replaced } = window;
  for (let ago = 0; ago < replaced.length; ago++)
    replaced[ago] = amounts[(newest + 1 + ago) % amounts.length] ?? 0;
  window.before = { next, unseen, newest, observedMinutes, whole };
}

/** Undoes what was added ahead. */
function goBack(window: MinuteWindow): void {
  const { before, replaced, amounts } = window;
  if (before === undefined) throw new Error('a window is ahead of nothing');
  for (let ago = 0; ago < replaced.length; ago++)
    amounts[(before.newest + 1 + ago) % amounts.length] = replaced[ago] ?? 0;
  Object.assign(window, before);
  window.before = undefined;
}

const newState = (component: Component): ReplayedState => ({
  ...{ component, table: new MinuteTable(), windows: [], minute: -1, next: 0 },
  ...{ silentMs: 0, lastDataAt: 0, unseenMinutes: 0, known: new Set() },
});

const shownValue = (state: ReplayedState | undefined, place: number): number | undefined =>
  state === undefined || state.minute < 0 ? undefined : state.table.value(state.minute, place);

const HEALTH_BY_NUMBER = new Map(
  (['Green', 'Yellow', 'Red'] as const).map((health): [number | undefined, ComponentHealth] => [
    HEALTH_NUMBERS[health],
    health,
  ]),
);

const gaugesOf = (state: ReplayedState): Record<string, number> =>
  Object.fromEntries(
    METRICS.filter(metric => !isCounter(metric)).flatMap(metric => {
      const value = shownValue(state, placeOf(metric));
      return value === undefined ? [] : [[metric, value] as const];
    }),
  );

/** Takes over what the recorded minutes of a stretch say beside metrics. */
function takeOver(state: ReplayedState, { from, end }: Stretch, hour: number): void {
  const { table } = state;
  let { minute, silentMs, lastDataAt, unseenMinutes } = state;
  for (let at = from; at < end; at++) {
    if (!table.isRecorded(at)) continue;
    const before = silentMs;
    silentMs = (table.value(at, SILENT) ?? 0) * 1000;
    const hadData = silentMs < MINUTE_MS || silentMs <= before || table.hasAny(at, ENDED_SILENT_MASK);
    if (hadData) lastDataAt = hour + (at + 1) * MINUTE_MS - silentMs;
    unseenMinutes = table.hasAny(at, METRICS_MASK) ? 0 : unseenMinutes + 1;
    minute = at;
  }
  state.minute = minute;
  state.silentMs = silentMs;
  state.lastDataAt = lastDataAt;
  state.unseenMinutes = unseenMinutes;
}

const windowOf = (state: ReplayedState, metric: Windowed, ms: number): MinuteWindow | undefined =>
  state.windows.find(one => one.metric === metric && one.ms === ms);

/** The present minute is in it from the start. */
function beginWindow(state: ReplayedState, metric: Windowed, ms: number): MinuteWindow {
  const minutes = Math.floor(ms / MINUTE_MS) + 1;
  const window: MinuteWindow = {
    ...{ metric, ms, place: placeOf(metric), newest: 0, observedMinutes: 0, whole: 0 },
    unobservedPlace: isCounter(metric) ? placeOf(`unobserved_${metric}`) : undefined,
    amounts: new Float64Array(minutes),
    replaced: new Float64Array(Math.min(MINUTES, minutes)),
    share: (ms / MINUTE_MS) % 1,
    ...{ next: state.minute, unseen: 0, before: undefined },
  };
  state.windows.push(window);
  addMinutes(window, state.table, state.minute + 1);
  window.next = state.next;
  window.unseen = state.unseenMinutes;
  return window;
}

/**
 * Adds the recorded minutes before `end`; what a reading brings after minutes without one is spread over those. With
 * `holds` it stops behind the first minute whose sum breaks it, or before one that would be spread. Answers that minute.
 */
function addMinutes(window: MinuteWindow, table: MinuteTable, end: number, holds?: OkBound['holds']): number {
  const { place, unobservedPlace } = window;
  for (; window.next < end; window.next++) {
    const minute = window.next;
    if (!table.isRecorded(minute)) continue;
    const value = table.value(minute, place);
    // What was counted while the process did not run is in no window.
    const unobserved = unobservedPlace === undefined ? 0 : (table.value(minute, unobservedPlace) ?? 0);
    const isSpread = window.unseen > 0 && unobservedPlace !== undefined && value !== undefined;
    if (isSpread && holds !== undefined) return minute;
    addAmount(window, Math.max(0, (value ?? 0) - unobserved), isSpread ? window.unseen + 1 : 1);
    window.unseen = table.hasAny(minute, METRICS_MASK) ? 0 : window.unseen + 1;
    if (holds !== undefined && !holds(sumOf(window))) {
      window.next++;
      return minute;
    }
  }
  return end;
}

/** Adds the amount of a minute, spread over so many. */
function addAmount(window: MinuteWindow, amount: number, minutes: number): void {
  const { amounts } = window;
  const size = amounts.length;
  const newest = window.newest + 1 === size ? 0 : window.newest + 1;
  window.observedMinutes++;
  window.newest = newest;
  amounts[newest] = amount / minutes;
  if (minutes > 1) {
    for (let ago = 1; ago < Math.min(minutes, size); ago++) {
      const at = (newest - ago + size) % size;
      amounts[at] = (amounts[at] ?? 0) + amount / minutes;
    }
    window.whole = wholeSum(window);
    return;
  }
  // What was the oldest minute is overwritten, and the one after it is in part out of the window now.
  const oldest = amounts[newest + 1 === size ? 0 : newest + 1] ?? 0;
  // Added up anew now and then, as fractions add up to what was never there.
  window.whole = newest === 0 ? wholeSum(window) : window.whole + amount - oldest;
}

/** Of all minutes but the oldest. */
function wholeSum({ amounts, newest }: MinuteWindow): number {
  let sum = 0;
  for (const amount of amounts) sum += amount;
  return sum - (amounts[(newest + 1) % amounts.length] ?? 0);
}

/** Of the oldest minute as much counts as is still in the window. */
function sumOf({ amounts, newest, share, whole }: MinuteWindow): number {
  return share === 0 ? whole : whole + share * (amounts[(newest + 1) % amounts.length] ?? 0);
}
