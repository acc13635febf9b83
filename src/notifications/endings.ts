import { findCondition } from '../conditions/index.ts';
import type { Notification } from './notification.ts';
import { keyParts } from './subjects.ts';
import type { Origin } from './transition.ts';

/** Why incidents of the notification must close; undefined when it goes on. */
export function whyEnded(before: Notification, after: Notification | undefined): string | undefined {
  if (after === undefined) return 'the notification was removed';
  if (after.disabled) return 'the notification was disabled';
  return after.fingerprint === before.fingerprint ? undefined : 'the notification was changed';
}

/** What subjects of a condition are, of which nothing else is known any more. */
export function kindOf(conditionId: string): Origin['kind'] {
  const condition = findCondition(conditionId);
  if (condition === undefined) return 'input';
  return condition.source === 'posted' || condition.source === 'beat' ? 'key' : condition.kind;
}

/** What has the pipeline in the keys of its subjects, or `*` in its place. */
const KEYED_BY_PIPELINE: ReadonlySet<Origin['kind']> = new Set(['input', 'output', 'either', 'target']);

/** What a subject is called, by its key. */
export const nameIn = (kind: Origin['kind'], key: string): string =>
  KEYED_BY_PIPELINE.has(kind) ? keyParts(key).name : key;
