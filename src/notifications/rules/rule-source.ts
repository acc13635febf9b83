import type { AlertingRule } from '../../conditions/index.ts';
import type { Slices } from '../../lib/slices.ts';
import type { Component } from '../../pipelines/components/component.ts';
import type { ExternalEvent } from '../external-events.ts';
import type { GroupSettings } from '../grouping/group.ts';
import type { Notification } from '../notification.ts';
import type { RuleState } from '../rule-state.ts';

/** Evaluations that are done in one go: an expression may take a millisecond. */
export const EVALUATIONS_AT_ONCE = 16;

/** An evaluation of a rule, so many at a time. */
export type Evaluation = Slices;

/** A notification that is active, with its open incidents. */
export interface ActiveRule extends RuleState, GroupSettings {
  readonly notification: Notification;
  /** True where its incidents inhibit alarms of other rules, so that it is evaluated before them. */
  readonly inhibits: boolean;
  /** Evaluates all its subjects, a few at a time; `now` is on the observed clock. */
  evaluate(now: number): Evaluation;
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
