import * as z from 'zod';
import { formatDuration } from '../lib/duration.ts';
import type { ComponentKind } from '../pipelines/component.ts';
import { componentConf } from './component-conf.ts';
import { type ComponentCondition, defineCondition, type Evaluation, type OpenFor } from './condition.ts';
import { becauseOf, calledAs } from './wording.ts';

interface Silence {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** What its events call what was looked at. */
  readonly metric: string;
  /** What an input or output does that has data, as in `is receiving data`. */
  readonly does: string;
}

/**
 * No event and no byte for the whole window. A name that was never seen counts as silent.
 * An open incident ends only with data seen since it opened: a restart may bring back an older silence.
 */
export function defineSilence({ id, name, kind, metric, does }: Silence): ComponentCondition {
  return defineCondition({
    id,
    name,
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `An ${kind} had no data for the whole time window.`,
    schema: z.strictObject(componentConf(kind, `How long an ${kind} may be silent.`)),
    // What it sends is seen in the reading that ends the outage.
    ...(kind === 'input' && { outageMs: () => 0 }),
    evaluate(evaluation, conf) {
      const { subject, components, open } = evaluation;
      const silentMs = subject.component ? components.silentMs(subject.component) : subject.declaredMs;
      const fields = { _metric: metric, timeWindow: conf.timeWindow.text };
      const { ms } = conf.timeWindow;
      if (silentMs < ms && (open === undefined || hadDataSince(evaluation, open)))
        return {
          state: 'ok',
          calmMs: ms - silentMs,
          describe: () => ({
            fields,
            text: `${calledAs(kind, subject)} ${does} data again after ${formatDuration(ms + (open?.ms ?? 0))}`,
          }),
        };
      return {
        state: 'alarm',
        describe: () => ({
          fields: { ...fields, bytes: 0 },
          text: `${calledAs(kind, subject)} had no data for ${conf.timeWindow.text}${becauseOf(evaluation)}`,
        }),
      };
    },
  });
}

const hadDataSince = ({ subject: { component }, components }: Evaluation, open: OpenFor): boolean =>
  component !== undefined &&
  components.lastDataAt(component) !== null &&
  components.silentMs(component) < open.observedMs;
