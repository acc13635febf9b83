import type { Description, Explanation, Verdict } from '../../conditions/condition.ts';
import type { AlertingRule } from '../../conditions/index.ts';
import type { Slices } from '../../lib/slices.ts';
import type { Component } from '../../pipelines/components/component.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { ExternalEvent } from '../external-events.ts';
import type { GroupSettings } from '../grouping/group.ts';
import type { ChangeSubject } from '../incidents/transition.ts';
import type { Notification } from '../notification.ts';
import type { RuleState } from '../rule-state.ts';

/** Evaluations that are done in one go: an expression may take a millisecond. */
export const EVALUATIONS_AT_ONCE = 16;

/** An evaluation of a rule, so many at a time. */
export type Evaluation = Slices;

/** What a rule makes of a subject at this moment. */
export interface ExplainedSubject {
  readonly subject: ChangeSubject;
  readonly verdict: Verdict;
  readonly explanation: Explanation;
  /** The open one. */
  readonly incident: IncidentRow | undefined;
  /** For how long its condition holds while there is no incident yet, in ms; undefined while it does not. */
  readonly pendingMs: number | undefined;
}

/** A subject of a rule, evaluated when it is asked about; nothing follows from that. */
export interface ExplainableSubject {
  readonly subject: ChangeSubject;
  /** Its condition held at the last evaluation, and no incident is open yet. */
  readonly isPending: boolean;
  readonly explain: () => ExplainedSubject;
}

/** What would follow from an external event for a rule. */
export interface ExternalEffect {
  readonly subject: ChangeSubject;
  readonly status: 'ALARM' | 'OK';
  /** Undefined where nothing would follow, and why. */
  readonly description: Description | undefined;
  readonly reason?: string;
}

/** A notification that is active, with its open incidents. */
export interface ActiveRule extends RuleState, GroupSettings {
  readonly notification: Notification;
  /** True where its incidents inhibit alarms of other rules, so that it is evaluated before them. */
  readonly inhibits: boolean;
  /** Evaluates all its subjects, a few at a time; `now` is on the observed clock. */
  evaluate(now: number): Evaluation;
  /** Its subjects as they are now; `now` is on the observed clock. */
  explainable(now: number): readonly ExplainableSubject[];
  /** What an external event would do; undefined where it is none of the rule's. A rule that takes none leaves it out. */
  effectOf?(event: ExternalEvent, now: number): ExternalEffect | undefined;
  /** Deactivates a rule that is removed, disabled or changed. Its incidents close elsewhere. */
  deactivate(): void;
}

/** Gives rules of one kind what they evaluate. */
export interface RuleSource<Rule extends AlertingRule> {
  /** Makes a notification active, or takes over an edit that leaves its condition and conf alone. */
  activate(notification: Notification, rule: Rule, now: number): ActiveRule;
  /** Called when rules were activated or deactivated. */
  configured?(): void;
  /** Called before the rules are evaluated. */
  refresh?(): void;
  /**
   * Takes external events for its rules, in the order of each key. Resolves when all that follows from them is on disk;
   * rejects with `unavailable` when that cannot be written, with `unprocessable` when there is too much of it.
   */
  receive?(pipeline: string, events: readonly ExternalEvent[]): Promise<void>;
  /** True for a component that must not be forgotten, as an incident on it is open or a notification names it exactly. */
  retains?(component: Component): boolean;
  /** Closes the incidents of a component that a person removed. Resolves when it was tried. */
  componentRemoved?(component: Component): Promise<void>;
  start?(): Promise<void>;
  /** Takes and changes nothing more at once; resolves when what is under way has ended. */
  stop?(): Promise<void>;
}

/** The fields that rules of all sources have; those of `before` go on after an edit. */
export const activeRuleFields = (notification: Notification, before: RuleState | undefined) => ({
  notification,
  origin: notification,
  targets: notification.targets,
  incidents: before?.incidents ?? new Map(),
  writing: before?.writing ?? new Map(),
});

/** The traits of rules whose alarms are never inhibited and inhibit none. */
export const NO_INHIBITION = { inhibits: false, isResolving: () => false } as const;
