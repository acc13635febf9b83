import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import { duration } from '../lib/schemas.ts';
import { createComponentMatcher } from '../notifications/subjects.ts';
import type { Component } from '../pipelines/components/component.ts';
import {
  decodeMinutes,
  HEALTH_NUMBERS,
  MINUTE_METRICS,
  type MinuteMetric,
  type MinuteValues,
} from '../pipelines/history/minute-codec.ts';
import { HOUR_MS, minutesId } from '../pipelines/history/recorder.ts';
import { type ComponentKind, isCounter, METRICS } from '../pipelines/metric.ts';
import { compilePattern, patternFault } from '../pipelines/metric-pattern.ts';
import type { WorkspaceStorage } from '../storage/storage.ts';
import { componentSourcesOf, knownComponents } from './components.ts';
import type { Call } from './context.ts';
import { type ListPage, listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

const KINDS = ['input', 'output'] as const satisfies readonly ComponentKind[];

/** A component that a pipeline has, in the group it counts to. */
export interface SeenComponent {
  readonly component: Component;
  readonly group: string;
  readonly isDisabled: boolean;
}

/** Those of the call's group that one of the names means, as in the `conf` of a notification; without names all. */
function seenComponents(
  { context, group }: Pick<Call, 'context' | 'group'>,
  {
    kind,
    names,
  }: { readonly kind?: ComponentKind | undefined; readonly names?: readonly string[] | undefined },
): readonly SeenComponent[] {
  const sources = componentSourcesOf(context);
  return KINDS.filter(one => kind === undefined || one === kind).flatMap(one => {
    const matches = names?.map(name => createComponentMatcher({ name }, one));
    return knownComponents(sources, one).flatMap(({ component, declared, group: own }) =>
      component !== undefined &&
      (group === undefined || own === group) &&
      (matches === undefined || matches.some(isMeant => isMeant(component)))
        ? [{ component, group: own, isDisabled: declared?.disabled ?? false }]
        : [],
    );
  });
}

const MINUTE_SECONDS = 60;
const MINUTE_MS = 60_000;

/** How a component is, or what it does. */
interface Measure {
  readonly name: MinuteMetric;
  /** For a counter, its increase in the last minute. */
  readonly value: number;
  /** For a counter, its increase a second over the last minute. */
  readonly rate?: number;
}

export interface MeasuredComponent extends SeenComponent {
  readonly measures: readonly Measure[];
  /** True when the caller asked for a metric, by the name that it has on the wire. */
  readonly isWanted: (name: string) => boolean;
}

const pattern = z.string().max(300);

/** The present values of the components of pipelines; disabled ones, and values that were never reported, are omitted. */
export const listMetrics = defineVerb({
  permission: 'read:inputs',
  input: z.object({
    ...pageQuery,
    kind: z.enum(['input', 'output']).optional(),
    component: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('Only those of that name: `type:id`, an id, or a pattern with `*`.'),
    metricNameFilter: z
      .union([pattern, z.array(pattern).max(20)])
      .optional()
      .describe('Regular expressions for the names of metrics, of which one must match.'),
  }),
  run(call, { kind, component: name, metricNameFilter, ...page }) {
    const isWanted = nameFilter(metricNameFilter);
    const seen = seenComponents(call, { kind, names: name === undefined ? undefined : [name] });
    const enabled = seen.filter(({ isDisabled }) => !isDisabled);
    const { items, ...rest } = listPageOf(page, enabled);
    return {
      ...rest,
      items: items.map((one): MeasuredComponent => ({ ...one, measures: measuresOf(call, one), isWanted })),
    };
  },
});

function measuresOf({ context }: Call, { component }: SeenComponent): readonly Measure[] {
  const { health, metrics } = context.components.status(component);
  const { values = {} } = context.minutes.last(component) ?? {};
  const number = HEALTH_NUMBERS[health];
  const measures: Measure[] = number === undefined ? [] : [{ name: 'health', value: number }];
  for (const name of METRICS) {
    const value = isCounter(name) ? values[name] : metrics[name];
    if (value === undefined) continue;
    measures.push({ name, value, ...(isCounter(name) && { rate: value / MINUTE_SECONDS }) });
  }
  return measures;
}

function nameFilter(given: string | readonly string[] | undefined): (name: string) => boolean {
  if (given === undefined) return () => true;
  const patterns = (typeof given === 'string' ? [given] : given).map(text => {
    const fault = patternFault(text);
    if (fault !== undefined) throw invalidField('metricNameFilter', fault);
    return compilePattern(text);
  });
  return name => patterns.some(one => one.test(name));
}

const IDS_AT_ONCE = 500;

/** Epoch ms; `start` is the beginning of a minute, and steps are whole minutes. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
  readonly stepMs: number;
}

type Points = readonly (readonly [number, number | null])[];

/** By component and metric, in the order requested. */
async function readSeries(
  store: WorkspaceStorage['minutes'],
  components: readonly Component[],
  metrics: readonly MinuteMetric[],
  span: TimeSpan,
): Promise<readonly (readonly Points[])[]> {
  const hours = hoursOf(span);
  const all = components.map(() => metrics.map(() => emptyPoints(span)));
  const places = components.flatMap((component, at) =>
    hours.map(hour => ({ id: minutesId(hour, component), at, hour })),
  );
  for (let begun = 0; begun < places.length; begun += IDS_AT_ONCE) {
    const some = places.slice(begun, begun + IDS_AT_ONCE);
    const rows = new Map((await store.byIds(some.map(({ id }) => id))).map(row => [row.id, row.data]));
    for (const { id, at, hour } of some) {
      const data = rows.get(id);
      const points = all[at];
      if (data === undefined || points === undefined) continue;
      for (const [minute, values] of decodeMinutes(data))
        addMinute(points, metrics, { values, at: hour + minute * MINUTE_MS, span });
    }
  }
  return all;
}

function hoursOf({ start, end }: TimeSpan): readonly number[] {
  const first = Math.floor(start / HOUR_MS) * HOUR_MS;
  return Array.from({ length: Math.ceil((end - first) / HOUR_MS) }, (_, index) => first + index * HOUR_MS);
}

const emptyPoints = ({ start, end, stepMs }: TimeSpan): [number, number | null][] =>
  Array.from({ length: Math.ceil((end - start) / stepMs) }, (_, index) => [start + index * stepMs, null]);

function addMinute(
  points: readonly [number, number | null][][],
  metrics: readonly MinuteMetric[],
  { values, at, span }: { readonly values: MinuteValues; readonly at: number; readonly span: TimeSpan },
): void {
  if (at < span.start || at >= span.end) return;
  const step = Math.floor((at - span.start) / span.stepMs);
  metrics.forEach((metric, index) => {
    const value = values[metric];
    const point = points[index]?.[step];
    if (value === undefined || point === undefined) return;
    point[1] = point[1] === null ? value : combine(metric, point[1], value);
  });
}

/** A step adds up what counters brought, and of how things are has the worst; of a capacity the latest. */
function combine(metric: MinuteMetric, before: number, value: number): number {
  if (metric === 'queue_capacity') return value;
  if (metric === 'up') return Math.min(before, value);
  return metric !== 'health' && isCounter(metric) ? before + value : Math.max(before, value);
}

const MOST_COMPONENTS = 200;
/** Values of one answer. */
const MOST_VALUES = 50_000;
/** Rows of one component and hour that one answer may be made of. */
const MOST_ROWS = 10_000;

/** A metric of a component, step by step. */
export interface RecordedSeries extends SeenComponent {
  readonly metric: MinuteMetric;
  /** Epoch ms of the beginning of each step, and its value; null where nothing is known of it. */
  readonly points: readonly (readonly [number, number | null])[];
}

const time = z.iso.datetime({ offset: true });

const body = z.strictObject({
  components: z
    .array(z.string().min(1).max(512))
    .min(1)
    .max(50)
    .describe('Which: `type:id`, an id, or a pattern with `*`.'),
  kind: z.enum(['input', 'output']).optional().describe('Left out, inputs and outputs.'),
  metrics: z
    .array(z.enum(MINUTE_METRICS))
    .min(1)
    .max(MINUTE_METRICS.length)
    .describe('Which of their metrics.'),
  from: time.describe('Counts from the beginning of its minute.'),
  to: time.optional().describe('Left out, until now.'),
  step: duration({ min: '1m', max: '8d' }).prefault('1m').describe('Whole minutes, which become one value.'),
});

/**
 * What was recorded minute by minute, as series. Throws `invalid-request` when an answer would be too large, saying by
 * how much.
 */
export const queryMetrics = defineVerb({
  permission: 'read:inputs',
  input: z.object({ body }),
  async run(call, { body: requested }): Promise<ListPage<RecordedSeries>> {
    const { stores, clock } = call.context;
    const span = spanOf(requested, clock.now());
    const seen = seenComponents(call, { kind: requested.kind, names: requested.components });
    const metrics = MINUTE_METRICS.filter(name => requested.metrics.includes(name));
    assertModest(seen.length, metrics.length, span);
    const all = await readSeries(
      stores.minutes,
      seen.map(({ component }) => component),
      metrics,
      span,
    );
    const items = seen.flatMap((one, at) =>
      metrics.map((metric, index): RecordedSeries => ({ ...one, metric, points: all[at]?.[index] ?? [] })),
    );
    return { items, offset: 0, limit: undefined, total: items.length };
  },
});

function spanOf({ from, to, step }: z.output<typeof body>, now: number): TimeSpan {
  const start = Math.floor(Date.parse(from) / MINUTE_MS) * MINUTE_MS;
  const end = to === undefined ? now : Date.parse(to);
  if (step.ms % MINUTE_MS !== 0) throw invalidField('step', 'must be whole minutes');
  if (end <= start) throw invalidField('to', 'must be later than from');
  return { start, end, stepMs: step.ms };
}

function assertModest(components: number, metrics: number, { start, end, stepMs }: TimeSpan): void {
  if (components > MOST_COMPONENTS)
    throw invalidField('components', `mean ${components}; name ${MOST_COMPONENTS} at most`);
  const values = components * metrics * Math.ceil((end - start) / stepMs);
  if (values > MOST_VALUES)
    throw invalidField(
      'step',
      `makes ${values} values of it; ask for ${MOST_VALUES} at most, with a longer step`,
    );
  const rows = components * Math.ceil((end - start) / HOUR_MS + 1);
  if (rows > MOST_ROWS)
    throw invalidField('from', `is too early for ${components} components; name fewer, or a shorter time`);
}
