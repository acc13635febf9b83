import type { Expiry, ExpiryRule } from '../../conditions/expiration.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Notification } from '../notification.ts';
import { createNameMatcher } from '../subjects.ts';
import type { AskedSubject, EvaluatedState, Evaluator } from './evaluation.ts';
import {
  type ActiveRule,
  activeRuleFields,
  type Evaluation,
  NO_INHIBITION,
  type RuleSource,
} from './rule-source.ts';

interface ActiveExpiryRule extends ActiveRule, EvaluatedState {
  readonly rule: ExpiryRule;
  readonly matchesName: (key: string) => boolean;
}

export interface ExpiryRulesOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Everything that expires. By default there is nothing. */
  readonly expiries?: () => readonly Expiry[];
  readonly evaluator: Evaluator;
}

/** Rules on what expires. */
export class ExpiryRules implements RuleSource<ExpiryRule> {
  readonly #options: ExpiryRulesOptions;
  readonly #rules = new Map<string, ActiveExpiryRule>();
  /** Read when the first rule of an evaluation needs them. */
  #expiries: readonly Expiry[] | undefined;

  constructor(options: ExpiryRulesOptions) {
    this.#options = options;
  }

  activate(notification: Notification, rule: ExpiryRule): ActiveRule {
    const options = this.#options;
    const before = this.#rules.get(notification.id);
    const active: ActiveExpiryRule = {
      ...activeRuleFields(notification, before),
      ...NO_INHIBITION,
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
    this.#expiries = undefined;
  }

  #evaluate(active: ActiveExpiryRule, now: number): Evaluation {
    return this.#options.evaluator.evaluateSubjects(active, this.#subjects(active), now, key =>
      whyEnded(active, key),
    );
  }

  #subjects(active: ActiveExpiryRule): readonly AskedSubject[] {
    const { clock, expiries = () => [] } = this.#options;
    this.#expiries ??= expiries();
    return subjectsOf(active, this.#expiries, clock.now());
  }
}

/** `now` is epoch ms. */
const subjectsOf = (
  { rule, matchesName }: ActiveExpiryRule,
  expiries: readonly Expiry[],
  now: number,
): readonly AskedSubject[] =>
  expiries
    .filter(({ kind, key }) => kind === rule.kind && matchesName(key))
    .map(expiry => ({
      subject: { key: expiry.key, name: expiry.key, component: undefined },
      evaluate: open => rule.evaluate({ subject: expiry, now, open }),
      explain: open => rule.explain({ subject: expiry, now, open }),
    }));

const whyEnded = ({ rule: { kind } }: ActiveExpiryRule, key: string): string =>
  `the ${kind} ${key} is in use no more${kind === 'credential' ? ', or no longer expires' : ''}`;
