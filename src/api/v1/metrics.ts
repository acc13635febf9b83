import * as z from 'zod';
import { componentName } from '../../pipelines/components/component.ts';
import { MINUTE_METRICS, type MinuteMetric } from '../../pipelines/history/minute-codec.ts';
import type { ComponentKind } from '../../pipelines/metric.ts';
import {
  listMetrics,
  type MeasuredComponent,
  queryMetrics,
  type RecordedSeries,
  type SeenComponent,
} from '../../resources/metrics.ts';
import { list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const model = z
  .object({
    input: z.string().optional().describe('Its `type:id`.'),
    output: z.string().optional(),
    group: z.string(),
    id: z.string().describe('What it is called in paths.'),
    pipeline: z.string(),
  })
  .describe('What the value is of.');

const measured = z.record(
  z.string().describe('Name of a metric, such as `total.in_events` or `health.outputs`.'),
  z.array(
    z.object({
      model,
      val: z.number().describe('Of a counter what the last minute brought, else how it is now.'),
      rate: z.number().optional().describe('Of a counter: a second, over the last minute.'),
    }),
  ),
);
const measuredShape: Shape = { name: 'ComponentMetrics', schema: measured };

/** Cribl's names, and ours in the same style. */
const namesOf = (kind: ComponentKind): Readonly<Record<MinuteMetric, string>> => ({
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
const NAMES = { input: namesOf('input'), output: namesOf('output') } as const;

const modelOf = ({ component, group }: SeenComponent): z.output<typeof model> => ({
  [component.kind]: componentName(component),
  group,
  id: component.id,
  pipeline: component.pipeline,
});

/** One row for each component, keyed by metric as in Cribl's API. */
function wireMeasured({ measures, isWanted, ...seen }: MeasuredComponent): z.output<typeof measured> {
  const names = NAMES[seen.component.kind];
  const model = modelOf(seen);
  const row: z.output<typeof measured> = {};
  for (const { name, value, rate } of measures) {
    const wire = names[name];
    if (isWanted(wire)) row[wire] = [{ model, val: value, ...(rate !== undefined && { rate }) }];
  }
  return row;
}

const series = z.object({
  component: z.string().describe('Its `type:id`.'),
  kind: z.enum(['input', 'output']),
  id: z.string().describe('What it is called in paths.'),
  group: z.string(),
  pipeline: z.string(),
  metric: z.enum(MINUTE_METRICS),
  points: z
    .array(z.tuple([z.number(), z.number().nullable()]))
    .describe('Epoch ms of the beginning of each step, and its value; null where nothing is known of it.'),
});
const seriesShape: Shape = { name: 'Series', schema: series };

const wireSeries = ({ component, group, metric, points }: RecordedSeries): z.output<typeof series> => ({
  component: componentName(component),
  kind: component.kind,
  id: component.id,
  group,
  pipeline: component.pipeline,
  metric,
  points: points.map(([at, value]) => [at, value]),
});

export const metricRoutes: readonly Route[] = [
  route({
    id: 'metrics.list',
    method: 'GET',
    path: '/system/metrics',
    summary: 'List what inputs and outputs do now: a row for each, keyed by metric',
    grouped: true,
    verb: listMetrics,
    answer: list(measuredShape, wireMeasured),
    example: { query: { component: 'syslog:app', limit: '10' } },
  }),
  route({
    id: 'metrics.query',
    method: 'POST',
    path: '/system/metrics/query',
    summary: 'Get what inputs and outputs did, minute by minute or in longer steps, as series',
    description:
      'Steps add up counters, and of `health`, `up`, `blocked` and `queue_size` have the worst. Minutes are kept for `retention.minutes`.',
    grouped: true,
    verb: queryMetrics,
    takes: { shape: { name: 'MetricsQuery' } },
    answer: list(seriesShape, wireSeries),
    example: {
      body: {
        components: ['syslog:app'],
        metrics: ['in_events', 'health'],
        from: '2026-01-01T00:00:00Z',
        to: '2026-01-01T00:02:00Z',
      },
    },
  }),
];
