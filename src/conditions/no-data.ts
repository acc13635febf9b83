import * as z from 'zod';
import { formatDuration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import type { PipelineState } from '../pipelines/component.ts';
import { defineCondition, type Evaluation, type OpenFor, type Subject } from './condition.ts';

const schema = z.strictObject({
  name: z.string().min(1).describe('The input: `type:id`, an id, or a pattern with `*`.'),
  timeWindow: duration({ min: '1s' }).prefault('60s').describe('How long an input may be silent.'),
  notifyOnResolution: z
    .boolean()
    .default(true)
    .describe('true: one message at the start, one at the end. false: one each timeWindow while it lasts.'),
  __workerGroup: z.string().min(1).optional().describe('Only inputs of this group.'),
});

/**
 * An input that had no event and no byte for the whole window. A name that was never seen counts as silent.
 * An open incident ends only with data seen since it opened: a restart may bring back an older silence.
 */
export const noData = defineCondition({
  id: 'no-data',
  name: 'No Data Received',
  category: 'sources',
  kind: 'input',
  description: 'An input had no data for the whole time window.',
  schema,
  evaluate(evaluation, conf) {
    const { subject, components, open } = evaluation;
    const silentMs = subject.component ? components.silentMs(subject.component) : subject.declaredMs;
    const fields = { _metric: 'total.in_bytes', timeWindow: conf.timeWindow.text };
    if (silentMs < conf.timeWindow.ms && (open === undefined || hadDataSince(evaluation, open)))
      return {
        state: 'ok',
        describe: () => ({
          fields,
          text: `${sourceOf(subject)} is receiving data again after ${formatDuration(conf.timeWindow.ms + (open?.ms ?? 0))}`,
        }),
      };
    return {
      state: 'alarm',
      describe: () => ({
        fields: { ...fields, bytes: 0 },
        text: `${sourceOf(subject)} had no data for ${conf.timeWindow.text}${becauseOf(evaluation)}`,
      }),
    };
  },
});

const hadDataSince = ({ subject: { component }, components }: Evaluation, open: OpenFor): boolean =>
  component !== undefined &&
  components.lastDataAt(component) !== null &&
  components.silentMs(component) < open.observedMs;

function sourceOf(subject: Subject): string {
  return `Source ${subject.name}${subject.group === 'default' ? '' : ` in group ${subject.group}`}`;
}

/** The reason, where the pipeline itself cannot be read or the name was never seen. */
function becauseOf({ subject, components }: Evaluation): string {
  if (subject.component === undefined) return ': it was never seen';
  const pipeline = components.pipeline(subject.component.pipeline);
  return pipeline === undefined || pipeline.state !== 'unreachable' ? '' : `: ${unreachable(pipeline)}`;
}

const unreachable = (pipeline: PipelineState): string =>
  `pipeline ${pipeline.id} cannot be read${pipeline.error === null ? '' : ` (${pipeline.error})`}`;
