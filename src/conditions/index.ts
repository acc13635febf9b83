import type { Condition } from './condition.ts';
import { noData } from './no-data.ts';

/** Every condition there is. */
export const conditions: readonly Condition[] = [noData];

export const findCondition = (id: string): Condition | undefined =>
  conditions.find(condition => condition.id === id);
