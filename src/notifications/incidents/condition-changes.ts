import type { IncidentRow } from '../../storage/stores/incidents.ts';

/**
 * How the condition of an incident has changed between met and not met. Times are observed time of the workspace: see
 * `observed-time.ts`.
 */
export interface ConditionChanges {
  /** Since when the condition is not met although the incident is open; null while it is met. */
  readonly unmetSince: number | null;
  /** How many changes there were since it began to flap, those that made it so included; null while it does not flap. */
  readonly flapping: number | null;
  /** When it changed last, the oldest first; empty where nobody looks for flapping. */
  readonly last: readonly number[];
}

/** When a condition flaps: after more than `threshold` changes within `windowMs`. */
export interface Flapping {
  readonly threshold: number;
  readonly windowMs: number;
}

/** What a notification says of the end of its alarms. */
export interface EndSettings {
  readonly keepFiringMs: number;
  /** Undefined where no flapping is looked for. */
  readonly flapping: Flapping | undefined;
}

export const NO_CHANGES: ConditionChanges = { unmetSince: null, flapping: null, last: [] };

/** The changes that are remembered: one more than the threshold is enough to know that it is passed. */
const withChange = (
  last: readonly number[],
  now: number,
  flapping: Flapping | undefined,
): readonly number[] =>
  flapping === undefined
    ? []
    : [...last.filter(at => now - at < flapping.windowMs), now].slice(-(flapping.threshold + 1));

/** After an incident opens at `now`; `last` are the changes of the incidents of the subject before. */
export function changesAtOpening(
  last: readonly number[],
  now: number,
  flapping: Flapping | undefined,
): ConditionChanges {
  const all = withChange(last, now, flapping);
  const flaps = flapping !== undefined && all.length > flapping.threshold;
  return { unmetSince: null, flapping: flaps ? all.length : null, last: all };
}

/** After the condition of an open incident changed at `now`. It flaps no more once a whole window went by without a change. */
export function changesAfter(
  before: ConditionChanges,
  isMet: boolean,
  now: number,
  flapping: Flapping | undefined,
): ConditionChanges {
  const flaps = isFlapping(before, now, flapping);
  return {
    unmetSince: isMet ? null : now,
    flapping: flaps ? (before.flapping ?? 0) + 1 : null,
    last: withChange(before.last, now, flapping),
  };
}

function isFlapping(
  { flapping: count, last }: ConditionChanges,
  now: number,
  settings: Flapping | undefined,
) {
  if (count === null || settings === undefined) return false;
  const changedAt = last.at(-1);
  return changedAt === undefined || now - changedAt < settings.windowMs;
}

/** How long the condition must not be met before the incident closes, in milliseconds. */
export const keepMsOf = (changes: ConditionChanges, { keepFiringMs, flapping }: EndSettings): number =>
  Math.max(keepFiringMs, changes.flapping !== null && flapping !== undefined ? flapping.windowMs : 0);

/** The columns of an incident that keep them. */
export const changeColumns = ({
  unmetSince,
  flapping,
  last,
}: ConditionChanges): Pick<IncidentRow, 'unmet_since' | 'flapping_changes' | 'last_changes'> => ({
  unmet_since: unmetSince,
  flapping_changes: flapping,
  last_changes: last.length === 0 ? null : JSON.stringify(last),
});

export function changesOf(row: IncidentRow): ConditionChanges {
  const { unmet_since: unmetSince, flapping_changes: flapping, last_changes } = row;
  if (unmetSince === null && flapping === null && last_changes === null) return NO_CHANGES;
  const last: unknown = JSON.parse(last_changes ?? '[]');
  return {
    unmetSince,
    flapping,
    last: Array.isArray(last) ? last.filter(at => typeof at === 'number') : [],
  };
}

/** The latest of its times. */
export const latestChange = ({ unmetSince, last }: ConditionChanges): number =>
  Math.max(unmetSince ?? 0, last.at(-1) ?? 0);
