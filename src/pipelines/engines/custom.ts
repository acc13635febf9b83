import { isCounter } from '../metric.ts';
import type { RuleSettings } from '../settings.ts';
import { counter, type EngineProfile, gauge, type ProfileRule } from './profile.ts';

/** The profile a user's own rules make. */
export const customProfile = (rules: readonly RuleSettings[]): EngineProfile => ({
  engine: 'custom',
  rules: rules.map(ruleOf),
});

function ruleOf(settings: RuleSettings): ProfileRule {
  return {
    match: new RegExp(settings.match, 'u'),
    kind: settings.kind,
    id: settings.id,
    meaning: isCounter(settings.metric)
      ? counter(settings.metric)
      : gauge(settings.metric, settings.fold ?? 'last'),
    ...(settings.where && { where: settings.where }),
    ...(settings.type && { type: settings.type }),
  };
}
