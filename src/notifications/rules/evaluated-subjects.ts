import type { OpenFor, Verdict } from '../../conditions/condition.ts';
import type { Expiry } from '../../conditions/expiration.ts';
import type { PipelineConf } from '../../conditions/unreachable.ts';
import type { Components, PipelineState } from '../../pipelines/components/component.ts';
import type { ActiveExpiryRule, ActivePipelineRule } from '../active-rule.ts';
import { createNameMatcher } from '../subjects.ts';
import type { ChangeSubject } from '../transition.ts';

/** One subject of a notification, with its condition to be asked about it. */
interface EvaluatedSubject {
  readonly subject: ChangeSubject;
  readonly evaluate: (open: OpenFor | undefined) => Verdict;
}

const isInGroup = ({ __workerGroup: group }: PipelineConf, pipeline: { readonly group: string }): boolean =>
  group === undefined || group === pipeline.group;

/** Whether a conf means the pipeline. */
export const matchesPipeline = (
  conf: PipelineConf,
  pipeline: { readonly id: string; readonly group: string },
): boolean => isInGroup(conf, pipeline) && createNameMatcher(conf)(pipeline.id);

/** What is to be asked of the pipelines that a notification means. `now` is epoch ms, here and below. */
export const pipelineSubjects = (
  { rule, matchesName: isNamed }: ActivePipelineRule,
  pipelines: readonly PipelineState[],
  now: number,
): readonly EvaluatedSubject[] =>
  pipelines
    .filter(pipeline => isNamed(pipeline.id) && isInGroup(rule.conf, pipeline))
    .map(pipeline => ({
      subject: { key: pipeline.id, name: pipeline.id, component: undefined, pipeline },
      evaluate: open => rule.evaluate({ subject: pipeline, now, open }),
    }));

/** The same of what expires. */
export const expirySubjects = (
  { rule, matchesName: isNamed }: ActiveExpiryRule,
  expiries: readonly Expiry[],
  now: number,
): readonly EvaluatedSubject[] =>
  expiries
    .filter(({ kind, key }) => kind === rule.condition.kind && isNamed(key))
    .map(expiry => ({
      subject: { key: expiry.key, name: expiry.key, component: undefined },
      evaluate: open => rule.evaluate({ subject: expiry, now, open }),
    }));

/** Why nothing can be asked of a subject any more, so that its incident closes. */
export function whyGone(
  active: ActivePipelineRule | ActiveExpiryRule,
  key: string,
  components: Pick<Components, 'pipeline'>,
): string {
  if (active.source === 'fact') {
    const { kind } = active.origin;
    return `the ${kind} ${key} is in use no more${kind === 'credential' ? ', or no longer expires' : ''}`;
  }
  const pipeline = components.pipeline(key);
  return pipeline === undefined
    ? `pipeline ${key} was removed from the configuration`
    : `pipeline ${key} is in the group ${pipeline.group} now`;
}
