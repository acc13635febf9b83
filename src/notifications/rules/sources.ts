import type { AlertingRule } from '../../conditions/index.ts';
import type { Notification } from '../notification.ts';
import { ComponentRules, type ComponentRulesOptions } from './component.ts';
import { ExpiryRules, type ExpiryRulesOptions } from './expiry.ts';
import { ExternalRules, type ExternalRulesOptions } from './external.ts';
import { HeartbeatRules, type HeartbeatRulesOptions } from './heartbeat.ts';
import { PipelineRules, type PipelineRulesOptions } from './pipeline.ts';
import type { ActiveRule, RuleSource } from './rule-source.ts';

type RuleBySource = { readonly [Rule in AlertingRule as Rule['source']]: Rule };

type RuleOf<Source extends keyof RuleBySource> = {
  [Name in Source]: { readonly source: Name } & RuleBySource[Name];
}[Source];

/** One for each source that a condition may name. */
type RuleSources<Source extends keyof RuleBySource = keyof RuleBySource> = {
  readonly [Name in Source]: RuleSource<RuleBySource[Name]>;
};

export type RuleSourcesOptions = ComponentRulesOptions &
  PipelineRulesOptions &
  ExpiryRulesOptions &
  ExternalRulesOptions &
  HeartbeatRulesOptions;

export const createRuleSources = (options: RuleSourcesOptions): RuleSources => ({
  component: new ComponentRules(options),
  pipeline: new PipelineRules(options),
  expiry: new ExpiryRules(options),
  external: new ExternalRules(options),
  heartbeat: new HeartbeatRules(options),
});

/** Makes a notification active in the source of its condition. */
export const activateRule = (sources: RuleSources, notification: Notification, now: number): ActiveRule =>
  activateIn(sources, notification.rule, notification, now);

/** The type parameter binds the source to its kind of rule. */
const activateIn = <Source extends keyof RuleBySource>(
  sources: RuleSources<Source>,
  rule: RuleOf<Source>,
  notification: Notification,
  now: number,
): ActiveRule => sources[rule.source].activate(notification, rule, now);
