import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import { createComponentMatcher } from '../notifications/subjects.ts';
import type { Component } from '../pipelines/components/component.ts';
import { combine, type HourMetric, type HourValues } from '../pipelines/history/hour-codec.ts';
import { HEALTH_NUMBERS, type MinuteMetric } from '../pipelines/history/minute-codec.ts';
import {
  type HistorySpan,
  type Recorded,
  readHoursUntilNow,
  readMinutes,
} from '../pipelines/history/reader.ts';
import { HOUR_MS, hourOf, MINUTE_MS, rowStarts } from '../pipelines/history/row-ids.ts';
import { type ComponentKind, isCounter, METRICS } from '../pipelines/metric.ts';
import { compilePattern, patternFault } from '../pipelines/metric-pattern.ts';
import { componentSourcesOf, knownComponents } from './components.ts';
import type { Call } from './context.ts';
import {
  type Aggregates,
  AggregateTable,
  type clientBody,
  clientSpan,
  eitherBody,
  HOURLY,
  MOST_VALUES,
  RECORDED_METRICS,
  type seriesBody,
  whereFilter,
  wholeHours,
} from './metric-queries.ts';
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
export function seenComponents(
  { context, group }: Pick<Call, 'context' | 'group'>,
  {
    kind,
    names,
  }: { readonly kind?: ComponentKind | undefined; readonly names?: readonly string[] | undefined },
): readonly SeenComponent[] {
  const sources = componentSourcesOf(context);
  return KINDS.filter(one => kind === undefined || one === kind).flatMap(one => {
    const matches = names?.map(name => createComponentMatcher({ name }, one));
    return knownComponents(sources, one)
      .slice()
      .flatMap(({ component, declared, group: own }) =>
        component !== undefined &&
        (group === undefined || own === group) &&
        (matches === undefined || matches.some(isMeant => isMeant(component)))
          ? [{ component, group: own, isDisabled: declared?.disabled ?? false }]
          : [],
      );
  });
}

const MINUTE_SECONDS = 60;

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

/** Epoch ms; `start` is the beginning of a minute, and steps are whole minutes. */
interface TimeSpan extends HistorySpan {
  readonly stepMs: number;
}

type Points = readonly (readonly [number, number | null])[];

/** By component and metric, in the order requested. */
async function readSeries(
  recorded: AsyncIterable<readonly Recorded<HourValues>[]>,
  components: readonly Component[],
  metrics: readonly HourMetric[],
  span: TimeSpan,
): Promise<readonly (readonly Points[])[]> {
  const all = components.map(() => metrics.map(() => emptyPoints(span)));
  for await (const some of recorded)
    for (const one of some) {
      const points = all[one.component];
      if (points !== undefined) addTo(points, metrics, one, span);
    }
  return all;
}

const emptyPoints = ({ start, end, stepMs }: TimeSpan): [number, number | null][] =>
  Array.from({ length: Math.ceil((end - start) / stepMs) }, (_, index) => [start + index * stepMs, null]);

function addTo(
  points: readonly [number, number | null][][],
  metrics: readonly HourMetric[],
  { values, startedAt }: Recorded<HourValues>,
  { start, stepMs }: TimeSpan,
): void {
  const step = Math.floor((startedAt - start) / stepMs);
  metrics.forEach((metric, index) => {
    const value = values[metric];
    const point = points[index]?.[step];
    if (value === undefined || point === undefined) return;
    point[1] = point[1] === null ? value : combine(metric, point[1], value);
  });
}

const MOST_COMPONENTS = 200;
/** Rows that one answer may be made of. */
const MOST_ROWS = 10_000;

/** A metric of a component, step by step. */
export interface RecordedSeries extends SeenComponent {
  readonly metric: HourMetric;
  /** Epoch ms of the beginning of each step, and its value; null where nothing is known of it. */
  readonly points: readonly (readonly [number, number | null])[];
}

/** Series, or what a Cribl-compatible client asked for. */
export type MetricsAnswer = ListPage<RecordedSeries> & { readonly aggregates?: Aggregates };

/**
 * What was recorded, as series or as the rows of Cribl-compatible clients: minute by minute, or hour by hour where minutes
 * do not reach. Throws `invalid-request` when an answer would be too large, saying by how much.
 */
export const queryMetrics = defineVerb({
  permission: 'read:inputs',
  input: z.object({ body: eitherBody }),
  async run(call, { body }): Promise<MetricsAnswer> {
    if ('aggs' in body) {
      const aggregates = await aggregatesOf(call, body);
      return { items: [], offset: 0, limit: undefined, total: 0, aggregates };
    }
    const items = await seriesOf(call, body);
    return { items, offset: 0, limit: undefined, total: items.length };
  },
});

async function seriesOf(
  call: Call,
  requested: z.output<typeof seriesBody>,
): Promise<readonly RecordedSeries[]> {
  const { stores, clock, configuration } = call.context;
  const now = clock.now();
  const seen = seenComponents(call, { kind: requested.kind, names: requested.components });
  const metrics = RECORDED_METRICS.filter(name => requested.metrics.includes(name));
  const minutesSpan = spanOf(requested, now);
  const why = whyHours(minutesSpan, {
    ...{ metrics, now, components: seen.length },
    minutesMs: configuration().settings.retention.minutes.ms,
  });
  const span = why === undefined ? minutesSpan : inHours(minutesSpan, why);
  assertModest(seen.length, metrics.length, span);
  const components = seen.map(({ component }) => component);
  const recorded =
    why === undefined
      ? readMinutes(stores.minutes, components, span)
      : readHoursUntilNow(stores, components, { span, now });
  const all = await readSeries(recorded, components, metrics, span);
  return seen.flatMap((one, at) =>
    metrics.map((metric, index): RecordedSeries => ({ ...one, metric, points: all[at]?.[index] ?? [] })),
  );
}

async function aggregatesOf(call: Call, requested: z.output<typeof clientBody>): Promise<Aggregates> {
  const { stores, clock, configuration } = call.context;
  const { aggs, where } = requested;
  const now = clock.now();
  const asked = clientSpan(requested, now);
  const isMeant = whereFilter(where, aggs.splitBys.length === 0);
  const seen = seenComponents(call, {}).filter(isMeant);
  const why = whyHours(asked, {
    ...{ metrics: [], now, components: seen.length },
    minutesMs: configuration().settings.retention.minutes.ms,
  });
  const span = why === undefined ? asked : wholeHours(asked, aggs.cumulative);
  const components = seen.map(({ component }) => component);
  const rows =
    components.length * (why === undefined ? hoursOf(span) : rowStarts(span.start, span.end).length);
  if (rows > MOST_ROWS)
    throw invalidField('where', `means ${components.length} components; name fewer, or a shorter time`);
  const table = new AggregateTable(aggs, span);
  const recorded =
    why === undefined
      ? readMinutes(stores.minutes, components, span)
      : readHoursUntilNow(stores, components, { span, now });
  for await (const some of recorded)
    for (const one of some) {
      const of = seen[one.component];
      if (of !== undefined) table.add(of, one);
    }
  return { results: table.rows(), info: { timeWindowSeconds: span.stepMs / 1000 } };
}

const hoursOf = ({ start, end }: TimeSpan): number => Math.ceil((end - start) / HOUR_MS + 1);

function spanOf({ from, to, step }: z.output<typeof seriesBody>, now: number): TimeSpan {
  const start = Math.floor(Date.parse(from) / MINUTE_MS) * MINUTE_MS;
  const end = to === undefined ? now : Date.parse(to);
  if (step.ms % MINUTE_MS !== 0) throw invalidField('step', 'must be whole minutes');
  if (end <= start) throw invalidField('to', 'must be later than from');
  return { start, end, stepMs: step.ms };
}

/** Why the answer is made of hours; undefined when minutes will do. */
function whyHours(
  { start, end }: TimeSpan,
  {
    metrics,
    now,
    components,
    minutesMs,
  }: {
    readonly metrics: readonly HourMetric[];
    readonly now: number;
    readonly components: number;
    readonly minutesMs: number;
  },
): string | undefined {
  const hourly = HOURLY.find(name => metrics.includes(name));
  if (hourly !== undefined) return `'${hourly}' is known of hours only`;
  if (start < now - minutesMs) return 'minutes of that time are no longer kept';
  const rows = components * Math.ceil((end - start) / HOUR_MS + 1);
  return rows > MOST_ROWS
    ? `it is too long to be made of the minutes of ${components} components`
    : undefined;
}

function inHours({ start, end, stepMs }: TimeSpan, why: string): TimeSpan {
  if (stepMs % HOUR_MS !== 0) throw invalidField('step', `must be whole hours, as ${why}`);
  return { start: hourOf(start), end, stepMs };
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
  const rows = components * rowStarts(start, end).length;
  if (rows > MOST_ROWS)
    throw invalidField('from', `is too early for ${components} components; name fewer, or a shorter time`);
}
