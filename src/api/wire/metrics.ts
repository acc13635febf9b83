import * as z from 'zod';
import type { ComponentKind } from '../../pipelines/component.ts';
import { componentName } from '../../pipelines/component.ts';
import { RECORDED, type Recorded } from '../../pipelines/minute.ts';
import type { MeasuredComponent } from '../../resources/metrics/list.ts';
import type { Series } from '../../resources/metrics/query.ts';
import type { SeenComponent } from '../../resources/metrics/seen.ts';
import type { Shape } from '../shape.ts';

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
export const measuredShape: Shape = { name: 'ComponentMetrics', schema: measured };

/** As the family calls them, with ours in its manner. */
const namesOf = (kind: ComponentKind): Readonly<Record<Recorded, string>> => ({
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

/** A row keyed by metrics, as the family's are; one row for a component. */
export function wireMeasured({ measures, isWanted, ...seen }: MeasuredComponent): z.output<typeof measured> {
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
  metric: z.enum(RECORDED),
  points: z
    .array(z.tuple([z.number(), z.number().nullable()]))
    .describe('Epoch ms of the beginning of each step, and its value; null where nothing is known of it.'),
});
export const seriesShape: Shape = { name: 'Series', schema: series };

export const wireSeries = ({ component, group, metric, points }: Series): z.output<typeof series> => ({
  component: componentName(component),
  kind: component.kind,
  id: component.id,
  group,
  pipeline: component.pipeline,
  metric,
  points: points.map(([at, value]) => [at, value]),
});
