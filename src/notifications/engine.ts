import type { OpenFor, Subject, Verdict } from '../conditions/condition.ts';
import type { Expiry } from '../conditions/expiration.ts';
import { findCondition } from '../conditions/index.ts';
import { SEVERITIES } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { createRepeat, startToStart } from '../lib/repeat.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import type { ComponentKind } from '../pipelines/metric.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import type { Target } from '../targets/target.ts';
import {
  type ActiveComponentRule,
  type ActiveEvaluatedRule,
  type ActiveExpiryRule,
  type ActivePipelineRule,
  type ActiveRule,
  activateRule,
  type RuleState,
  subjectKindOfCondition,
  subjectNameOf,
  subjectsOf,
  updateRule,
  whyEnded,
} from './active-rule.ts';
import type { ExternalEvent } from './external-events.ts';
import type { GroupsOptions } from './grouping/groups.ts';
import { createIncidents, type IncidentsOptions } from './incidents/incidents.ts';
import { lastTargetConfigs } from './incidents/last-event.ts';
import { createTargetHealth, type TargetHealth } from './incidents/target-health.ts';
import { createInhibitingIncidents, type InhibitingIncidents } from './inhibition/inhibition.ts';
import { type Notification, TARGET_HEALTH } from './notification.ts';
import { expirySubjects, pipelineSubjects, whyGone } from './rules/evaluated-subjects.ts';
import { createConditionFaults, decide } from './rules/evaluation.ts';
import { createExternalEvents, type ExternalEvents } from './rules/external.ts';
import { createFloodSummaries, type EvaluatedChange, summaryOf } from './rules/flood-summary.ts';
import { createHeartbeats, type HeartbeatsOptions } from './rules/heartbeat.ts';
import { createRetention } from './rules/retained-components.ts';
import { createSubjectTable, keyParts, kindAmongEither } from './subjects.ts';
import type { ChangeSubject } from './transition.ts';

/** From one evaluation of everything to the next, and the least that others have the processor for in between. */
const EVALUATION_INTERVAL_MS = 500;
const MIN_PAUSE_MS = 100;

/** Incidents of one notification that go with it or with a pipeline; the rest of very many ends with later evaluations. */
const MAX_CLOSED_AT_ONCE = 1000;

/** How a subject is judged, and who is told of what is found. */
interface SubjectEvaluator<Evaluated> {
  readonly evaluate: (open: OpenFor | undefined) => Verdict;
  readonly notify: (change: Omit<EvaluatedChange, 'subject'> & { readonly subject: Evaluated }) => void;
}

export interface EngineOptions
  extends Omit<IncidentsOptions, 'targets' | 'outages' | 'isEnding'>,
    Pick<HeartbeatsOptions, 'beatsFile'> {
  readonly components: Components;
  /** What is known to expire. Left out, nothing is. */
  readonly expiries?: () => readonly Expiry[];
  readonly clock: Clock;
  /** Id of the target that is told of failing targets. */
  readonly operationalTarget: () => string | undefined;
  /** How many incidents of posted events one notification may have open; 100,000 when left out. */
  readonly maxOpen?: number;
  /** Whether nothing is expected of a subject, so that no condition is asked about it. Left out, of none. */
  readonly isDisabled?: (kind: ComponentKind, subject: Subject) => boolean;
}

/** Asks every notification's condition about every subject, takes what others post, and tells what changes. */
export interface Engine extends Pick<ExternalEvents, 'post'> {
  /**
   * Takes over a configuration: incidents of notifications that went, were disabled or changed are closed. `former`
   * targets were removed and are told the ends of what they were told.
   */
  configure(
    notifications: readonly Notification[],
    targets: readonly Target[],
    removed?: readonly Target[],
  ): void;
  /** Takes what deliveries say of their target's health. */
  readonly targetHealthChanged: TargetHealth['report'];
  /** Takes what became of deliveries. */
  readonly settled: InhibitingIncidents['settled'];
  /** Takes up the open incidents of the store, then evaluates at each interval. */
  start(): Promise<void>;
  /** Whether an incident on it is open or a notification names it exactly, so that it must not be forgotten. */
  retains(component: Component): boolean;
  /** When everything was last evaluated, on the monotonic clock. */
  evaluatedAt(): number;
  /** Evaluates nothing more and waits for what is on its way to the disk. */
  stop(): Promise<void>;
}

/** Incidents to close whose notification is no longer evaluated. */
interface ClosingRule extends RuleState {
  readonly reason: string;
}

export function createEngine(options: EngineOptions): Engine {
  const { clock, components, logger, isDisabled = () => false, expiries = () => [] } = options;
  const activeRules = new Map<string, ActiveRule>();
  const closingRules = new Set<ClosingRule>();
  const targets = new Map<string, Target>();
  const outages = createInhibitingIncidents({ ...options, activeRules: activeRules });
  /** Ends take their turns where there are very many of them. */
  const isEnding: GroupsOptions['isEnding'] = ({ notification, members }, pipeline) => {
    if (components.pipeline(pipeline) === undefined) return true;
    const active = activeRules.get(notification);
    return active?.source === 'component' && floodSummaries.isResolving(active, pipeline, members);
  };
  const incidents = createIncidents({ ...options, targets, outages: outages.notifiedTo, isEnding });
  let present: ReadonlySet<string> = new Set();
  const targetHealth = createTargetHealth({ ...options, incidents, isConfigured: id => present.has(id) });
  const externalEvents = createExternalEvents({
    ...options,
    activeRules,
    incidents,
    isStopped: () => stopped,
  });
  const floodSummaries = createFloodSummaries({
    ...options,
    incidents,
    isInactive: active => stopped || activeRules.get(active.notification.id)?.incidents !== active.incidents,
  });
  const heartbeats = createHeartbeats({ ...options, activeRules, incidents });
  const table = createSubjectTable(components);
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'a notification cannot be evaluated',
    over: 'all notifications can be evaluated again',
  });
  const conditionFaults = createConditionFaults({ clock, logger });
  const evaluating = createRepeat({
    clock,
    firstAfterMs: 0,
    interval: startToStart(EVALUATION_INTERVAL_MS, MIN_PAUSE_MS),
    work: evaluate,
    faults,
  });
  let evaluatedAt = clock.monotonic();
  let stopped = false;

  /** One notification that cannot be evaluated keeps no other from it. */
  function evaluate(): void {
    const now = clock.monotonic();
    const knownPipelines = new Map<string, boolean>();
    const failed: unknown[] = [];
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        failed.push(error);
      }
    };
    for (const closingRule of closingRules) attempt(() => closeAll(closingRule));
    attempt(targetHealth.evaluate);
    attempt(table.refresh);
    // Before their inputs, whose alarms are held back from whoever is told of the pipeline.
    let known: readonly Expiry[] | undefined;
    const pipelines = outages.rules().length > 0 ? components.pipelines() : [];
    for (const active of outages.rules())
      attempt(() => evaluateSubjects(active, pipelineSubjects(active, pipelines, clock.now()), now));
    for (const active of activeRules.values())
      attempt(() => {
        if (active.source === 'posted') externalEvents.remind(active, now);
        else if (active.source === 'beat') heartbeats.evaluate(active);
        else if (active.source === 'fact') {
          known ??= expiries();
          evaluateSubjects(active, expirySubjects(active, known, clock.now()), now);
        } else if (active.source === 'component') evaluateComponents(active, now, knownPipelines);
      });
    evaluatedAt = now;
    if (failed.length > 0) throw failed[0];
  }

  function evaluateComponents(
    active: ActiveComponentRule,
    now: number,
    knownPipelines: Map<string, boolean>,
  ): void {
    const changes: EvaluatedChange[] = [];
    subjectsOf(active, table, now).forEach((subject, at) => {
      const { key } = subject;
      if (isDisabledIn(active, subject)) recordDisabled(active, key, now);
      else if (
        now >= (active.okUntil[at] ?? 0) &&
        !active.queued.has(key) &&
        isEnabledForWindow(active, key, now)
      )
        active.okUntil[at] = evaluateSubject(active, subject, now, {
          evaluate: open => active.rule.evaluate({ subject, components, open }),
          notify: change => void changes.push(change),
        });
    });
    floodSummaries.notify(active, changes);
    closeUnconfigured(active, knownPipelines);
  }

  function evaluateSubjects(
    active: ActivePipelineRule | ActiveExpiryRule,
    subjects: ReturnType<typeof expirySubjects>,
    now: number,
  ): void {
    const present = new Set(subjects.map(({ subject }) => subject.key));
    for (const key of active.pendingSince.keys()) if (!present.has(key)) active.pendingSince.delete(key);
    for (const { subject, evaluate } of subjects)
      evaluateSubject(active, subject, now, {
        evaluate,
        notify: ({ status, describe }) =>
          void incidents.notify(active, { subject, status, description: describe() }),
      });
    for (const key of active.incidents.keys())
      if (!present.has(key)) closeIncident(active, key, whyGone(active, key, components));
  }

  /** Of inputs and outputs together, what was never seen may be either: then nothing says that it is disabled. */
  function isDisabledIn({ rule }: ActiveComponentRule, subject: Subject): boolean {
    const kind = subject.component?.kind ?? rule.kind;
    return kind !== 'either' && isDisabled(kind, subject);
  }

  function recordDisabled(active: ActiveComponentRule, key: string, now: number): void {
    active.disabledAt.set(key, now);
    active.pendingSince.delete(key);
    if (active.incidents.has(key))
      closeIncident(
        active,
        key,
        `the ${active.rule.kind === 'either' ? kindAmongEither(key) : active.rule.kind} was disabled`,
      );
  }

  /** What a subject did while it was disabled says nothing for a whole window after. */
  function isEnabledForWindow(active: ActiveComponentRule, key: string, now: number): boolean {
    const disabledAt = active.disabledAt.get(key);
    if (disabledAt === undefined) return true;
    if (now - disabledAt < active.origin.windowMs) return false;
    active.disabledAt.delete(key);
    return true;
  }

  /** Says until when, on the monotonic clock, it need not be asked again. */
  function evaluateSubject<Evaluated extends ChangeSubject>(
    active: ActiveEvaluatedRule,
    subject: Evaluated,
    now: number,
    { evaluate, notify }: SubjectEvaluator<Evaluated>,
  ): number {
    const { key } = subject;
    if (active.writing.has(key)) return now;
    const { forMs, repeatMs } = active.notification;
    const incident = active.incidents.get(key);
    const open = incident && {
      ms: Math.max(0, clock.now() - incident.row.opened_at),
      observedMs: now - incident.observedSince,
    };
    const verdict = evaluate(open);
    const decision = decide({
      verdict: verdict.state,
      isOpen: incident !== undefined,
      pendingMs: now - (active.pendingSince.get(key) ?? now),
      forMs,
      sinceNotifiedMs: now - (incident?.notifiedAt ?? now),
      repeatMs,
    });
    if (verdict.state === 'unknown' && verdict.isFault === true)
      conditionFaults.warn(active.notification.id, subject.name, verdict.reason);
    if (decision === 'hold') {
      if (!active.pendingSince.has(key)) active.pendingSince.set(key, now);
      return now;
    }
    // Kept until the incident is on disk: one that the disk refuses has not to wait its time again.
    if (decision !== 'open') active.pendingSince.delete(key);
    if (decision === 'nothing' || verdict.state === 'unknown')
      return verdict.state === 'ok' ? now + (verdict.okForMs ?? 0) : now;
    if (decision === 'repeat' && summaryOf(active, key) !== undefined) return now;
    const status = decision === 'close' ? 'OK' : 'ALARM';
    notify({ subject, status, decision, describe: verdict.describe });
    return now;
  }

  /** The pipeline was taken out of the configuration: nobody will ever say that its input is well again. */
  function closeUnconfigured(active: ActiveComponentRule, knownPipelines: Map<string, boolean>): void {
    let closedCount = 0;
    for (const key of active.incidents.keys()) {
      const { pipeline } = keyParts(key);
      const known =
        knownPipelines.get(pipeline) ?? (pipeline === '*' || components.pipeline(pipeline) !== undefined);
      knownPipelines.set(pipeline, known);
      if (known || active.writing.has(key)) continue;
      closeIncident(active, key, `pipeline ${pipeline} was removed from the configuration`);
      if (++closedCount === MAX_CLOSED_AT_ONCE) return;
    }
  }

  function closeIncident(ruleState: RuleState, key: string, closeReason: string): void {
    if (ruleState.writing.has(key)) return;
    const summary = summaryOf(ruleState, key);
    const name = subjectNameOf(ruleState.origin.kind, key);
    const subject = { key, name, component: undefined };
    const text = `Closed, ${closeReason}: ${ruleState.incidents.get(key)?.row.text ?? ''}`;
    void incidents.notify(ruleState, {
      subject,
      status: 'OK',
      description: { text, fields: {} },
      closeReason,
      ...(summary && { summary }),
    });
  }

  function closeAll(closingRule: ClosingRule): void {
    if (closingRule.incidents.size === 0 && closingRule.writing.size === 0) closingRules.delete(closingRule);
    for (const key of [...closingRule.incidents.keys()].slice(0, MAX_CLOSED_AT_ONCE))
      closeIncident(closingRule, key, closingRule.reason);
  }

  /** An open incident of the store belongs to its notification if that still asks the same question. */
  async function resume(row: IncidentRow): Promise<void> {
    if (row.notification === TARGET_HEALTH) {
      targetHealth.resume(row);
      return;
    }
    const active = activeRules.get(row.notification);
    const isSame = active?.origin.fingerprint === row.rule;
    if (active !== undefined && isSame) active.incidents.set(row.subject, incidents.resume(row));
    else {
      const reason = `the notification was ${active === undefined ? 'removed or disabled' : 'changed'}`;
      closingRules.add({
        ...(await closingStateOf(row)),
        reason,
        incidents: new Map([[row.subject, incidents.resume(row)]]),
      });
    }
  }

  /** What the store still says of the notification of an incident, when that is gone. */
  async function closingStateOf(row: IncidentRow): Promise<Omit<RuleState, 'incidents'>> {
    return {
      origin: {
        notification: row.notification,
        condition: row.condition,
        kind: subjectKindOfCondition(row.condition),
        windowMs: 0,
        severity: SEVERITIES.find(severity => severity === row.severity) ?? 'warn',
        fingerprint: row.rule,
        grouping: undefined,
        description: undefined,
        runbookUrl: undefined,
        metadata: [],
        targetConfigs: await lastTargetConfigs(options.storage.in(options.workspace), row.id),
      },
      targets: [],
      writing: new Map(),
    };
  }

  return {
    configure(notifications, configured, removed = []) {
      targets.clear();
      for (const target of [...removed, ...configured]) targets.set(target.settings.id, target);
      present = new Set(configured.map(target => target.settings.id));
      const next = new Map(notifications.map(notification => [notification.id, notification]));
      for (const [id, active] of activeRules) {
        const reason = whyEnded(active.notification, next.get(id));
        if (reason === undefined) continue;
        activeRules.delete(id);
        closingRules.add({ ...active, origin: { ...active.origin, grouping: undefined }, reason });
      }
      for (const closingRule of closingRules) closeAll(closingRule);
      for (const notification of notifications) {
        if (notification.disabled) continue;
        const active = activeRules.get(notification.id);
        const now = clock.monotonic();
        activeRules.set(
          notification.id,
          active ? updateRule(active, notification) : activateRule(notification, now),
        );
      }
      conditionFaults.keep(activeRules);
      externalEvents.configure();
      outages.configure();
      heartbeats.configure();
      incidents.groups.configure(notificationsOf(activeRules));
      // Closed at once: a target that is back before the next evaluation begins anew.
      targetHealth.evaluate();
    },
    targetHealthChanged: targetHealth.report,
    settled: outages.settled,
    async post(pipeline, events) {
      const isHeartbeat = ({ condition }: ExternalEvent): boolean =>
        findCondition(condition)?.source === 'beat';
      const others = events.filter(event => !isHeartbeat(event));
      await Promise.all([externalEvents.post(pipeline, others), heartbeats.post(events.filter(isHeartbeat))]);
    },
    async start() {
      for (const row of await options.storage.in(options.workspace).incidents.open()) await resume(row);
      await outages.start();
      await incidents.groups.start();
      await heartbeats.start();
      evaluating.start();
    },
    retains: createRetention({ clock, watches: () => activeRules.values() }),
    evaluatedAt: () => evaluatedAt,
    async stop() {
      stopped = true;
      await evaluating.stop();
      await heartbeats.stop();
      await floodSummaries.idle();
      await incidents.idle();
      await incidents.groups.stop();
    },
  };
}

const notificationsOf = (activeRules: ReadonlyMap<string, ActiveRule>): ReadonlyMap<string, Notification> =>
  new Map([...activeRules].map(([id, { notification }]) => [id, notification]));
