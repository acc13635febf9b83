import type { IncidentRow } from '../storage/stores/incidents.ts';
import { type ConditionChanges, changesOf } from './incidents/condition-changes.ts';
import type { Notification } from './notification.ts';
import { keyParts } from './subjects.ts';

/** What a transition uses of its notification, also of one that is no longer in the configuration. */
export interface RuleOrigin
  extends Pick<Notification, 'id' | 'condition' | 'windowMs' | 'fingerprint' | 'grouping' | 'targetConfigs'> {
  readonly subjectKind: Notification['subjectKind'] | 'target';
  /** Its own settings as far as they are known: events show some of them. */
  readonly settings: Pick<Notification['settings'], 'severity'> & Partial<Notification['settings']>;
}

/** An open incident in the memory of the engine. */
export interface OpenIncident {
  readonly row: IncidentRow;
  /** Since when this process has observed it, on the observed clock. */
  readonly observedSince: number;
  /** When it was last notified, on the monotonic clock. */
  readonly notifiedAt: number;
  readonly changes: ConditionChanges;
  /** Since when it is not known whether its condition is met, in observed time; undefined while it is known. */
  readonly unknownSince?: number;
}

/** What memory holds of an incident of the store. */
export const openIncident = (
  row: IncidentRow,
  times: Pick<OpenIncident, 'observedSince' | 'notifiedAt'>,
): OpenIncident => ({ row, ...times, changes: changesOf(row) });

/** The open incidents of one notification. */
export interface RuleState {
  readonly origin: RuleOrigin;
  /** Ids of the targets that get its firing events. */
  readonly targets: readonly string[];
  /** By subject. */
  readonly incidents: Map<string, OpenIncident>;
  /** Subjects whose transition is being written, with a promise of its end. */
  readonly writing: Map<string, Promise<unknown>>;
}

/** Ids of the targets that were sent a firing event of the incident. */
export function notifiedTargets(incident: IncidentRow): readonly string[] {
  const notified: unknown = JSON.parse(incident.notified);
  return Array.isArray(notified) ? notified.filter(id => typeof id === 'string') : [];
}

/** Kinds whose keys begin with the pipeline, or with `*` in its place. */
const KEYED_BY_PIPELINE: ReadonlySet<RuleOrigin['subjectKind']> = new Set([
  'input',
  'output',
  'either',
  'target',
]);

/** The name of a subject in events, by its key. */
export const subjectNameOf = (kind: RuleOrigin['subjectKind'], key: string): string =>
  KEYED_BY_PIPELINE.has(kind) ? keyParts(key).name : key;

/** Subjects that a text names; the rest is counted. */
const MOST_NAMED = 3;

/** The names of some subjects that have an open incident, beside this one. */
export function otherSubjects({ incidents, origin }: RuleState, key: string): readonly string[] {
  const names: string[] = [];
  for (const other of incidents.keys()) {
    if (names.length === MOST_NAMED) break;
    if (other !== key) names.push(subjectNameOf(origin.subjectKind, other));
  }
  return names;
}
