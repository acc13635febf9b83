import * as z from 'zod';
import { invalidField } from '../../auth/users.ts';
import { isCounter, METRICS } from '../../pipelines/metric.ts';
import { HEALTH_NUMBERS, type Recorded } from '../../pipelines/minute.ts';
import { patternFault } from '../../pipelines/pattern.ts';
import { listedFrom, pageQuery } from '../paging.ts';
import { type Call, defineVerb } from '../verb.ts';
import { type SeenComponent, seenComponents } from './seen.ts';

const MINUTE_SECONDS = 60;

/** How a component is, or what it does. */
interface Measure {
  readonly name: Recorded;
  /** Of a counter what the last minute brought. */
  readonly value: number;
  /** Of a counter: a second, over the last minute. */
  readonly rate?: number;
}

export interface MeasuredComponent extends SeenComponent {
  readonly measures: readonly Measure[];
  /** Whether the caller asked for a metric, by the name that it has on the wire. */
  readonly isWanted: (name: string) => boolean;
}

const pattern = z.string().max(300);

/** What the components of pipelines do now; of those that are disabled, and of what nobody told, nothing. */
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
    const { items, ...rest } = listedFrom(page, enabled);
    return {
      ...rest,
      items: items.map((one): MeasuredComponent => ({ ...one, measures: measuresOf(call, one), isWanted })),
    };
  },
});

function measuresOf({ house }: Call, { component }: SeenComponent): readonly Measure[] {
  const { health, metrics } = house.components.status(component);
  const { values = {} } = house.minutes.last(component) ?? {};
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
    return new RegExp(text, 'u');
  });
  return name => patterns.some(one => one.test(name));
}
