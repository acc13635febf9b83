import type { Description, Subject } from '../../conditions/condition.ts';
import type { ConditionChanges } from './condition-changes.ts';
import type { StateChange } from './incidents.ts';

/**
 * A change that an evaluation found and that is to be written. `keep`: the condition is not met any more, and the alarm
 * is kept; `resume`: it is met again before the alarm has ended. Nobody is notified of these two.
 */
export interface EvaluatedChange<Evaluated = Subject> {
  readonly subject: Evaluated;
  readonly status: 'ALARM' | 'OK';
  readonly decision: 'open' | 'repeat' | 'keep' | 'resume' | 'close';
  readonly describe: () => Description;
  readonly changes: ConditionChanges;
}

/** What is written of it. */
export const stateChangeOf = <Evaluated extends StateChange['subject']>({
  subject,
  status,
  decision,
  describe,
  changes,
}: EvaluatedChange<Evaluated>): StateChange => ({
  subject,
  status,
  description: describe(),
  changes,
  isKept: decision === 'keep' || decision === 'resume',
  isReminder: decision === 'repeat',
});
