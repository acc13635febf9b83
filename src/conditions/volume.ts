import * as z from 'zod';
import type { Component, ComponentKind, Components, Measured } from '../pipelines/component.ts';
import { componentConf } from './component-conf.ts';
import { type ComponentCondition, defineCondition, type Evaluation } from './condition.ts';
import { type DataVolume, dataVolume } from './data-volume.ts';
import { becauseOf, calledAs, lasted } from './wording.ts';

interface Volume {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** What is an alarm. */
  readonly when: 'greater' | 'less';
}

/**
 * More or less data in the window than there should be, strictly. Too little is told only when a whole window was
 * watched; a name that was never seen had none.
 */
export function defineVolume({ id, name, kind, when }: Volume): ComponentCondition {
  const metric = kind === 'input' ? 'total.in_bytes' : 'total.out_bytes';
  return defineCondition({
    id,
    name,
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `An ${kind} had ${when === 'greater' ? 'more' : 'less'} data in the time window than dataVolume.`,
    schema: z.strictObject({
      ...componentConf(kind, 'The stretch of time whose data is added up.'),
      dataVolume: dataVolume.describe(
        'Bytes, as in 500, 10MB or 1G (units of 1,024), or events, as in 10000 events.',
      ),
    }),
    evaluate(evaluation, { timeWindow, dataVolume: limit }) {
      const { subject, open } = evaluation;
      const seen = volumeOf(evaluation, kind, limit, timeWindow.ms);
      if (typeof seen === 'string') return { state: 'unknown', reason: seen };
      const isOver = when === 'greater' ? seen.sum > limit.amount : seen.sum < limit.amount;
      // What has been watched for less than a window may yet get all it should.
      if (isOver && when === 'less' && seen.watchedMs < timeWindow.ms)
        return { state: 'unknown', reason: `it has been watched for less than ${timeWindow.text}` };
      const fields = {
        _metric: limit.unit === 'events' ? metric.replace('bytes', 'events') : metric,
        [limit.unit]: Math.round(seen.sum),
        dataVolume: limit.text,
        timeWindow: timeWindow.text,
      };
      const traffic = `${calledAs(kind, subject)} traffic volume`;
      return isOver
        ? {
            state: 'alarm',
            describe: () => ({
              fields,
              text: `${traffic} ${when} than ${limit.text} in ${timeWindow.text}${when === 'less' ? becauseOf(evaluation) : ''}`,
            }),
          }
        : {
            state: 'ok',
            describe: () => ({
              fields,
              text: `${traffic} is back within ${limit.text} in ${timeWindow.text} after ${lasted(open)}`,
            }),
          };
    },
  });
}

/** What came in the window, or why nobody can tell. */
function volumeOf(
  { subject, components }: Evaluation,
  kind: ComponentKind,
  { unit }: DataVolume,
  windowMs: number,
): Measured | string {
  const { component } = subject;
  if (component === undefined) return { sum: 0, watchedMs: subject.declaredMs };
  const events = kind === 'input' ? 'in_events' : 'out_events';
  if (unit === 'events') return components.measure(component, events, windowMs) ?? TOO_MANY;
  const bytes = kind === 'input' ? 'in_bytes' : 'out_bytes';
  if (components.knows(component, bytes)) return components.measure(component, bytes, windowMs) ?? TOO_MANY;
  const perEvent = components.pipeline(component.pipeline)?.bytesPerEvent ?? undefined;
  if (perEvent === undefined) return noBytes(component);
  return scaled(components.measure(component, events, windowMs), perEvent) ?? TOO_MANY;
}

const scaled = (measured: ReturnType<Components['measure']>, by: number): Measured | undefined =>
  measured && { ...measured, sum: measured.sum * by };

const TOO_MANY = 'too many notifications look at it over different windows';

const noBytes = ({ engine, pipeline }: Component): string =>
  `no byte metric: ${engine} does not tell it; set bytesPerEvent of pipeline '${pipeline}', or a dataVolume in events`;
