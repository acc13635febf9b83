import type { PipelineRule } from '../../conditions/unreachable.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Components, PipelineState } from '../../pipelines/components/component.ts';
import type { Notification } from '../notification.ts';
import { createNameMatcher, isInGroup } from '../subjects.ts';
import type { AskedSubject, EvaluatedState, Evaluator } from './evaluation.ts';
import {
  type ActiveRule,
  activeRuleFields,
  type Evaluation,
  NO_INHIBITION,
  type RuleSource,
} from './rule-source.ts';

interface ActivePipelineRule extends ActiveRule, EvaluatedState {
  readonly rule: PipelineRule;
  readonly matchesName: (id: string) => boolean;
}

export interface PipelineRulesOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly components: Pick<Components, 'pipeline' | 'pipelines'>;
  readonly evaluator: Evaluator;
}

/** Rules on pipelines. Their incidents inhibit alarms of the inputs of the same pipeline. */
export class PipelineRules implements RuleSource<PipelineRule> {
  readonly #options: PipelineRulesOptions;
  readonly #rules = new Map<string, ActivePipelineRule>();
  /** Read when the first rule of an evaluation needs them. */
  #pipelines: readonly PipelineState[] | undefined;

  constructor(options: PipelineRulesOptions) {
    this.#options = options;
  }

  activate(notification: Notification, rule: PipelineRule): ActiveRule {
    const options = this.#options;
    const before = this.#rules.get(notification.id);
    const active: ActivePipelineRule = {
      ...activeRuleFields(notification, before),
      ...NO_INHIBITION,
      inhibits: true,
      rule,
      pendingSince: before?.pendingSince ?? new Map(),
      matchesName: before?.matchesName ?? createNameMatcher(rule.conf),
      evaluate: now => this.#evaluate(active, now),
      explainable: now => this.#subjects(active).map(one => options.evaluator.explainable(active, one, now)),
      deactivate: () => void this.#rules.delete(notification.id),
    };
    this.#rules.set(notification.id, active);
    return active;
  }

  refresh(): void {
    this.#pipelines = undefined;
  }

  #evaluate(active: ActivePipelineRule, now: number): Evaluation {
    return this.#options.evaluator.evaluateSubjects(active, this.#subjects(active), now, key =>
      this.#whyEnded(key),
    );
  }

  #subjects(active: ActivePipelineRule): readonly AskedSubject[] {
    const { clock, components } = this.#options;
    this.#pipelines ??= components.pipelines();
    return subjectsOf(active, this.#pipelines, clock.now());
  }

  #whyEnded(key: string): string {
    const pipeline = this.#options.components.pipeline(key);
    return pipeline === undefined
      ? `pipeline ${key} was removed from the configuration`
      : `pipeline ${key} is in the group ${pipeline.group} now`;
  }
}

/** `now` is epoch ms. */
const subjectsOf = (
  { rule, matchesName }: ActivePipelineRule,
  pipelines: readonly PipelineState[],
  now: number,
): readonly AskedSubject[] =>
  pipelines
    .filter(pipeline => matchesName(pipeline.id) && isInGroup(rule.conf, pipeline))
    .map(pipeline => ({
      subject: { key: pipeline.id, name: pipeline.id, component: undefined, pipeline },
      evaluate: open => rule.evaluate({ subject: pipeline, now, open }),
      explain: open => rule.explain({ subject: pipeline, now, open }),
    }));
