import * as z from 'zod';
import { type Duration, formatDuration } from '../lib/duration.ts';
import type { ComponentKind } from '../pipelines/metric.ts';
import {
  type ComponentCondition,
  type ComponentEvaluation,
  causeSuffix,
  componentConf,
  type Description,
  defineComponentCondition,
  type OpenFor,
  subjectTitle,
  unendedOf,
} from './condition.ts';

interface NoDataOptions {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** `_metric` in its events. */
  readonly metric: string;
  /** The verb for an input or output that has data, as in `is receiving data`. */
  readonly does: string;
  readonly example: ComponentCondition['example'];
}

/**
 * Alarms when no event and no byte came for the whole window. A name that was never seen counts as silent. An open
 * incident ends only with data seen since it opened: a restart may restore an older silence.
 */
function defineNoData({ id, name, kind, metric, does, example }: NoDataOptions): ComponentCondition {
  return defineComponentCondition({
    id,
    name,
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `An ${kind} had no data for the whole time window.`,
    sample: { _metric: metric, bytes: 0 },
    example,
    schema: z.strictObject(componentConf(kind, `How long an ${kind} may be silent.`)),
    // Data that came meanwhile is seen in the reading that ends the outage.
    ...(kind === 'input' && { inhibitionGraceMs: () => 0 }),
    okWhile: (_, { timeWindow }) => [{ value: 'silentMs', holds: silentMs => silentMs < timeWindow.ms }],
    evaluate(evaluation, conf) {
      const { subject, open } = evaluation;
      const silentMs = silentMsOf(evaluation);
      const fields = { _metric: metric, timeWindow: conf.timeWindow.text };
      const { ms } = conf.timeWindow;
      const unended = unendedOf(open);
      if (silentMs < ms && (unended === undefined || hadDataSince(evaluation, unended)))
        return {
          state: 'ok',
          okForMs: ms - silentMs,
          describe: () => ({
            fields,
            text: `${subjectTitle(kind, subject)} ${does} data again after ${formatDuration(ms + (open?.ms ?? 0))}`,
          }),
        };
      return { state: 'alarm', describe: () => silence(evaluation, conf.timeWindow) };
    },
    explain: (evaluation, { timeWindow }) => ({
      facts: [
        {
          name: 'time without data',
          value: silentMsOf(evaluation),
          unit: 'milliseconds',
          alarm: { when: 'at least', limit: timeWindow.ms },
        },
      ],
      alarmInMs: Math.max(0, timeWindow.ms - silentMsOf(evaluation)),
      provided: 'no data comes until then',
      alarm: () => silence(evaluation, timeWindow),
    }),
  });

  function silence(evaluation: ComponentEvaluation, { text: window }: Duration): Description {
    return {
      fields: { _metric: metric, timeWindow: window, bytes: 0 },
      text: `${subjectTitle(kind, evaluation.subject)} had no data for ${window}${causeSuffix(evaluation)}`,
    };
  }
}

/** Observed milliseconds without data, of a name that was never seen since it was declared. */
const silentMsOf = ({ subject, components }: ComponentEvaluation): number =>
  subject.component ? components.silentMs(subject.component) : subject.declaredMs;

const hadDataSince = ({ subject: { component }, components }: ComponentEvaluation, open: OpenFor): boolean =>
  component !== undefined &&
  components.lastDataAt(component) !== null &&
  components.silentMs(component) < open.observedMs;

export const noData = defineNoData({
  id: 'no-data',
  name: 'No Data Received',
  kind: 'input',
  metric: 'total.in_bytes',
  does: 'is receiving',
  example: { id: 'app_silent', conf: { name: 'syslog:app', timeWindow: '60s' } },
});

export const noDataDest = defineNoData({
  id: 'no-data-dest',
  name: 'No Data Sent',
  kind: 'output',
  metric: 'total.out_bytes',
  does: 'is sending',
  example: { id: 'archive_silent', conf: { name: 'aws_s3:archive', timeWindow: '10m' } },
});
