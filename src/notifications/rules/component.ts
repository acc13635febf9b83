import type { ComponentRule, Subject } from '../../conditions/condition.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Component, Components } from '../../pipelines/components/component.ts';
import type { ComponentKind } from '../../pipelines/metric.ts';
import { MAX_CLOSED_AT_ONCE } from '../incidents/closing.ts';
import type { EvaluatedChange } from '../incidents/evaluated-change.ts';
import { type FloodRule, type FloodSummaries, IncidentFloodSummaries } from '../incidents/flood-summary.ts';
import type { Incidents } from '../incidents/incidents.ts';
import type { Notification } from '../notification.ts';
import {
  createComponentMatcher,
  createSubjectTable,
  declaredKey,
  declaredSubject,
  isExact,
  keyParts,
  kindAmongEither,
  namesOf,
  type SubjectTable,
  subjectAmongEither,
  subjectOf,
  subjectReader,
} from '../subjects.ts';
import type { Evaluator } from './evaluation.ts';
import {
  type ActiveRule,
  activeRuleFields,
  EVALUATIONS_AT_ONCE,
  type Evaluation,
  type ExplainableSubject,
  type RuleSource,
} from './rule-source.ts';

/** The subjects of a rule, with the times of their states. */
interface SubjectState {
  readonly rule: ComponentRule;
  /** Since when the condition holds on subjects that have no incident yet, on the observed clock. */
  readonly pendingSince: Map<string, number>;
  /** When subjects were last seen to be disabled, on the observed clock. */
  readonly disabledAt: Map<string, number>;
  /** When its exact name last had a component, or was declared, on the observed clock. */
  unmatchedSince: number;
  /** Its subjects at the last evaluation, and until when, on the observed clock, each needs none. */
  subjects: readonly Subject[];
  okUntil: Float64Array;
  readonly read: (table: SubjectTable) => readonly Subject[];
}

interface ActiveComponentRule extends ActiveRule, SubjectState, FloodRule {
  /** Why the incidents of components that a person removed must close, by subject, until they are. */
  readonly removed: Map<string, string>;
}

export interface ComponentRulesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly components: Components;
  readonly incidents: Incidents;
  readonly evaluator: Evaluator;
  /**
   * True for a subject that is expected to be idle, so that no condition is evaluated on it. By default no subject is.
   */
  readonly isDisabled?: (kind: ComponentKind, subject: Subject) => boolean;
}

/** Rules on components. Their alarms may come in floods, and are inhibited while the pipeline is unreachable. */
export class ComponentRules implements RuleSource<ComponentRule> {
  readonly #options: ComponentRulesOptions;
  readonly #rules = new Map<string, ActiveComponentRule>();
  readonly #table: SubjectTable;
  readonly #floods: FloodSummaries;
  readonly #retained: (component: Component) => boolean;
  /** By pipeline: true when it is in the configuration, as far as this evaluation has looked. */
  readonly #isConfigured = new Map<string, boolean>();
  #isStopped = false;

  constructor(options: ComponentRulesOptions) {
    this.#options = options;
    this.#table = createSubjectTable(options.components);
    this.#floods = new IncidentFloodSummaries({
      ...options,
      isInactive: rule =>
        this.#isStopped || this.#rules.get(rule.notification.id)?.incidents !== rule.incidents,
    });
    this.#retained = createRetention(options.clock, this.#rules);
  }

  activate(notification: Notification, rule: ComponentRule, now: number): ActiveRule {
    const before = this.#rules.get(notification.id);
    const active: ActiveComponentRule = {
      ...(before ?? { ...createSubjectState(rule, now), queued: new Set(), removed: new Map() }),
      ...activeRuleFields(notification, before),
      inhibits: false,
      inhibitionGraceMs: rule.inhibitionGraceMs,
      isResolving: (pipeline, inhibited) => this.#floods.isResolving(active, pipeline, inhibited),
      evaluate: at => this.#evaluate(active, at),
      explainable: at => this.#explainable(active, at),
      deactivate: () => void this.#rules.delete(notification.id),
    };
    this.#rules.set(notification.id, active);
    return active;
  }

  refresh(): void {
    this.#isConfigured.clear();
    this.#table.refresh();
  }

  retains(component: Component): boolean {
    return this.#retained(component);
  }

  async componentRemoved(component: Component): Promise<void> {
    this.#table.refresh();
    const closing: Promise<unknown>[] = [];
    for (const active of this.#rules.values())
      for (const key of keysOf(active, component, active.read(this.#table).length === 0)) {
        if (!active.incidents.has(key)) continue;
        active.removed.set(key, `the ${component.kind} was removed`);
        closing.push(this.#closeWhenWritten(active, key));
      }
    await Promise.all(closing);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#floods.idle();
  }

  /** Notifies the changes of all subjects together, as many at once are a flood. */
  *#evaluate(active: ActiveComponentRule, now: number): Evaluation {
    const changes: EvaluatedChange[] = [];
    const subjects = subjectsOf(active, this.#table, now);
    const { okUntil } = active;
    let evaluated = 0;
    for (let at = 0; at < subjects.length; at++) {
      const subject = subjects[at];
      if (subject === undefined || this.#isIdle(active, subject, now) || now < (okUntil[at] ?? 0)) continue;
      if (++evaluated % EVALUATIONS_AT_ONCE === 0) yield;
      const change = this.#evaluateSubject(active, subject, now);
      okUntil[at] = typeof change === 'number' ? change : now;
      if (typeof change !== 'number') changes.push(change);
    }
    this.#floods.notify(
      active,
      changes.filter(change => isStillDue(active, change)),
    );
    this.#closeUnconfigured(active);
    this.#closeRemoved(active);
  }

  #explainable(active: ActiveComponentRule, now: number): readonly ExplainableSubject[] {
    const { components, evaluator } = this.#options;
    this.#table.refresh();
    // A copy, so that the next evaluation finds its own times.
    return subjectsOf({ ...active }, this.#table, now).map(subject =>
      evaluator.explainable(
        active,
        {
          subject,
          evaluate: open => {
            const reason = this.#whyIdle(active, subject, now);
            return reason === undefined
              ? active.rule.evaluate({ subject, components, open })
              : { state: 'unknown', reason };
          },
          explain: open => active.rule.explain({ subject, components, open }),
        },
        now,
      ),
    );
  }

  /** Why the condition is not evaluated on a subject; undefined where it is. */
  #whyIdle(active: ActiveComponentRule, subject: Subject, now: number): string | undefined {
    if (this.#isDisabled(active, subject)) return 'it is disabled, so that nothing is evaluated on it';
    const disabledAt = active.disabledAt.get(subject.key);
    return disabledAt !== undefined && now - disabledAt < active.rule.windowMs
      ? 'it was disabled within the last timeWindow, which is no evidence'
      : undefined;
  }

  #evaluateSubject(active: ActiveComponentRule, subject: Subject, now: number): EvaluatedChange | number {
    const { components, evaluator } = this.#options;
    if (active.queued.has(subject.key) || !isEnabled(active, subject.key, now)) return now;
    return evaluator.evaluateSubject(active, subject, now, open =>
      active.rule.evaluate({ subject, components, open }),
    );
  }

  /** True for a subject that is disabled, which is noted. */
  #isIdle(active: ActiveComponentRule, subject: Subject, now: number): boolean {
    const isDisabled = this.#isDisabled(active, subject);
    if (isDisabled) this.#recordDisabled(active, subject.key, now);
    return isDisabled;
  }

  /** Among inputs and outputs together, a name that was never seen may be either: then it is not taken for disabled. */
  #isDisabled({ rule }: ActiveComponentRule, subject: Subject): boolean {
    const kind = subject.component?.kind ?? rule.kind;
    return kind !== 'either' && this.#options.isDisabled?.(kind, subject) === true;
  }

  #recordDisabled(active: ActiveComponentRule, key: string, now: number): void {
    active.disabledAt.set(key, now);
    active.pendingSince.delete(key);
    if (!active.incidents.has(key)) return;
    const kind = active.rule.kind === 'either' ? kindAmongEither(key) : active.rule.kind;
    this.#options.evaluator.close(active, key, `the ${kind} was disabled`);
  }

  /** An alarm that is on its way to the disk comes first. */
  async #closeWhenWritten(active: ActiveComponentRule, key: string): Promise<void> {
    await active.writing.get(key);
    this.#closeRemoved(active);
    await active.writing.get(key);
  }

  /** Again and again until each is closed, as the disk may refuse. */
  #closeRemoved(active: ActiveComponentRule): void {
    for (const [key, reason] of active.removed)
      if (active.incidents.has(key)) this.#options.evaluator.close(active, key, reason);
      else if (!active.writing.has(key)) active.removed.delete(key);
  }

  /** Closes the incidents of a pipeline that was removed from the configuration: no reading will ever end them. */
  #closeUnconfigured(active: ActiveComponentRule): void {
    let closed = 0;
    for (const key of active.incidents.keys()) {
      const { pipeline } = keyParts(key);
      if (this.#hasPipeline(pipeline) || active.writing.has(key)) continue;
      this.#options.evaluator.close(active, key, whyEnded(pipeline));
      if (++closed === MAX_CLOSED_AT_ONCE) return;
    }
  }

  #hasPipeline(id: string): boolean {
    const known = this.#isConfigured.get(id);
    if (known !== undefined) return known;
    const isConfigured = id === '*' || this.#options.components.pipeline(id) !== undefined;
    this.#isConfigured.set(id, isConfigured);
    return isConfigured;
  }
}

/** Subjects that incidents of the rule on the component have; `isOnly` when no other component has the rule's name. */
function keysOf({ rule }: ActiveComponentRule, component: Component, isOnly: boolean): readonly string[] {
  const { conf, kind } = rule;
  if (!createComponentMatcher(conf, kind)(component)) return [];
  const subject = subjectOf(component);
  const { key } = kind === 'either' ? subjectAmongEither(subject) : subject;
  return isOnly && isExact(conf) ? [key, declaredKey(conf)] : [key];
}

const whyEnded = (pipeline: string): string => `pipeline ${pipeline} was removed from the configuration`;

export const createSubjectState = (rule: ComponentRule, now: number): SubjectState => ({
  rule,
  pendingSince: new Map(),
  disabledAt: new Map(),
  unmatchedSince: now,
  subjects: [],
  okUntil: new Float64Array(0),
  read: subjectReader(rule.conf, rule.kind),
});

/** False for what other work has settled between two slices of an evaluation. */
const isStillDue = (active: ActiveComponentRule, { subject: { key }, decision }: EvaluatedChange): boolean =>
  active.incidents.has(key) === (decision !== 'open') && !active.writing.has(key) && !active.queued.has(key);

/** False for a whole window after a subject was disabled: its data of that time is no evidence. */
function isEnabled(active: ActiveComponentRule, key: string, now: number): boolean {
  const disabledAt = active.disabledAt.get(key);
  if (disabledAt === undefined) return true;
  if (now - disabledAt < active.rule.windowMs) return false;
  active.disabledAt.delete(key);
  return true;
}

/**
 * Finds the subjects to evaluate now. Those that are gone lose their pending times: they do not count for a later one.
 */
export function subjectsOf(
  active: SubjectState & Pick<ActiveRule, 'incidents'>,
  table: SubjectTable,
  now: number,
): readonly Subject[] {
  const found = active.read(table);
  const subjects = isExact(active.rule.conf) ? exactSubjects(active, found, now) : found;
  if (subjects === active.subjects) return subjects;
  const timesByKey = [active.pendingSince, active.disabledAt];
  if (timesByKey.some(({ size }) => size > 0)) {
    const keys = new Set(subjects.map(subject => subject.key));
    for (const times of timesByKey) for (const key of times.keys()) if (!keys.has(key)) times.delete(key);
  }
  active.okUntil = okUntilOf(subjects, active);
  active.subjects = subjects;
  return subjects;
}

/** New subjects come last, so that those before them need no evaluation sooner. */
function okUntilOf(subjects: readonly Subject[], before: SubjectState): Float64Array {
  const okUntil = new Float64Array(subjects.length);
  for (let at = 0; at < subjects.length && subjects[at] === before.subjects[at]; at++)
    okUntil[at] = before.okUntil[at] ?? 0;
  return okUntil;
}

/**
 * Makes a subject of an exact name that no component has. When a component of that name appears while the name's own
 * incident is open, that incident goes on with the component instead of a second one.
 */
function exactSubjects(
  active: SubjectState & Pick<ActiveRule, 'incidents'>,
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

/** Retention is checked for many components in a row, so the index is built once for all of them. */
const CACHE_MS = 1000;

/** Returns true for a component on which an incident is open, or which a notification names exactly. */
function createRetention(
  clock: Pick<Clock, 'monotonic'>,
  rules: ReadonlyMap<string, ActiveComponentRule>,
): (component: Component) => boolean {
  let cachedAt = Number.NEGATIVE_INFINITY;
  const subjects = new Set<string>();
  const matchersByName = new Map<string, ((component: Component) => boolean)[]>();

  function refresh(): void {
    cachedAt = clock.monotonic();
    subjects.clear();
    matchersByName.clear();
    for (const { incidents, rule } of rules.values()) {
      for (const key of incidents.keys()) subjects.add(key);
      const { conf, kind } = rule;
      if (!isExact(conf)) continue;
      const others = matchersByName.get(conf.name) ?? [];
      matchersByName.set(conf.name, [...others, createComponentMatcher(conf, kind)]);
    }
  }

  return component => {
    if (clock.monotonic() - cachedAt >= CACHE_MS) refresh();
    const subject = subjectOf(component);
    if (subjects.has(subject.key) || subjects.has(subjectAmongEither(subject).key)) return true;
    return namesOf(component).some(name => matchersByName.get(name)?.some(matches => matches(component)));
  };
}
