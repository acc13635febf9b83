import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import { limitsOf } from '../conditions/baseline.ts';
import { type HourValues, isRead } from '../pipelines/history/hour-codec.ts';
import type { MinuteValues } from '../pipelines/history/minute-codec.ts';
import { readHours, readMinutes } from '../pipelines/history/reader.ts';
import { HOUR_MS, MINUTE_MS } from '../pipelines/history/row-ids.ts';
import { usualAt } from '../pipelines/history/usual-volumes.ts';
import type { ComponentKind } from '../pipelines/metric.ts';
import type { Call } from './context.ts';
import { type SeenComponent, seenComponents } from './metrics.ts';
import { type ListPage, listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

const DAY_MS = 24 * HOUR_MS;
/** As many days of minutes are looked at, and before them those that a baseline compares with. */
const MINUTES_MS = 8 * DAY_MS;
const HOURS_MS = MINUTES_MS + 30 * DAY_MS;
/** Components of one answer: what each did takes 200 rows to read. */
const MOST_COMPONENTS = 20;

export interface SuggestedComponent extends SeenComponent {
  /** Minutes of the last 8 days in which a reading showed it. */
  readonly recordedMinutes: number;
  readonly suggestions: readonly Suggestion[];
}

/** Thresholds that suit what was recorded of components. */
export const suggest = defineVerb({
  permission: 'read:inputs',
  input: z.object({
    offset: pageQuery.offset,
    limit: z.coerce
      .number({ error: `must be a whole number from 1 to ${MOST_COMPONENTS}` })
      .int()
      .min(1)
      .max(MOST_COMPONENTS)
      .optional(),
    kind: z.enum(['input', 'output']).optional(),
    component: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('Only those of that name: `type:id`, an id, or a pattern with `*`.'),
  }),
  async run(call, { kind, component: name, ...page }): Promise<ListPage<SuggestedComponent>> {
    const seen = seenComponents(call, { kind, names: name === undefined ? undefined : [name] });
    if (page.limit === undefined && seen.length > MOST_COMPONENTS)
      throw invalidField(
        'limit',
        `is needed, as an answer has ${MOST_COMPONENTS} inputs and outputs at most, and these are ${seen.length}`,
      );
    const { items: some, ...rest } = listPageOf(page, seen);
    const items: SuggestedComponent[] = [];
    // One after the other: their reads let others have their turn.
    for (const one of some) items.push(await suggestFor(call, one));
    return { ...rest, items };
  },
});

async function suggestFor({ context }: Call, seen: SeenComponent): Promise<SuggestedComponent> {
  const recorded = await recordedOf(context, seen);
  return {
    ...seen,
    recordedMinutes: recorded.minutes.filter(minute => minute !== undefined).length,
    suggestions: suggestionsFor(recorded),
  };
}

async function recordedOf(
  { stores, clock }: Pick<Call['context'], 'stores' | 'clock'>,
  { component }: SeenComponent,
): Promise<RecordedTime> {
  const end = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
  const start = end - MINUTES_MS;
  const minutes: (MinuteValues | undefined)[] = new Array(MINUTES_MS / MINUTE_MS).fill(undefined);
  for await (const some of readMinutes(stores.minutes, [component], { start, end }))
    for (const { startedAt, values } of some)
      if (isRead(values)) minutes[(startedAt - start) / MINUTE_MS] = values;
  const hours = new Map<number, HourValues>();
  for await (const some of readHours(stores.hours, [component], { start: end - HOURS_MS, end }))
    for (const { startedAt, values } of some) hours.set(startedAt, values);
  return { kind: component.kind, start, minutes, hours };
}

/** A threshold, and how often it would have been an alarm in the recorded time. */
interface Threshold {
  readonly conf: Readonly<Record<string, string | number>>;
  readonly fired: number;
}

/** A condition with the threshold that suits what was recorded, and others beside it. */
export interface Suggestion extends Threshold {
  readonly condition: string;
  /** The numbers that it follows from, for people. */
  readonly reason: string;
  readonly others: readonly Threshold[];
}

/** What was recorded of a component, minute by minute from a first one on; undefined where nothing was. */
export interface RecordedTime {
  readonly kind: ComponentKind;
  /** Epoch ms of the first minute. */
  readonly start: number;
  readonly minutes: readonly (MinuteValues | undefined)[];
  /** By the beginning of each, further back. */
  readonly hours: ReadonlyMap<number, HourValues>;
}

/** With less than a day nothing is suggested: nobody knows what the rest of it looks like. */
export const FEWEST_MINUTES = 1440;

/** Lengths of windows as people write them, in minutes. */
const LENGTHS: readonly (readonly [string, number])[] = [
  ...([
    ['2m', 2],
    ['5m', 5],
    ['10m', 10],
    ['15m', 15],
    ['30m', 30],
    ['1h', 60],
    ['2h', 120],
  ] as const),
  ...([
    ['4h', 240],
    ['8h', 480],
    ['12h', 720],
    ['1d', 1440],
    ['2d', 2880],
    ['4d', 5760],
  ] as const),
];

/** What suits each condition; nothing for one on which the recorded time says nothing. */
export function suggestionsFor(recorded: RecordedTime): readonly Suggestion[] {
  const known = recorded.minutes.filter(minute => minute !== undefined);
  if (known.length < FEWEST_MINUTES) return [];
  return [
    noData(recorded, known),
    ...volumes(recorded, known),
    counts(recorded, known, 'errors'),
    counts(recorded, known, 'dropped'),
    queue(recorded, known),
    unhealthy(recorded, known),
    baseline(recorded),
  ].filter(suggestion => suggestion !== undefined);
}

const side = (kind: ComponentKind, input: string): string => (kind === 'input' ? input : `${input}-dest`);

const eventsOf = (kind: ComponentKind) => (kind === 'input' ? 'in_events' : 'out_events');
const bytesOf = (kind: ComponentKind) => (kind === 'input' ? 'in_bytes' : 'out_bytes');

function noData({ kind }: RecordedTime, known: readonly MinuteValues[]): Suggestion | undefined {
  const silences = runs(known, minute => (minute[eventsOf(kind)] ?? 0) + (minute[bytesOf(kind)] ?? 0) === 0);
  const longest = Math.max(0, ...silences);
  const firedAt = (minutes: number): number => silences.filter(silence => silence >= minutes).length;
  const found = LENGTHS.findIndex(([, minutes]) => minutes >= longest * 1.5);
  const threshold = (at: number): Threshold[] => {
    const [text, minutes] = LENGTHS[at] ?? [];
    return text === undefined || minutes === undefined
      ? []
      : [{ conf: { timeWindow: text }, fired: firedAt(minutes) }];
  };
  const [suited] = found < 0 ? [] : threshold(found);
  return (
    suited && {
      ...suited,
      condition: side(kind, 'no-data'),
      reason: `the longest silence was ${minutesText(longest)}, of ${silences.length}`,
      others: [...threshold(found - 2), ...threshold(found - 1)],
    }
  );
}

const minutesText = (minutes: number): string => (minutes === 1 ? '1 minute' : `${minutes} minutes`);

/** In bytes where these were reported, else in events. */
function volumes({ kind }: RecordedTime, known: readonly MinuteValues[]): readonly Suggestion[] {
  const hasBytes = known.some(minute => minute[bytesOf(kind)] !== undefined);
  const metric = hasBytes ? bytesOf(kind) : eventsOf(kind);
  const values = known.map(minute => minute[metric] ?? 0);
  const volume = (amount: number): string => (hasBytes ? String(amount) : `${amount} events`);
  const suggestions: Suggestion[] = [];
  for (const [text, minutes] of LENGTHS.filter(([, one]) => one >= 15 && one <= 1440)) {
    const sums = windowSums(values, minutes);
    const least = leastOf(sums);
    if (!(least > 0) || !Number.isFinite(least)) continue;
    const at = (share: number): Threshold => {
      const limit = rounded(least * share, Math.floor);
      return {
        conf: { timeWindow: text, dataVolume: volume(limit) },
        fired: episodes(sums, sum => sum < limit),
      };
    };
    if (rounded(least / 2, Math.floor) > 0)
      suggestions.push({
        ...at(0.5),
        condition: side(kind, 'low-volume'),
        reason: `the least in ${text} was ${volume(Math.round(least))}`,
        others: [at(0.8), at(1.25)],
      });
    break;
  }
  const sums = windowSums(values, 60);
  const most = mostOf(sums);
  if (most > 0) {
    const at = (share: number): Threshold => {
      const limit = rounded(most * share, Math.ceil);
      return {
        conf: { timeWindow: '1h', dataVolume: volume(limit) },
        fired: episodes(sums, sum => sum > limit),
      };
    };
    suggestions.push({
      ...at(1.5),
      condition: side(kind, 'high-volume'),
      reason: `the most in 1h was ${volume(Math.round(most))}`,
      others: [at(1.1), at(0.8)],
    });
  }
  return suggestions;
}

const COUNTED = { errors: 'source-errors', dropped: 'dropped-events' } as const;

function counts(
  { kind }: RecordedTime,
  known: readonly MinuteValues[],
  metric: 'errors' | 'dropped',
): Suggestion | undefined {
  if (!known.some(minute => minute[metric] !== undefined) || (metric === 'errors' && kind === 'output'))
    return undefined;
  const sums = windowSums(
    known.map(minute => minute[metric] ?? 0),
    5,
  );
  const most = mostOf(sums);
  const at = (threshold: number): Threshold => ({
    conf: { timeWindow: '5m', threshold },
    fired: episodes(sums, sum => sum > threshold),
  });
  return {
    ...at(rounded(most * 1.5, Math.ceil)),
    condition: COUNTED[metric],
    reason: `the most in 5m was ${Math.round(most)}`,
    others: most > 0 ? [at(rounded(most / 2, Math.floor)), at(0)] : [],
  };
}

function queue({ kind }: RecordedTime, known: readonly MinuteValues[]): Suggestion | undefined {
  const usages = known.map(usageOf).filter(usage => usage !== undefined);
  if (usages.length === 0) return undefined;
  const most = mostOf(usages);
  const at = (usageThreshold: number): Threshold => ({
    conf: { usageThreshold },
    fired: episodes(usages, usage => usage > usageThreshold),
  });
  return {
    ...at(Math.min(95, Math.max(50, Math.ceil((most * 1.25) / 5) * 5))),
    condition: kind === 'input' ? 'persistent-queue-usage-source' : 'persistent-queue-usage',
    reason: `the queue was ${Math.round(most)} per cent full at most`,
    others: [at(90), at(50)],
  };
}

function usageOf({ queue_usage, queue_size, queue_capacity }: MinuteValues): number | undefined {
  if (queue_usage !== undefined) return queue_usage;
  return queue_capacity !== undefined && queue_capacity > 0
    ? ((queue_size ?? 0) / queue_capacity) * 100
    : undefined;
}

/** A twentieth of the window, as the condition counts. */
const UNHEALTHY_SHARE = 0.05;

function unhealthy({ kind }: RecordedTime, known: readonly MinuteValues[]): Suggestion | undefined {
  const red = known.map(minute => minute.red_ms ?? 0);
  const at = (text: string, minutes: number): Threshold => ({
    conf: { timeWindow: text },
    fired: episodes(windowSums(red, minutes), sum => sum > 0 && sum >= UNHEALTHY_SHARE * minutes * MINUTE_MS),
  });
  return {
    ...at('5m', 5),
    condition: kind === 'input' ? 'unhealthy-source' : 'unhealthy-dest',
    reason: `it was Red for ${minutesText(Math.round(red.reduce((sum, ms) => sum + ms, 0) / MINUTE_MS))}`,
    others: [at('15m', 15), at('1h', 60)],
  };
}

const FEWEST_DAYS = 3;

/** Each hour of the recorded time is compared with those of the days before it. */
function baseline({ kind, start, minutes, hours }: RecordedTime): Suggestion | undefined {
  const metric = eventsOf(kind);
  const window = { windowMs: HOUR_MS, timezone: 'UTC' };
  const compared: { readonly sum: number; readonly median: number; readonly deviation: number }[] = [];
  const first = Math.ceil(start / HOUR_MS) * HOUR_MS;
  for (let hour = first; hour < start + minutes.length * MINUTE_MS; hour += HOUR_MS) {
    const sum = hours.get(hour)?.[metric];
    const usual = usualAt(hour + HOUR_MS, window, at => hours.get(at)?.[metric]);
    if (sum !== undefined && usual.days >= FEWEST_DAYS) compared.push({ sum, ...usual });
  }
  if (compared.length === 0) return undefined;
  const at = (sensitivity: number): Threshold => ({
    conf: { metric: 'events', timeWindow: '1h', sensitivity },
    fired: episodes(compared, one => one.sum < limitsOf(one, sensitivity, 'events').lowest),
  });
  return {
    ...at(3),
    condition: 'baseline',
    reason: `${compared.length} hours could be compared with those of earlier days`,
    others: [at(2), at(5)],
  };
}

/** Lengths of the stretches in which it holds. */
function runs<Value>(values: readonly Value[], holds: (value: Value) => boolean): readonly number[] {
  const lengths: number[] = [];
  let length = 0;
  for (const value of values)
    if (holds(value)) length += 1;
    else {
      if (length > 0) lengths.push(length);
      length = 0;
    }
  return length > 0 ? [...lengths, length] : lengths;
}

const episodes = <Value>(values: readonly Value[], holds: (value: Value) => boolean): number =>
  runs(values, holds).length;

/** The sums of each so many values in a row. */
function windowSums(values: readonly number[], length: number): readonly number[] {
  const sums: number[] = [];
  let sum = 0;
  values.forEach((value, at) => {
    sum += value - (at >= length ? (values[at - length] ?? 0) : 0);
    if (at >= length - 1) sums.push(sum);
  });
  return sums;
}

const leastOf = (values: readonly number[]): number =>
  values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
const mostOf = (values: readonly number[]): number => values.reduce((one, other) => Math.max(one, other), 0);

/** To two digits, as people set thresholds. */
function rounded(value: number, round: (value: number) => number): number {
  if (value <= 0) return 0;
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  // 1.1 times 6,000 is a little more than 6,600 in binary.
  return round(Number((value / unit).toPrecision(9))) * unit;
}
