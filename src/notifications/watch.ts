import type { ComponentRule, Subject } from '../conditions/condition.ts';
import type { FactRule } from '../conditions/fact.ts';
import type { HeartbeatRule } from '../conditions/heartbeat.ts';
import type { PipelineRule } from '../conditions/pipeline.ts';
import type { PostedRule } from '../conditions/posted.ts';
import type { IncidentRow } from '../storage/storage.ts';
import type { Notification } from './notification.ts';
import { type SubjectTable, subjectReader } from './subject-table.ts';
import { declaredKey, declaredSubject, isExact, nameMatcher, pattern } from './subjects.ts';
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
  /** Subjects whose transition is on its way to the disk, with its end. */
  readonly writing: Map<string, Promise<unknown>>;
}

/** A notification in force. */
export type Watch = ComponentWatch | PipelineWatch | FactWatch | PostedWatch | BeatWatch;

/** One that is evaluated. */
export interface EvaluatedWatch extends Book {
  readonly notification: Notification;
  /** Since when the condition holds on subjects that have no incident yet, on the monotonic clock. */
  readonly holding: Map<string, number>;
}

/** One on pipelines. */
export interface PipelineWatch extends EvaluatedWatch {
  readonly source: 'pipeline';
  readonly rule: PipelineRule;
  readonly isNamed: (id: string) => boolean;
}

/** One on what expires. */
export interface FactWatch extends EvaluatedWatch {
  readonly source: 'fact';
  readonly rule: FactRule;
  readonly isNamed: (key: string) => boolean;
}

/** One on components. */
export interface ComponentWatch extends EvaluatedWatch {
  readonly source: 'component';
  readonly rule: ComponentRule;
  /** When subjects were last seen to be disabled, on the monotonic clock. */
  readonly rested: Map<string, number>;
  /** Subjects whose transition waits for its turn among many. */
  readonly pending: Set<string>;
  /** Until when its exact name had a component, or since when it is declared, on the monotonic clock. */
  unmatchedSince: number;
  /** Whom it was last asked about, and until when, on the monotonic clock, nobody has to ask again. */
  subjects: readonly Subject[];
  calmUntil: Float64Array;
  readonly read: (table: SubjectTable) => readonly Subject[];
}

/** One on posted events, which waits for them. */
export interface PostedWatch extends Book {
  readonly source: 'posted';
  readonly notification: Notification;
  readonly rule: PostedRule;
  /** Subjects whose reminder is being prepared. */
  readonly reminding: Set<string>;
}

/** One on heartbeats, which are missed when they do not come. */
export interface BeatWatch extends Book {
  readonly source: 'beat';
  readonly notification: Notification;
  readonly rule: HeartbeatRule;
  /** Since when they are waited for, on the monotonic clock. */
  readonly since: number;
  readonly isMeant: (key: string) => boolean;
  /** Those that are waited for. */
  readonly names: Set<string>;
}

export function createWatch(notification: Notification, now: number): Watch {
  const { rule } = notification;
  const book = {
    notification,
    origin: originOf(notification),
    targets: notification.targets,
    incidents: new Map(),
    writing: new Map(),
  };
  if (rule.source === 'posted') return { ...book, source: 'posted', rule, reminding: new Set() };
  if (rule.source === 'beat') {
    const { name } = rule.conf;
    const names = isExact(rule.conf) ? [name] : [];
    return { ...book, source: 'beat', rule, since: now, isMeant: pattern(name), names: new Set(names) };
  }
  const evaluated = { ...book, holding: new Map() };
  if (rule.source === 'pipeline')
    return { ...evaluated, source: 'pipeline', rule, isNamed: nameMatcher(rule.conf) };
  if (rule.source === 'fact') return { ...evaluated, source: 'fact', rule, isNamed: nameMatcher(rule.conf) };
  return {
    ...evaluated,
    source: 'component',
    rule,
    rested: new Map(),
    pending: new Set(),
    unmatchedSince: now,
    subjects: [],
    calmUntil: new Float64Array(0),
    read: subjectReader(rule.conf, rule.kind),
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
  const { rule } = notification;
  return {
    notification: notification.id,
    condition: rule.condition.id,
    kind: kindIn(rule),
    windowMs: windowOf(rule),
    severity: notification.severity,
    fingerprint: notification.fingerprint,
    grouping: notification.grouping,
    description: notification.description,
    runbookUrl: notification.runbookUrl,
    metadata: notification.metadata,
    targetConfigs: targetConfigsOf(notification),
  };
}

const windowOf = (rule: Notification['rule']): number =>
  rule.source === 'posted' || rule.source === 'fact' ? 0 : rule.conf.timeWindow.ms;

function kindIn(rule: Notification['rule']): Origin['kind'] {
  if (rule.source === 'posted' || rule.source === 'beat') return 'key';
  return rule.source === 'component' ? rule.kind : rule.condition.kind;
}

function targetConfigsOf({ settings }: Notification): Origin['targetConfigs'] {
  const told = settings.targetConfigs.filter(({ conf }) => conf !== undefined);
  // As the store gives it back: an event that is sent from memory is no other.
  return told.length === 0
    ? undefined
    : JSON.parse(JSON.stringify(Object.fromEntries(told.map(({ id, conf }) => [id, conf]))));
}

/** Whom to ask about now. What is no longer among them is not held against anybody who comes later. */
export function subjectsOf(watch: ComponentWatch, table: SubjectTable, now: number): readonly Subject[] {
  const found = watch.read(table);
  const subjects = isExact(watch.rule.conf) ? exactSubjects(watch, found, now) : found;
  const remembered = [watch.holding, watch.rested];
  if (subjects !== watch.subjects && remembered.some(({ size }) => size > 0)) {
    const keys = new Set(subjects.map(subject => subject.key));
    for (const times of remembered) for (const key of times.keys()) if (!keys.has(key)) times.delete(key);
  }
  if (subjects !== watch.subjects) watch.calmUntil = new Float64Array(subjects.length);
  watch.subjects = subjects;
  return subjects;
}

/**
 * An exact name that no component has is a subject itself. When a component of that name appears while the name's own
 * incident is open, that incident goes on with the component instead of a second one.
 */
function exactSubjects(watch: ComponentWatch, found: readonly Subject[], now: number): readonly Subject[] {
  const { conf } = watch.rule;
  const ownKey = declaredKey(conf);
  const hasOwn = watch.incidents.has(ownKey);
  const [first, ...others] = found;
  const waitsForComponent = first === undefined && watch.incidents.size > 0 && !hasOwn;
  if (first !== undefined || waitsForComponent) watch.unmatchedSince = now;
  if (first !== undefined) return hasOwn ? [{ ...first, key: ownKey }, ...others] : found;
  return waitsForComponent ? [] : [declaredSubject(conf, now - watch.unmatchedSince)];
}
