import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import { isMap } from '../config/plain.ts';
import { DEFAULT_LIMITS, ExpressionFailure } from '../expressions/evaluation.ts';
import type { Expression } from '../expressions/expression.ts';
import { expressionText } from '../expressions/schema.ts';
import { duration } from '../lib/schemas.ts';
import { type Component, componentName } from '../pipelines/components/component.ts';
import { combine, type HourMetric, type HourValues } from '../pipelines/history/hour-codec.ts';
import { MINUTE_METRICS, type MinuteMetric } from '../pipelines/history/minute-codec.ts';
import type { HistorySpan, Recorded } from '../pipelines/history/reader.ts';
import { HOUR_MS, hourOf, MINUTE_MS } from '../pipelines/history/row-ids.ts';
import { COMPONENT_KINDS, type ComponentKind, isCounter } from '../pipelines/metric.ts';

/** Values of one answer. */
export const MOST_VALUES = 50_000;
const MINUTE_SECONDS = 60;

/** A component in the group it counts to. */
interface InGroup {
  readonly component: Component;
  readonly group: string;
}

interface QuerySpan extends HistorySpan {
  readonly stepMs: number;
}

/** The names of metrics on the wire: Cribl's, and ours in the same style. */
const wireNamesOf = (kind: ComponentKind): Readonly<Record<MinuteMetric, string>> => ({
  health: `health.${kind}s`,
  in_events: 'total.in_events',
  in_bytes: 'total.in_bytes',
  out_events: 'total.out_events',
  out_bytes: 'total.out_bytes',
  errors: 'total.errors',
  dropped: 'total.dropped_events',
  blocked: `blocked.${kind}s`,
  queue_size: 'pq.queue_size',
  queue_capacity: 'pq.queue_capacity',
  up: `up.${kind}s`,
});
export const WIRE_NAMES = { input: wireNamesOf('input'), output: wireNamesOf('output') } as const;

/** What is recorded of hours only. */
export const HOURLY = ['open_seconds', 'last_data', 'minutes'] as const satisfies readonly HourMetric[];
export const RECORDED_METRICS = [...MINUTE_METRICS, ...HOURLY] as const satisfies readonly HourMetric[];

const time = z.iso.datetime({ offset: true });

export const seriesBody = z.strictObject({
  components: z
    .array(z.string().min(1).max(512))
    .min(1)
    .max(50)
    .describe('Which: `type:id`, an id, or a pattern with `*`.'),
  kind: z.enum(['input', 'output']).optional().describe('Left out, inputs and outputs.'),
  metrics: z
    .array(z.enum(RECORDED_METRICS))
    .min(1)
    .max(RECORDED_METRICS.length)
    .describe(
      'Which of their metrics. `open_seconds`, for how many seconds an incident was open, `last_data`, epoch ms of the last minute with data, and `minutes`, in how many a reading showed the component, are known of hours only.',
    ),
  from: time.describe(
    'Counts from the beginning of its minute, or of its hour where the answer is made of hours.',
  ),
  to: time.optional().describe('Left out, until now. An hour that begins before it counts whole.'),
  step: duration({ min: '1m', max: '400d' })
    .prefault('1m')
    .describe('Whole minutes, which become one value; whole hours where the answer is made of hours.'),
});

const LONG_AGO = 'a time: epoch seconds or milliseconds, `now`, or how long ago, such as `-15m`';
const UNITS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE_MS, h: HOUR_MS, d: 24 * HOUR_MS };
/** Above it a number is taken for milliseconds, as both are sent. */
const MOST_SECONDS = 1e11;
/** About the year 9999. */
const LAST_TIME = 253e12;

/** When it is, in epoch milliseconds, asked at a time. */
type ClientTime = (now: number) => number;

const clientTime = z
  .union([z.number(), z.string().max(32)], { error: `must be ${LONG_AGO}` })
  .transform((value, context): ClientTime => {
    const [, number, unit] = /^-?(\d{1,9}) ?([smhd])$/.exec(String(value)) ?? [];
    if (unit !== undefined) return now => now - Number(number) * (UNITS[unit] ?? 0);
    if (value === 'now') return now => now;
    const epoch = value === '' ? Number.NaN : Number(value);
    const ms = epoch > MOST_SECONDS ? epoch : epoch * 1000;
    if (ms >= 0 && ms < LAST_TIME) return () => ms;
    context.addIssue({ code: 'custom', message: `must be ${LONG_AGO}`, input: value });
    return z.NEVER;
  });

const FUNCTIONS = ['sum', 'rate', 'count', 'max'] as const;
const FORM = `must be such as sum("total.in_bytes").as("bytes"); of ${FUNCTIONS.join(', ')}`;

/** What of the recorded values becomes one value of a row. */
interface Aggregation {
  readonly make: (typeof FUNCTIONS)[number];
  readonly name: string;
  /** By the kind of a component, those that have it. */
  readonly metrics: Readonly<Partial<Record<ComponentKind, MinuteMetric>>>;
  readonly as: string;
}

/** What comes in is counted where it does, at inputs, and what goes out at outputs: else it would count twice. */
const isCountedAt = (kind: ComponentKind, name: string): boolean =>
  !name.startsWith(kind === 'input' ? 'total.out_' : 'total.in_');

const metricsNamed = (name: string): Aggregation['metrics'] =>
  Object.fromEntries(
    COMPONENT_KINDS.filter(kind => isCountedAt(kind, name)).flatMap(kind =>
      MINUTE_METRICS.filter(metric => WIRE_NAMES[kind][metric] === name).map(metric => [kind, metric]),
    ),
  );

const AGGREGATION = /^\s*(\w+)\(\s*(["']?)([\w.]+)\2\s*\)(?:\s*\.as\(\s*(["']?)([\w.-]+)\4\s*\))?\s*$/;

const aggregation = z
  .string()
  .max(300)
  .transform((text, context): Aggregation => {
    const [, asked, , name = '', , as] = AGGREGATION.exec(text) ?? [];
    const make = FUNCTIONS.find(one => one === asked);
    const metrics = metricsNamed(name);
    const [metric] = Object.values(metrics);
    const problem =
      make === undefined
        ? FORM
        : metric === undefined
          ? `names no metric that is recorded here: '${name}'`
          : make === 'max' && isCounter(metric)
            ? `'${name}' is counted: ask for its sum or rate`
            : (make === 'sum' || make === 'rate') && !isCounter(metric)
              ? `'${name}' goes up and down: ask for its max`
              : undefined;
    if (make !== undefined && problem === undefined)
      return { make, name, metrics, as: as ?? `${name}_${make}` };
    context.addIssue({ code: 'custom', message: problem ?? FORM, input: text });
    return z.NEVER;
  });

const SPLITS = ['input', 'output', '__worker_group'] as const;
type Split = (typeof SPLITS)[number];
/** Of `where`, for all components together. */
const MOST_STEPS = 5_000_000;
/** What an expression can ask of a component: what rows can be split by, and what all have alike here. */
const WHERE_NAMES: readonly string[] = [...SPLITS, '__dist_mode', '__product', 'has_no_dimensions'];

/** The body of Cribl-compatible clients, of which the common part is read. */
export const clientBody = z.strictObject({
  aggs: z.strictObject({
    aggregations: z
      .array(aggregation)
      .min(1)
      .max(20)
      .describe(
        'Such as `sum("total.in_bytes").as("bytes")`: `sum` and `rate`, a second, of what is counted; `max` of what goes up and down; `count` of the minutes that have a value.',
      ),
    splitBys: z
      .array(z.enum(SPLITS))
      .max(SPLITS.length)
      .default([])
      .describe('A row for each value of these.'),
    timeWindowSeconds: z
      .number()
      .positive()
      .max(400 * 86_400)
      .optional()
      .describe(
        'How long a row is; it becomes whole minutes, or whole hours where minutes are no longer kept.',
      ),
    cumulative: z.boolean().default(false).describe('One row for the whole time.'),
  }),
  earliest: clientTime.optional().describe(`Is ${LONG_AGO}. Left out, an hour ago.`),
  latest: clientTime.optional().describe('In the same way. Left out, now.'),
  where: expressionText
    .optional()
    .describe(
      `Which components, as an expression over ${WHERE_NAMES.map(name => `\`${name}\``).join(', ')}.`,
    ),
  alwaysBounds: z.boolean().optional().describe('Makes no difference: each row has its bounds.'),
});

/** The one of the two forms that is meant, so that what is wrong is said of that one. */
export const eitherBody = z
  .unknown()
  .transform((sent, context): z.output<typeof seriesBody> | z.output<typeof clientBody> => {
    const read = (isMap(sent) && 'aggs' in sent ? clientBody : seriesBody).safeParse(sent);
    if (read.success) return read.data;
    for (const issue of read.error.issues) context.issues.push({ ...issue, input: undefined });
    return z.NEVER;
  });

/** A value for each name of what rows are split by and of each aggregation; times are epoch seconds. */
export type AggregateRow = Readonly<Record<string, number | string>> & {
  readonly starttime: number;
  readonly endtime: number;
};

/** What Cribl-compatible clients are answered in place of series. */
export interface Aggregates {
  readonly results: readonly AggregateRow[];
  readonly info: { readonly timeWindowSeconds: number };
}

export function clientSpan({ earliest, latest, aggs }: z.output<typeof clientBody>, now: number): QuerySpan {
  const end = latest?.(now) ?? now;
  const start = Math.floor((earliest?.(now) ?? end - HOUR_MS) / MINUTE_MS) * MINUTE_MS;
  if (end <= start) throw invalidField('latest', 'must be later than earliest');
  const { cumulative, timeWindowSeconds = MINUTE_SECONDS } = aggs;
  const stepMs = Math.ceil((cumulative ? end - start : timeWindowSeconds * 1000) / MINUTE_MS) * MINUTE_MS;
  return { start, end, stepMs };
}

export const wholeHours = ({ start, end, stepMs }: QuerySpan, isCumulative: boolean): QuerySpan => {
  const first = hourOf(start);
  return { start: first, end, stepMs: Math.ceil((isCumulative ? end - first : stepMs) / HOUR_MS) * HOUR_MS };
};

const dimensionsOf = ({ component, group }: InGroup): Partial<Record<Split, string>> => ({
  [component.kind]: componentName(component),
  __worker_group: group,
});

/** Throws `invalid-request` for a name that no component has here, and for an expression that fails. */
export function whereFilter(where: Expression | undefined, isWhole: boolean): (one: InGroup) => boolean {
  if (where === undefined) return () => true;
  const stranger = where.names.find(name => !WHERE_NAMES.includes(name));
  if (stranger !== undefined)
    throw invalidField('where', `'${stranger}' is not known here; there are ${WHERE_NAMES.join(', ')}`);
  const limits = { ...DEFAULT_LIMITS, steps: 10_000, meter: { spent: 0 } };
  return one => {
    const fields = { __dist_mode: 'worker', __product: 'stream', has_no_dimensions: isWhole };
    if (limits.meter.spent > MOST_STEPS)
      throw invalidField('where', 'takes too long for so many components; make it simpler');
    try {
      return where.evaluate({ ...fields, ...dimensionsOf(one) }, limits) === true;
    } catch (error) {
      if (error instanceof ExpressionFailure) throw invalidField('where', error.message);
      throw error;
    }
  };
}

/** The rows of an answer as they are added up: a row for each window and each value of what they are split by. */
export class AggregateTable {
  readonly #rows = new Map<
    string,
    { readonly head: AggregateRow; readonly values: (number | undefined)[] }
  >();
  readonly #aggs: z.output<typeof clientBody>['aggs'];
  readonly #span: QuerySpan;

  constructor(aggs: z.output<typeof clientBody>['aggs'], span: QuerySpan) {
    this.#aggs = aggs;
    this.#span = span;
  }

  add(of: InGroup, { values, startedAt }: Recorded<HourValues>): void {
    this.#aggs.aggregations.forEach(({ make, metrics }, at) => {
      const metric = metrics[of.component.kind];
      const value = metric === undefined ? undefined : values[metric];
      if (metric === undefined || value === undefined) return;
      const row = this.#rowOf(of, startedAt);
      const before = row.values[at];
      if (make === 'count') row.values[at] = (before ?? 0) + (values.minutes ?? 1);
      else row.values[at] = before === undefined ? value : combine(metric, before, value);
    });
  }

  #rowOf(of: InGroup, startedAt: number) {
    const { start, end, stepMs } = this.#span;
    const from = start + Math.floor((startedAt - start) / stepMs) * stepMs;
    const dimensions = dimensionsOf(of);
    const named = this.#aggs.splitBys.flatMap(name => {
      const value = dimensions[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const key = JSON.stringify([from, named]);
    const found = this.#rows.get(key);
    if (found !== undefined) return found;
    if (this.#rows.size * this.#aggs.aggregations.length >= MOST_VALUES)
      throw invalidField(
        'aggs.timeWindowSeconds',
        `makes more than ${MOST_VALUES} values; ask for fewer, with a longer window`,
      );
    const bounds = { starttime: from / 1000, endtime: Math.min(from + stepMs, end) / 1000 };
    const row = { head: { ...bounds, ...Object.fromEntries(named) }, values: [] };
    this.#rows.set(key, row);
    return row;
  }

  /** By time; what no value is known of is left out. */
  rows(): readonly AggregateRow[] {
    const { aggregations } = this.#aggs;
    return [...this.#rows.values()]
      .sort((one, other) => one.head.starttime - other.head.starttime)
      .map(({ head, values }) => {
        const seconds = head.endtime - head.starttime;
        const named = aggregations.flatMap(({ make, as }, at) => {
          const value = values[at];
          return value === undefined ? [] : [[as, make === 'rate' ? value / seconds : value] as const];
        });
        return { ...head, ...Object.fromEntries(named) };
      });
  }
}
