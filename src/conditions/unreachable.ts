import * as z from 'zod';
import type { Duration } from '../lib/duration.ts';
import type { PipelineState } from '../pipelines/components/component.ts';
import {
  type Description,
  defineEvaluatedCondition,
  type EvaluatedCondition,
  type EvaluatedRule,
  formatTime,
  type MeasuredFact,
  openDuration,
  type SubjectEvaluation,
  unendedOf,
  type Verdict,
  windowConf,
  windowTraits,
} from './condition.ts';

interface PipelineConf {
  /** Id of a pipeline, or a pattern with `*`. */
  readonly name: string;
  readonly timeWindow: Duration;
  readonly notifyOnResolution: boolean;
  readonly __workerGroup?: string | undefined;
}

export type PipelineCondition = EvaluatedCondition<'pipeline', 'pipeline', PipelineConf, PipelineState>;
export type PipelineRule = EvaluatedRule<'pipeline', 'pipeline', PipelineConf, PipelineState>;

type PipelineEvaluation = SubjectEvaluation<PipelineState>;

const schema = z.strictObject({
  name: z.string().min(1).describe('The pipeline: its id, or a pattern with `*`.'),
  ...windowConf('pipeline', 'How long every reading must have failed, or nothing been pushed.'),
});

/** Alarms when every reading failed for the whole window; when a pipeline that pushes sent nothing. */
export const pipelineUnreachable: PipelineCondition = defineEvaluatedCondition({
  source: 'pipeline',
  kind: 'pipeline',
  id: 'pipeline-unreachable',
  name: 'Pipeline Unreachable',
  type: 'metric',
  category: 'pipelines',
  description: 'A pipeline could not be read, or pushed nothing, for the whole time window.',
  sampleSubject: 'edge',
  sample: {
    origin_metadata: { type: 'pipeline', id: 'edge', subType: 'vector' },
    timeWindow: '60s',
    unreachableSince: '2024-02-01T00:27:00Z',
    reason: 'http://127.0.0.1:9598: connect ECONNREFUSED 127.0.0.1:9598',
    __worker_group: 'default',
    __pipeline: 'sample',
  },
  example: { id: 'unreachable', conf: { name: '*', timeWindow: '60s' } },
  traits: conf => ({
    ...windowTraits(conf),
    readings: { window: conf.timeWindow, pipelines: conf },
    pipelines: conf,
  }),
  schema,
  evaluate(evaluation: PipelineEvaluation, conf: PipelineConf): Verdict {
    const { subject } = evaluation;
    // The result of the first reading after a start or a takeover may be as old as the last process.
    if (subject.mode === 'pull' && subject.readings < 2)
      return { state: 'unknown', reason: 'it has not been read twice yet' };
    return isUnreachable(evaluation, conf)
      ? { state: 'alarm', describe: () => alarmOf(evaluation, conf) }
      : reachable(evaluation, conf);
  },
  explain(evaluation, conf) {
    const { mode, error, readings, unreachedMs } = evaluation.subject;
    const { timeWindow } = conf;
    const isPulled = mode === 'pull';
    return {
      facts: [
        {
          name: isPulled ? 'time since it was last read' : 'time since it last pushed',
          value: unreachedMs,
          unit: 'milliseconds',
          alarm: { when: 'at least', limit: timeWindow.ms },
        },
        ...(isPulled ? [readingsOf(readings, error)] : []),
      ],
      alarmInMs: Math.max(0, timeWindow.ms - unreachedMs),
      provided: isPulled ? 'no reading succeeds until then' : 'nothing is pushed until then',
      alarm: () => alarmOf(evaluation, conf),
    };
  },
});

const readingsOf = (value: number, error: string | null): MeasuredFact => ({
  name: 'readings since the start, of which two are needed',
  value,
  unit: 'number',
  unknown: error ?? undefined,
});

/** Ends an open incident with what was read or pushed since it opened, whatever the window. */
function isUnreachable(
  { subject, ...evaluation }: PipelineEvaluation,
  { timeWindow }: PipelineConf,
): boolean {
  const open = unendedOf(evaluation.open);
  const { mode, error, readings, unreachedMs } = subject;
  if (mode === 'pull') return error !== null && (open !== undefined || unreachedMs >= timeWindow.ms);
  if (open !== undefined && (readings === 0 || unreachedMs >= open.observedMs)) return true;
  return unreachedMs >= timeWindow.ms;
}

function alarmOf({ subject, now }: PipelineEvaluation, { timeWindow }: PipelineConf): Description {
  const { id, mode, error, unrecognised, unreachableSince, unreachedMs } = subject;
  const reason =
    mode === 'push'
      ? (unrecognised ?? `nothing was pushed for ${timeWindow.text}`)
      : (error ?? 'no reason is known');
  const since = formatTime(unreachableSince ?? now - unreachedMs);
  return {
    fields: { timeWindow: timeWindow.text, unreachableSince: since, reason },
    text: `Pipeline ${id} has been unreachable since ${since}: ${reason}`,
  };
}

const reachable = ({ subject, open }: PipelineEvaluation, { timeWindow }: PipelineConf): Verdict => ({
  state: 'ok',
  describe: () => ({
    fields: { timeWindow: timeWindow.text },
    text: `Pipeline ${subject.id} is reachable again after ${openDuration(open)}`,
  }),
});
