import type { OpenFor, Verdict } from '../conditions/condition.ts';
import type { ExpiryFact } from '../conditions/fact.ts';
import type { PipelineConf } from '../conditions/pipeline.ts';
import type { Components, PipelineState } from '../pipelines/component.ts';
import { nameMatcher } from './subjects.ts';
import type { About } from './transition.ts';
import type { FactWatch, PipelineWatch } from './watch.ts';

/** One subject of a notification, with its condition to be asked about it. */
interface Question {
  readonly subject: About;
  readonly evaluate: (open: OpenFor | undefined) => Verdict;
}

const isInGroup = ({ __workerGroup: group }: PipelineConf, pipeline: { readonly group: string }): boolean =>
  group === undefined || group === pipeline.group;

/** Whether a conf means the pipeline. */
export const isMeantBy = (
  conf: PipelineConf,
  pipeline: { readonly id: string; readonly group: string },
): boolean => isInGroup(conf, pipeline) && nameMatcher(conf)(pipeline.id);

/** What is to be asked of the pipelines that a notification means. `now` is epoch ms, here and below. */
export const pipelineQuestions = (
  { rule, isNamed }: PipelineWatch,
  pipelines: readonly PipelineState[],
  now: number,
): readonly Question[] =>
  pipelines
    .filter(pipeline => isNamed(pipeline.id) && isInGroup(rule.conf, pipeline))
    .map(pipeline => ({
      subject: { key: pipeline.id, name: pipeline.id, component: undefined, pipeline },
      evaluate: open => rule.evaluate({ subject: pipeline, now, open }),
    }));

/** The same of what expires. */
export const factQuestions = (
  { rule, isNamed }: FactWatch,
  facts: readonly ExpiryFact[],
  now: number,
): readonly Question[] =>
  facts
    .filter(({ kind, key }) => kind === rule.condition.kind && isNamed(key))
    .map(fact => ({
      subject: { key: fact.key, name: fact.key, component: undefined },
      evaluate: open => rule.evaluate({ subject: fact, now, open }),
    }));

/** Why nothing can be asked of a subject any more, so that its incident closes. */
export function whyGone(
  watch: PipelineWatch | FactWatch,
  key: string,
  components: Pick<Components, 'pipeline'>,
): string {
  if (watch.source === 'fact') {
    const { kind } = watch.origin;
    return `the ${kind} ${key} is in use no more${kind === 'credential' ? ', or no longer expires' : ''}`;
  }
  const pipeline = components.pipeline(key);
  return pipeline === undefined
    ? `pipeline ${key} was removed from the configuration`
    : `pipeline ${key} is in the group ${pipeline.group} now`;
}
