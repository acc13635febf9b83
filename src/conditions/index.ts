import type { ComponentCondition, ComponentRule } from './condition.ts';
import { licenseExpiration } from './license-expiration.ts';
import { monitorAlerts } from './monitor-alerts.ts';
import { noData } from './no-data.ts';
import type { PostedCondition, PostedRule } from './posted.ts';
import { search } from './search.ts';

/** A kind of rule. Its source says who finds out: Headgate, which looks at components, or whoever posts events. */
export type Condition = ComponentCondition | PostedCondition;

/** A condition with its conf. */
export type Rule = ComponentRule | PostedRule;

/** Every condition there is. */
export const conditions: readonly Condition[] = [noData, licenseExpiration, search, monitorAlerts];

export const findCondition = (id: string): Condition | undefined =>
  conditions.find(condition => condition.id === id);
