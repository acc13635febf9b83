import * as z from 'zod';
import type { PipelineState } from '../pipelines/component.ts';
import { defineAsked, type Question } from './asked.ts';
import { windowConf } from './component-conf.ts';
import type { Verdict } from './condition.ts';
import type { PipelineCondition, PipelineConf } from './pipeline.ts';
import { lasted, timeOf } from './wording.ts';

type Asked = Question<PipelineState>;

const schema = z.strictObject({
  name: z.string().min(1).describe('The pipeline: its id, or a pattern with `*`.'),
  ...windowConf('pipeline', 'How long every reading must have failed, or nothing been pushed.'),
});

/** Every reading failed for the whole window; of one that pushes, nothing came. */
export const pipelineUnreachable: PipelineCondition = defineAsked({
  source: 'pipeline',
  kind: 'pipeline',
  id: 'pipeline-unreachable',
  name: 'Pipeline Unreachable',
  type: 'metric',
  category: 'pipelines',
  description: 'A pipeline could not be read, or pushed nothing, for the whole time window.',
  schema,
  evaluate(asked: Asked, conf: PipelineConf): Verdict {
    const { subject } = asked;
    // What the first reading after a start or a takeover finds may be as old as the last process.
    if (subject.mode === 'pull' && subject.readings < 2)
      return { state: 'unknown', reason: 'it has not been read twice yet' };
    return isUnreachable(asked, conf) ? alarm(asked, conf) : well(asked, conf);
  },
});

/** An open incident ends with what was read or pushed since it opened, whatever the window. */
function isUnreachable({ subject, open }: Asked, { timeWindow }: PipelineConf): boolean {
  const { mode, error, readings, unreachedMs } = subject;
  if (mode === 'pull') return error !== null && (open !== undefined || unreachedMs >= timeWindow.ms);
  if (open !== undefined && (readings === 0 || unreachedMs >= open.observedMs)) return true;
  return unreachedMs >= timeWindow.ms;
}

function alarm({ subject, now }: Asked, { timeWindow }: PipelineConf): Verdict {
  const { id, mode, error, unreachableSince, unreachedMs } = subject;
  const reason =
    mode === 'push' ? `nothing was pushed for ${timeWindow.text}` : (error ?? 'no reason is known');
  const since = timeOf(unreachableSince ?? now - unreachedMs);
  return {
    state: 'alarm',
    describe: () => ({
      fields: { timeWindow: timeWindow.text, unreachableSince: since, reason },
      text: `Pipeline ${id} has been unreachable since ${since}: ${reason}`,
    }),
  };
}

const well = ({ subject, open }: Asked, { timeWindow }: PipelineConf): Verdict => ({
  state: 'ok',
  describe: () => ({
    fields: { timeWindow: timeWindow.text },
    text: `Pipeline ${subject.id} is reachable again after ${lasted(open)}`,
  }),
});
