import type { Subject } from '../conditions/condition.ts';
import type { Components } from '../pipelines/component.ts';
import type { IncidentRow } from '../storage/storage.ts';
import type { Notification } from './notification.ts';
import { declaredKey, declaredSubject, isExact, subjectReader } from './subjects.ts';
import type { Origin } from './transition.ts';

/** An open incident as the engine holds it. */
export interface OpenIncident {
  readonly row: IncidentRow;
  /** Since when this process has watched it, on the monotonic clock. */
  readonly watchedSince: number;
  /** When it was last told, on the monotonic clock. */
  readonly toldAt: number;
}

/** The open incidents of one notification. */
export interface Book {
  readonly origin: Origin;
  /** Ids of the targets that get its firing events. */
  readonly targets: readonly string[];
  /** By subject. */
  readonly incidents: Map<string, OpenIncident>;
  /** Subjects whose transition is on its way to the disk. */
  readonly writing: Set<string>;
}

/** A notification under evaluation. */
export interface Watch extends Book {
  readonly notification: Notification;
  /** Since when the condition holds on subjects that have no incident yet, on the monotonic clock. */
  readonly holding: Map<string, number>;
  /** When the name was declared, on the monotonic clock. */
  readonly declaredAt: number;
  readonly read: (components: Components) => readonly Subject[];
}

export function createWatch(notification: Notification, now: number): Watch {
  return {
    notification,
    origin: originOf(notification),
    targets: notification.targets,
    incidents: new Map(),
    writing: new Set(),
    holding: new Map(),
    declaredAt: now,
    read: subjectReader(notification.rule.conf, notification.rule.condition.kind),
  };
}

/** The same watch after an edit that leaves condition and conf alone: only later messages change. */
export const edited = (watch: Watch, notification: Notification): Watch => ({
  ...watch,
  notification,
  origin: originOf(notification),
  targets: notification.targets,
});

function originOf(notification: Notification): Origin {
  const { condition, conf } = notification.rule;
  return {
    notification: notification.id,
    condition: condition.id,
    kind: condition.kind,
    windowMs: conf.timeWindow.ms,
    severity: notification.severity,
    fingerprint: notification.fingerprint,
    description: notification.description,
    runbookUrl: notification.runbookUrl,
  };
}

/**
 * Whom to ask about now. An exact name that no component has is a subject itself. When a component of that name
 * appears while the name's own incident is open, that incident goes on with the component instead of a second one.
 */
export function subjectsOf(watch: Watch, components: Components, now: number): readonly Subject[] {
  const { conf } = watch.notification.rule;
  const found = watch.read(components);
  if (!isExact(conf)) return found;
  const ownKey = declaredKey(conf);
  const hasOwn = watch.incidents.has(ownKey);
  const [first, ...others] = found;
  if (first !== undefined) return hasOwn ? [{ ...first, key: ownKey }, ...others] : found;
  const waitsForComponent = watch.incidents.size > 0 && !hasOwn;
  return waitsForComponent ? [] : [declaredSubject(conf, now - watch.declaredAt)];
}
