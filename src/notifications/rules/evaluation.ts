import type { Explanation, OpenFor, Verdict } from '../../conditions/condition.ts';
import { WARNING_INTERVAL_MS } from '../../expressions/warnings.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { closeIncident } from '../incidents/closing.ts';
import { type EvaluatedChange, stateChangeOf } from '../incidents/evaluated-change.ts';
import { summaryOf } from '../incidents/flood-summary.ts';
import type { Incidents } from '../incidents/incidents.ts';
import type { ObservedTime } from '../incidents/observed-time.ts';
import type { ChangeSubject } from '../incidents/transition.ts';
import type { Notification } from '../notification.ts';
import type { OpenIncident, RuleState } from '../rule-state.ts';
import { ConditionTracker, describeWithEnd } from './condition-tracker.ts';
import { EVALUATIONS_AT_ONCE, type Evaluation, type ExplainableSubject } from './rule-source.ts';

export interface DecisionInput {
  readonly verdict: Verdict['state'];
  readonly isOpen: boolean;
  /** Milliseconds since the condition began to hold; 0 when it holds for the first time. */
  readonly pendingMs: number;
  /** How long it must hold before the alarm. */
  readonly forMs: number;
  /** Milliseconds since the condition of an open incident ceased to be met; undefined while it is. */
  readonly unmetMs: number | undefined;
  /** How long it must not be met before the incident closes. */
  readonly keepMs: number;
  /** Milliseconds since the incident was last notified. */
  readonly sinceNotifiedMs: number;
  /** How often an open incident is notified again; null for never. */
  readonly repeatMs: number | null;
}

export type Decision = 'nothing' | 'pend' | EvaluatedChange['decision'];

/** Decides what follows from a verdict for a notification on one subject. */
export function decide(input: DecisionInput): Decision {
  const { verdict, isOpen, pendingMs, forMs, unmetMs, keepMs, sinceNotifiedMs, repeatMs } = input;
  if (verdict === 'unknown') return 'nothing';
  if (verdict === 'ok') {
    if (!isOpen) return 'nothing';
    if ((unmetMs ?? 0) >= keepMs) return 'close';
    return unmetMs === undefined ? 'keep' : 'nothing';
  }
  if (!isOpen) return pendingMs >= forMs ? 'open' : 'pend';
  if (unmetMs !== undefined) return 'resume';
  return repeatMs !== null && sinceNotifiedMs >= repeatMs ? 'repeat' : 'nothing';
}

/** An active rule that is evaluated subject by subject. */
export interface EvaluatedState extends RuleState {
  readonly notification: Notification;
  /** Since when the condition holds on subjects that have no incident yet, on the observed clock. */
  readonly pendingSince: Map<string, number>;
}

/** One subject of a rule, with the evaluation of its condition. */
export interface EvaluatedSubject {
  readonly subject: ChangeSubject;
  readonly evaluate: (open: OpenFor | undefined) => Verdict;
}

/** The same with the numbers that the evaluation goes by. */
export interface AskedSubject extends EvaluatedSubject {
  readonly explain: (open: OpenFor | undefined) => Explanation;
}

export interface EvaluatorOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly incidents: Incidents;
  readonly observedTime: Pick<ObservedTime, 'now'>;
  /** Called for each condition that cannot be evaluated. */
  readonly expressionFailed?: (() => void) | undefined;
}

/** Evaluates subjects and decides what follows, in the same way for rules of all sources. */
export class Evaluator {
  readonly #clock: Clock;
  readonly #incidents: Incidents;
  readonly #faults: ConditionFaults;
  readonly #failed: () => void;
  readonly #tracker: ConditionTracker;

  constructor({ clock, logger, incidents, observedTime, expressionFailed = () => {} }: EvaluatorOptions) {
    this.#clock = clock;
    this.#tracker = new ConditionTracker({ incidents, observedTime });
    this.#incidents = incidents;
    this.#failed = expressionFailed;
    this.#faults = createConditionFaults({ clock, logger });
  }

  /** Returns the change that is to be notified; else until when, on the observed clock, no evaluation is needed. */
  evaluateSubject<Evaluated extends ChangeSubject>(
    rule: EvaluatedState,
    subject: Evaluated,
    now: number,
    evaluate: EvaluatedSubject['evaluate'],
  ): EvaluatedChange<Evaluated> | number {
    const { key } = subject;
    if (rule.writing.has(key)) return now;
    const { id, forMs, repeatMs } = rule.notification;
    const before = rule.incidents.get(key);
    const verdict = evaluate(before && this.#openFor(before, now));
    const incident = this.#tracker.follow(rule, key, verdict);
    const end = this.#tracker.endOf(rule.notification, incident);
    const decision = decide({
      verdict: verdict.state,
      isOpen: incident !== undefined,
      pendingMs: now - (rule.pendingSince.get(key) ?? now),
      forMs,
      ...end,
      sinceNotifiedMs: incident === undefined ? 0 : this.#clock.monotonic() - incident.notifiedAt,
      repeatMs: incident !== undefined && this.#incidents.isAcknowledged(incident.row) ? null : repeatMs,
    });
    if (verdict.state === 'unknown' && verdict.isFault === true) {
      this.#failed();
      this.#faults.warn(id, subject.name, verdict.reason);
    }
    if (decision === 'pend') {
      if (!rule.pendingSince.has(key)) rule.pendingSince.set(key, now);
      return now;
    }
    // Kept until the incident is on disk: one that the disk refuses need not be pending again.
    if (decision !== 'open') rule.pendingSince.delete(key);
    if (decision === 'nothing' || verdict.state === 'unknown')
      return verdict.state === 'ok' && incident === undefined ? now + (verdict.okForMs ?? 0) : now;
    if (decision === 'repeat' && summaryOf(rule, key) !== undefined) return now;
    const changes = this.#tracker.changesAfter(rule.notification, key, decision, incident);
    return {
      subject,
      status: verdict.state === 'ok' ? 'OK' : 'ALARM',
      decision,
      describe: () => describeWithEnd(verdict.describe(), { decision, changes, keepMs: end.keepMs }),
      changes,
    };
  }

  /** What `evaluateSubject` would go by now; nothing follows from it. */
  explainable(
    rule: EvaluatedState,
    { subject, evaluate, explain }: AskedSubject,
    now: number,
  ): ExplainableSubject {
    return {
      subject,
      isPending: rule.pendingSince.has(subject.key),
      explain: () => {
        const before = rule.incidents.get(subject.key);
        const open = before && this.#openFor(before, now);
        const since = rule.pendingSince.get(subject.key);
        const verdict = evaluate(open);
        const isPending = before === undefined && verdict.state === 'alarm';
        return {
          ...{ subject, verdict, explanation: explain(open), incident: before?.row },
          pendingMs: isPending ? now - (since ?? now) : undefined,
        };
      },
    };
  }

  /**
   * Evaluates all subjects of a rule and notifies each change by itself. Incidents of others close with the reason that
   * `whyEnded` gives.
   */
  *evaluateSubjects(
    rule: EvaluatedState,
    subjects: readonly EvaluatedSubject[],
    now: number,
    whyEnded: (key: string) => string,
  ): Evaluation {
    const present = new Set(subjects.map(({ subject }) => subject.key));
    for (const key of rule.pendingSince.keys()) if (!present.has(key)) rule.pendingSince.delete(key);
    let evaluated = 0;
    for (const { subject, evaluate } of subjects) {
      if (++evaluated % EVALUATIONS_AT_ONCE === 0) yield;
      const change = this.evaluateSubject(rule, subject, now, evaluate);
      if (typeof change === 'number') continue;
      void this.#incidents.notify(rule, stateChangeOf(change));
    }
    for (const key of rule.incidents.keys()) if (!present.has(key)) this.close(rule, key, whyEnded(key));
  }

  /** Closes an incident whose subject cannot be evaluated any more. */
  close(rule: RuleState, key: string, reason: string): void {
    closeIncident(this.#incidents, rule, key, reason);
  }

  /** Takes over the changes of the incidents of a notification that have closed, the latest first. */
  restore(notification: Notification, closed: readonly IncidentRow[]): void {
    this.#tracker.restore(notification, closed);
  }

  /** Forgets what it knows of all notifications but these. */
  keep(remaining: ReadonlyMap<string, unknown>): void {
    this.#tracker.keep(remaining);
    this.#faults.keep(remaining);
  }

  #openFor(incident: OpenIncident, now: number): OpenFor {
    return {
      ms: Math.max(0, this.#clock.now() - incident.row.opened_at),
      observedMs: now - incident.observedSince,
      isKept: incident.changes.unmetSince !== null,
    };
  }
}

interface ConditionFaults {
  warn(notification: string, subject: string, reason: string): void;
  keep(remaining: ReadonlyMap<string, unknown>): void;
}

/** Warns of conditions that cannot be evaluated, each notification's at most once in ten minutes. */
function createConditionFaults({
  clock,
  logger,
}: {
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
}): ConditionFaults {
  const warnedAt = new Map<string, number>();
  return {
    warn(notification, subject, reason) {
      const now = clock.monotonic();
      if (now - (warnedAt.get(notification) ?? Number.NEGATIVE_INFINITY) < WARNING_INTERVAL_MS) return;
      warnedAt.set(notification, now);
      logger.warn(
        { notification, subject, reason },
        'a condition cannot be evaluated; nothing changes by it',
      );
    },
    keep(remaining) {
      for (const id of warnedAt.keys()) if (!remaining.has(id)) warnedAt.delete(id);
    },
  };
}
