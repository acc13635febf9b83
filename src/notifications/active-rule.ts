import type { ComponentRule, Subject } from '../conditions/condition.ts';
import type { ExpiryRule } from '../conditions/expiration.ts';
import type { ExternalRule } from '../conditions/external.ts';
import type { HeartbeatRule } from '../conditions/heartbeat.ts';
import { findCondition } from '../conditions/index.ts';
import type { PipelineRule } from '../conditions/unreachable.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import type { Notification } from './notification.ts';
import {
  compileGlob,
  createNameMatcher,
  declaredKey,
  declaredSubject,
  isExact,
  keyParts,
  type SubjectTable,
  subjectReader,
} from './subjects.ts';
import type { RuleOrigin } from './transition.ts';

/** An open incident as the engine holds it. */
export interface OpenIncident {
  readonly row: IncidentRow;
  /** Since when this process has watched it, on the monotonic clock. */
  readonly observedSince: number;
  /** When it was last told, on the monotonic clock. */
  readonly notifiedAt: number;
}

/** The open incidents of one notification. */
export interface RuleState {
  readonly origin: RuleOrigin;
  /** Ids of the targets that get its firing events. */
  readonly targets: readonly string[];
  /** By subject. */
  readonly incidents: Map<string, OpenIncident>;
  /** Subjects whose transition is on its way to the disk, with its end. */
  readonly writing: Map<string, Promise<unknown>>;
}

/** A notification in force. */
export type ActiveRule =
  | ActiveComponentRule
  | ActivePipelineRule
  | ActiveExpiryRule
  | ActiveExternalRule
  | ActiveHeartbeatRule;

/** One that is evaluated. */
export interface ActiveEvaluatedRule extends RuleState {
  readonly notification: Notification;
  /** Since when the condition holds on subjects that have no incident yet, on the monotonic clock. */
  readonly pendingSince: Map<string, number>;
}

/** One on pipelines. */
export interface ActivePipelineRule extends ActiveEvaluatedRule {
  readonly source: 'pipeline';
  readonly rule: PipelineRule;
  readonly matchesName: (id: string) => boolean;
}

/** One on what expires. */
export interface ActiveExpiryRule extends ActiveEvaluatedRule {
  readonly source: 'fact';
  readonly rule: ExpiryRule;
  readonly matchesName: (key: string) => boolean;
}

/** One on components. */
export interface ActiveComponentRule extends ActiveEvaluatedRule {
  readonly source: 'component';
  readonly rule: ComponentRule;
  /** When subjects were last seen to be disabled, on the monotonic clock. */
  readonly disabledAt: Map<string, number>;
  /** Subjects whose transition waits for its turn among many. */
  readonly queued: Set<string>;
  /** Until when its exact name had a component, or since when it is declared, on the monotonic clock. */
  unmatchedSince: number;
  /** Whom it was last asked about, and until when, on the monotonic clock, nobody has to ask again. */
  subjects: readonly Subject[];
  okUntil: Float64Array;
  readonly read: (table: SubjectTable) => readonly Subject[];
}

/** One on posted events, which waits for them. */
export interface ActiveExternalRule extends RuleState {
  readonly source: 'posted';
  readonly notification: Notification;
  readonly rule: ExternalRule;
  /** Subjects whose reminder is being prepared. */
  readonly reminding: Set<string>;
}

/** One on heartbeats, which are missed when they do not come. */
export interface ActiveHeartbeatRule extends RuleState {
  readonly source: 'beat';
  readonly notification: Notification;
  readonly rule: HeartbeatRule;
  /** Since when they are waited for, on the monotonic clock. */
  readonly waitingSince: number;
  readonly matches: (key: string) => boolean;
  /** Those that are waited for. */
  readonly expected: Set<string>;
}

export function activateRule(notification: Notification, now: number): ActiveRule {
  const { rule } = notification;
  const ruleState = {
    notification,
    origin: originOf(notification),
    targets: notification.targets,
    incidents: new Map(),
    writing: new Map(),
  };
  if (rule.source === 'posted') return { ...ruleState, source: 'posted', rule, reminding: new Set() };
  if (rule.source === 'beat') {
    const { name } = rule.conf;
    const expected = isExact(rule.conf) ? [name] : [];
    return {
      ...ruleState,
      source: 'beat',
      rule,
      waitingSince: now,
      matches: compileGlob(name),
      expected: new Set(expected),
    };
  }
  const evaluated = { ...ruleState, pendingSince: new Map() };
  if (rule.source === 'pipeline')
    return { ...evaluated, source: 'pipeline', rule, matchesName: createNameMatcher(rule.conf) };
  if (rule.source === 'fact')
    return { ...evaluated, source: 'fact', rule, matchesName: createNameMatcher(rule.conf) };
  return {
    ...evaluated,
    source: 'component',
    rule,
    disabledAt: new Map(),
    queued: new Set(),
    unmatchedSince: now,
    subjects: [],
    okUntil: new Float64Array(0),
    read: subjectReader(rule.conf, rule.kind),
  };
}

/** The same watch after an edit that leaves condition and conf alone: only later messages change. */
export const updateRule = (active: ActiveRule, notification: Notification): ActiveRule => ({
  ...active,
  notification,
  origin: originOf(notification),
  targets: notification.targets,
});

function originOf(notification: Notification): RuleOrigin {
  const { rule } = notification;
  return {
    notification: notification.id,
    condition: rule.condition.id,
    kind: subjectKindOf(rule),
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

function subjectKindOf(rule: Notification['rule']): RuleOrigin['kind'] {
  if (rule.source === 'posted' || rule.source === 'beat') return 'key';
  return rule.source === 'component' ? rule.kind : rule.condition.kind;
}

function targetConfigsOf({ settings }: Notification): RuleOrigin['targetConfigs'] {
  const configured = settings.targetConfigs.filter(({ conf }) => conf !== undefined);
  // As the store gives it back: an event that is sent from memory is no other.
  return configured.length === 0
    ? undefined
    : JSON.parse(JSON.stringify(Object.fromEntries(configured.map(({ id, conf }) => [id, conf]))));
}

/** Whom to ask about now. What is no longer among them is not held against anybody who comes later. */
export function subjectsOf(
  active: ActiveComponentRule,
  table: SubjectTable,
  now: number,
): readonly Subject[] {
  const found = active.read(table);
  const subjects = isExact(active.rule.conf) ? exactSubjects(active, found, now) : found;
  const timesByKey = [active.pendingSince, active.disabledAt];
  if (subjects !== active.subjects && timesByKey.some(({ size }) => size > 0)) {
    const keys = new Set(subjects.map(subject => subject.key));
    for (const times of timesByKey) for (const key of times.keys()) if (!keys.has(key)) times.delete(key);
  }
  if (subjects !== active.subjects) active.okUntil = new Float64Array(subjects.length);
  active.subjects = subjects;
  return subjects;
}

/**
 * An exact name that no component has is a subject itself. When a component of that name appears while the name's own
 * incident is open, that incident goes on with the component instead of a second one.
 */
function exactSubjects(
  active: ActiveComponentRule,
  found: readonly Subject[],
  now: number,
): readonly Subject[] {
  const { conf } = active.rule;
  const keyOfName = declaredKey(conf);
  const isDeclaredOpen = active.incidents.has(keyOfName);
  const [first, ...others] = found;
  const waitsForComponent = first === undefined && active.incidents.size > 0 && !isDeclaredOpen;
  if (first !== undefined || waitsForComponent) active.unmatchedSince = now;
  if (first !== undefined) return isDeclaredOpen ? [{ ...first, key: keyOfName }, ...others] : found;
  return waitsForComponent ? [] : [declaredSubject(conf, now - active.unmatchedSince)];
}

/** Why incidents of the notification must close; undefined when it goes on. */
export function whyEnded(before: Notification, after: Notification | undefined): string | undefined {
  if (after === undefined) return 'the notification was removed';
  if (after.disabled) return 'the notification was disabled';
  return after.fingerprint === before.fingerprint ? undefined : 'the notification was changed';
}

/** What subjects of a condition are, of which nothing else is known any more. */
export function subjectKindOfCondition(conditionId: string): RuleOrigin['kind'] {
  const condition = findCondition(conditionId);
  if (condition === undefined) return 'input';
  return condition.source === 'posted' || condition.source === 'beat' ? 'key' : condition.kind;
}

/** What has the pipeline in the keys of its subjects, or `*` in its place. */
const KEYED_BY_PIPELINE: ReadonlySet<RuleOrigin['kind']> = new Set(['input', 'output', 'either', 'target']);

/** What a subject is called, by its key. */
export const subjectNameOf = (kind: RuleOrigin['kind'], key: string): string =>
  KEYED_BY_PIPELINE.has(kind) ? keyParts(key).name : key;
