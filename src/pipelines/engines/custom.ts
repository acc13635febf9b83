import { isCounter } from '../metric.ts';
import type { RuleSettings } from '../settings.ts';
import { counter, gauge, type Profile, type Rule } from './profile.ts';

/** The profile a user's own rules make. */
export const customProfile = (rules: readonly RuleSettings[]): Profile => ({
  engine: 'custom',
  rules: rules.map(ruleOf),
});

function ruleOf(settings: RuleSettings): Rule {
  return {
    match: new RegExp(settings.match, 'u'),
    kind: settings.kind,
    id: settings.id,
    means: isCounter(settings.metric)
      ? counter(settings.metric)
      : gauge(settings.metric, settings.fold ?? 'last'),
    ...(settings.where && { where: settings.where }),
    ...(settings.type && { type: settings.type }),
  };
}
