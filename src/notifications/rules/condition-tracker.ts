import type { Description, Verdict } from '../../conditions/condition.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import {
  type ConditionChanges,
  changesAfter,
  changesAtOpening,
  changesOf,
  type EndSettings,
  keepMsOf,
  NO_CHANGES,
} from '../incidents/condition-changes.ts';
import type { EvaluatedChange } from '../incidents/evaluated-change.ts';
import type { Incidents } from '../incidents/incidents.ts';
import type { ObservedTime } from '../incidents/observed-time.ts';
import type { Notification } from '../notification.ts';
import type { OpenIncident, RuleState } from '../rule-state.ts';

/** Subjects without an incident whose last changes are kept; then those are forgotten whose window is over. */
const MAX_REMEMBERED = 10_000;

export interface ConditionTrackerOptions {
  readonly incidents: Incidents;
  readonly observedTime: Pick<ObservedTime, 'now'>;
}

type Decided = EvaluatedChange['decision'];
type Ending = Pick<Notification, 'id' | 'end'>;

/** Follows how conditions change between met and not met, and what that means for the end of alarms. */
export class ConditionTracker {
  readonly #options: ConditionTrackerOptions;
  /** The last changes of subjects without an incident, by notification and subject; only where flapping is looked for. */
  readonly #last = new Map<string, Map<string, readonly number[]>>();

  constructor(options: ConditionTrackerOptions) {
    this.#options = options;
  }

  /** The open incident of a subject after a verdict: time in which nothing is known is none in which it was not met. */
  follow(rule: RuleState, key: string, { state }: Verdict): OpenIncident | undefined {
    const incident = rule.incidents.get(key);
    if (incident === undefined || incident.changes.unmetSince === null) return incident;
    const { unknownSince, ...known } = incident;
    if ((state === 'unknown') === (unknownSince !== undefined)) return incident;
    const now = this.#options.observedTime.now();
    const unmetSince = incident.changes.unmetSince + now - (unknownSince ?? now);
    const followed: OpenIncident =
      state === 'unknown'
        ? { ...incident, unknownSince: now }
        : { ...known, changes: { ...incident.changes, unmetSince } };
    rule.incidents.set(key, followed);
    return followed;
  }

  /** For how long the condition was not met, and for how long it must not be, in milliseconds. */
  endOf(
    { end }: Ending,
    incident: OpenIncident | undefined,
  ): { unmetMs: number | undefined; keepMs: number } {
    if (incident === undefined || (!mayKeep(end) && incident.changes.unmetSince === null))
      return { unmetMs: undefined, keepMs: 0 };
    const { incidents, observedTime } = this.#options;
    const now = observedTime.now();
    const { changes, row } = incident;
    const isUnmet = changes.unmetSince !== null;
    const keepMs = keepMsOf(isUnmet ? changes : changesAfter(changes, false, now, end.flapping), end);
    return {
      unmetMs: changes.unmetSince === null ? undefined : now - changes.unmetSince,
      // Nobody knows of an alarm that is inhibited, so there is nothing to keep.
      keepMs: keepMs > 0 && incidents.isInhibited(row) ? 0 : keepMs,
    };
  }

  /** The changes of a subject after the decision. */
  changesAfter(
    { id, end }: Ending,
    key: string,
    decision: Decided,
    incident: OpenIncident | undefined,
  ): ConditionChanges {
    if (!mayKeep(end) && (incident?.changes.unmetSince ?? null) === null) return NO_CHANGES;
    const { flapping } = end;
    const before = incident?.changes ?? NO_CHANGES;
    if (decision === 'repeat' || (decision === 'close' && before.unmetSince !== null)) {
      if (decision === 'close') this.#remember(id, key, before, end);
      return before;
    }
    const now = this.#options.observedTime.now();
    if (decision === 'open') return changesAtOpening(this.#last.get(id)?.get(key) ?? [], now, flapping);
    const after = changesAfter(before, decision === 'resume', now, flapping);
    if (decision === 'close') this.#remember(id, key, after, end);
    return after;
  }

  /** Takes over the changes of incidents that have closed, the latest first. */
  restore(notification: Ending, closed: readonly IncidentRow[]): void {
    for (const row of closed.toReversed())
      this.#remember(notification.id, row.subject, changesOf(row), notification.end);
  }

  /** Forgets the subjects of all notifications but these. */
  keep(remaining: ReadonlyMap<string, unknown>): void {
    for (const id of this.#last.keys()) if (!remaining.has(id)) this.#last.delete(id);
  }

  #remember(id: string, key: string, { last }: ConditionChanges, { flapping }: EndSettings): void {
    if (flapping === undefined) return;
    let subjects = this.#last.get(id);
    if (subjects === undefined) {
      subjects = new Map();
      this.#last.set(id, subjects);
    }
    subjects.set(key, last);
    if (subjects.size <= MAX_REMEMBERED) return;
    const since = this.#options.observedTime.now() - flapping.windowMs;
    for (const [subject, changes] of subjects)
      if (subject !== key && (changes.at(-1) ?? 0) <= since) subjects.delete(subject);
  }
}

const mayKeep = ({ keepFiringMs, flapping }: EndSettings): boolean =>
  keepFiringMs > 0 || flapping !== undefined;

/** What a change says of itself, with how its alarm ends where that is not at once. */
export function describeWithEnd(
  { text, fields, ...rest }: Description,
  { decision, changes, keepMs }: Pick<EvaluatedChange, 'decision' | 'changes'> & { readonly keepMs: number },
): Description {
  const { flapping } = changes;
  const flaps = flapping === null ? {} : { flapping: true, changes: flapping };
  return { ...rest, text: `${text}${suffixOf(decision, flapping, keepMs)}`, fields: { ...fields, ...flaps } };
}

function suffixOf(decision: Decided, changes: number | null, keepMs: number): string {
  if (decision === 'keep')
    return changes === null
      ? `; the alarm stays for ${formatDuration(keepMs)}`
      : `; flapping, ${changes} changes: the alarm stays until ${formatDuration(keepMs)} went by without one`;
  if (changes === null) return '';
  return decision === 'close' ? ` (flapped, ${changes} changes)` : ` (flapping, ${changes} changes)`;
}
