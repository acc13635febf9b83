import * as z from 'zod';
import { componentName } from '../../pipelines/components/component.ts';
import { clientBody, RECORDED_METRICS, seriesBody, WIRE_NAMES } from '../../resources/metric-queries.ts';
import {
  listMetrics,
  type MeasuredComponent,
  type MetricsAnswer,
  queryMetrics,
  type RecordedSeries,
  type SeenComponent,
} from '../../resources/metrics.ts';
import { getReport, type Report } from '../../resources/report.ts';
import { type SuggestedComponent, suggest } from '../../resources/suggest.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { RouteAnswer, Shape } from '../operation.ts';
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

const modelOf = ({ component, group }: SeenComponent): z.output<typeof model> => ({
  [component.kind]: componentName(component),
  group,
  id: component.id,
  pipeline: component.pipeline,
});

/** One row for each component, keyed by metric as in Cribl's API. */
function wireMeasured({ measures, isWanted, ...seen }: MeasuredComponent): z.output<typeof measured> {
  const names = WIRE_NAMES[seen.component.kind];
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
  metric: z.enum(RECORDED_METRICS),
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

const rows = z
  .array(z.record(z.string(), z.union([z.number(), z.string()])))
  .describe('Rows, for a body with `aggs`; `starttime` and `endtime` are epoch seconds.');
const info = z.object({ timeWindowSeconds: z.number().describe('How long each row is.') });

const seriesList = list(seriesShape, wireSeries);
/** What Cribl-compatible clients read stands beside the list, which is empty then. */
const seriesAnswer: RouteAnswer<MetricsAnswer> = {
  ...seriesList,
  beside: { results: rows, info },
  make: ({ aggregates, ...page }) => ({ ...seriesList.make(page), ...aggregates }),
};

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
      'Steps add up counters, and of `health`, `up`, `blocked` and `queue_size` have the worst. Minutes are kept for `retention.minutes` and hours for `retention.hours`. An answer is made of hours where it begins before the minutes that are kept, is too long to be made of minutes, or asks for what is known of hours only; its `step` must then be whole hours. A body with `aggs`, as Cribl-compatible clients send, is answered with `results`.',
    grouped: true,
    verb: queryMetrics,
    takes: {
      shape: {
        name: 'AnyMetricsQuery',
        schema: z.union([seriesBody, clientBody]),
        alternatives: [
          { name: 'MetricsQuery', schema: seriesBody },
          { name: 'ClientMetricsQuery', schema: clientBody },
        ],
      },
    },
    answer: seriesAnswer,
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

const count = z.int().min(0);

const report = z.object({
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  incidents: count.describe('That opened in this time.'),
  noisiest: z
    .array(z.object({ notification: z.string(), incidents: count, deliveries: count }))
    .describe('The notifications with the most incidents, 20 at most.'),
  timeToNotify: z
    .object({
      incidents: count.describe('Of the newest 50,000, those that somebody was notified of.'),
      p50Ms: z.number().nullable(),
      p99Ms: z.number().nullable(),
    })
    .describe(
      'From the opening of an incident until the first target had its alarm, mute windows, groups and silences included; targets that keep a record do not count.',
    ),
  unacknowledged: z
    .object({
      total: count,
      incidents: z
        .array(
          z.object({
            id: z.string(),
            notification: z.string(),
            subject: z.string(),
            state: z.enum(['open', 'closed']),
            severity: z.string().describe('Of its alarms.'),
            openedAt: z.iso.datetime(),
            closedAt: z.iso.datetime().nullable(),
            text: z.string(),
          }),
        )
        .describe('20 at most: those that are open, then the newest.'),
    })
    .describe('Incidents that opened in this time and that nobody has acknowledged.'),
  failedTargets: z
    .array(
      z.object({
        target: z.string(),
        deliveries: count,
        refused: count,
        exhausted: count,
        unknown: count.describe('They may have arrived.'),
        retries: count.describe('Attempts beside the first of each delivery.'),
      }),
    )
    .describe('Targets with deliveries that were refused, given up, or may not have arrived; 20 at most.'),
  unwatched: z
    .object({
      total: count,
      components: z
        .array(
          z.object({
            component: z.string().describe('Its `type:id`.'),
            kind: z.enum(['input', 'output']),
            id: z.string(),
            group: z.string(),
            pipeline: z.string(),
          }),
        )
        .describe('100 at most.'),
    })
    .describe('Inputs and outputs that no enabled notification is about.'),
});
const reportShape: Shape = { name: 'Report', schema: report };

const wireReport = ({ span, unacknowledged, unwatched, ...counts }: Report) => ({
  ...counts,
  since: isoTime(span.since),
  until: isoTime(span.until),
  unacknowledged: {
    total: unacknowledged.total,
    incidents: unacknowledged.rows.map(row => ({
      ...{ id: row.id, notification: row.notification, subject: row.subject, state: row.state },
      ...{ severity: row.severity, text: row.text, openedAt: isoTime(row.opened_at) },
      closedAt: row.closed_at === null ? null : isoTime(row.closed_at),
    })),
  },
  unwatched: {
    total: unwatched.total,
    components: unwatched.components.map(({ component, group }) => ({
      component: componentName(component),
      kind: component.kind,
      id: component.id,
      group,
      pipeline: component.pipeline,
    })),
  },
});

export const reportRoutes: readonly Route[] = [
  route({
    id: 'report.get',
    method: 'GET',
    path: '/report',
    summary:
      'Get what alerted most in a time, how soon somebody was notified, what nobody acknowledged, which targets failed, and what no notification is about',
    verb: getReport,
    answer: item(reportShape, wireReport),
    example: { query: { since: '7d' } },
  }),
];

const threshold = {
  conf: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .describe('Settings for `conf` of a notification, beside `name`.'),
  fired: z.int().min(0).describe('How many alarms these would have been in the recorded time.'),
};

const suggested = z.object({
  component: z.string().describe('Its `type:id`.'),
  kind: z.enum(['input', 'output']),
  id: z.string().describe('What it is called in paths.'),
  group: z.string(),
  pipeline: z.string(),
  recordedMinutes: z
    .int()
    .min(0)
    .describe(
      'Minutes of the last 8 days in which a reading showed it; with less than a day nothing is suggested.',
    ),
  suggestions: z.array(
    z.object({
      condition: z.string(),
      ...threshold,
      reason: z.string().describe('The numbers that it follows from.'),
      others: z.array(z.object(threshold)).describe('Other thresholds, to compare.'),
    }),
  ),
});
const suggestedShape: Shape = { name: 'Suggestions', schema: suggested };

const wireSuggested = ({
  component,
  group,
  recordedMinutes,
  suggestions,
}: SuggestedComponent): z.output<typeof suggested> => ({
  component: componentName(component),
  kind: component.kind,
  id: component.id,
  group,
  pipeline: component.pipeline,
  recordedMinutes,
  suggestions: suggestions.map(({ conf, others, ...rest }) => ({
    ...rest,
    conf: { ...conf },
    others: others.map(other => ({ conf: { ...other.conf }, fired: other.fired })),
  })),
});

export const suggestRoutes: readonly Route[] = [
  route({
    id: 'suggest.list',
    method: 'GET',
    path: '/suggest',
    summary: 'List thresholds that suit what inputs and outputs did, with how often each would have alerted',
    description: '20 inputs and outputs at most in one answer; `offset` goes on.',
    grouped: true,
    verb: suggest,
    answer: list(suggestedShape, wireSuggested),
    example: { query: { component: 'syslog:app' } },
  }),
];
