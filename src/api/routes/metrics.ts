import { listMetrics } from '../../resources/metrics/list.ts';
import { queryMetrics } from '../../resources/metrics/query.ts';
import { list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { measuredShape, seriesShape, wireMeasured, wireSeries } from '../wire/metrics.ts';

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
