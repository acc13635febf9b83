import type { Outbox } from '../delivery/dispatcher.ts';
import type { ResultBus } from '../delivery/results.ts';
import { createExpressionWarnings } from '../expressions/warnings.ts';
import type { Clock } from '../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../lib/counted-log.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { ObservedClock } from '../lib/observed-clock.ts';
import { createRepeat, type Repeat, startToStart } from '../lib/repeat.ts';
import { inSlices } from '../lib/slices.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import type { UsualRates } from '../pipelines/history/usual-rate.ts';
import type { Storage } from '../storage/storage.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import type { Target } from '../targets/target.ts';
import { Explainer } from './explain.ts';
import type { ExternalEvent } from './external-events.ts';
import { DeliveryGroups, type Groups } from './grouping/groups.ts';
import { Holds } from './grouping/holds.ts';
import { StoredAcknowledgements } from './incidents/acknowledgements.ts';
import { ClosingRules, whyEnded } from './incidents/closing.ts';
import { changesOf, latestChange } from './incidents/condition-changes.ts';
import { Escalations } from './incidents/escalations.ts';
import { type Incidents, StoredIncidents } from './incidents/incidents.ts';
import { ObservedTime } from './incidents/observed-time.ts';
import {
  createTargetHealth,
  failingTargets,
  Redelivery,
  type TargetHealth,
} from './incidents/target-health.ts';
import { collectFacts } from './incidents/transition.ts';
import { InhibitingIncidents } from './inhibition/inhibition.ts';
import type { InhibitionRule } from './inhibition/inhibition-rule.ts';
import { Inhibitors } from './inhibition/inhibitors.ts';
import { type Notification, TARGET_HEALTH } from './notification.ts';
import { Evaluator } from './rules/evaluation.ts';
import { type EvaluationCosts, type EvaluationQuota, EvaluationRounds } from './rules/evaluation-rounds.ts';
import type { ActiveRule, RuleSource } from './rules/rule-source.ts';
import { activateRule, createRuleSources, type RuleSourcesOptions } from './rules/sources.ts';
import { ActiveSilences } from './silences/silences.ts';

/** Time from the start of one evaluation of everything to the next, and the least pause in between. */
const EVALUATION_INTERVAL_MS = 500;
const MIN_PAUSE_MS = 100;
/** Incidents that have closed and whose changes are read at a start, for each notification that looks for flapping. */
const MAX_CLOSED_READ = 1000;

export interface EngineOptions
  extends Omit<RuleSourcesOptions, 'evaluator' | 'expressionWarnings' | 'incidents'> {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  /** What conditions have been observed for is measured with it; `components` must be, too. */
  readonly observedClock: ObservedClock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly components: Components;
  /** Left out, no usual rate is known. */
  readonly usualRates?: UsualRates | undefined;
  readonly outbox: Outbox;
  /** Reports the results of deliveries. By default there are none. */
  readonly results?: Pick<ResultBus, 'subscribe'> | undefined;
  /** The URL at which people open this Headgate. */
  readonly externalUrl: () => string | undefined;
  /** Called for each expression or template that failed. */
  readonly expressionFailed?: () => void;
  /** The value of `cribl_host`. */
  readonly instanceName: () => string;
  /** Left out, evaluation takes as long as it takes. */
  readonly evaluationQuota?: EvaluationQuota | undefined;
  /** Id of the target that is notified of failing targets. */
  readonly operationalTarget: () => string | undefined;
  /** False where only `evaluate` evaluates, as time is not the real one. By default it does twice a second. */
  readonly isRepeating?: boolean;
  /** Ids of the targets whose settings changed while no process ran: they may be well again. By default none. */
  readonly changedTargets?: ReadonlySet<string>;
}

/** Evaluates every active rule again and again, takes external events, and notifies what changes. */
export interface Engine {
  /**
   * Takes over a configuration: closes incidents of notifications that were removed, disabled or changed. `removed`
   * targets get the ends of the incidents that they were notified of. By default there are neither these nor inhibitions.
   */
  configure(
    notifications: readonly Notification[],
    targets: readonly Target[],
    removed?: readonly Target[],
    inhibitions?: readonly InhibitionRule[],
  ): void;
  /**
   * Resolves when every transition that follows from the events is on disk; those of one key are taken in their order.
   * Rejects with `unavailable` when one cannot be written, with `unprocessable` when a notification has too many
   * incidents open: what was written stays, and all may be sent again.
   * The same id of one pipeline counts once for each notification.
   */
  receive(pipeline: string, events: readonly ExternalEvent[]): Promise<void>;
  /** Resumes the open incidents of the store, then evaluates at each interval. */
  start(): Promise<void>;
  /** Evaluates every rule once. Rejects with the first failure. */
  evaluate(): Promise<void>;
  /** True for a component that must not be forgotten: an incident on it is open or a notification names it exactly. */
  retains(component: Component): boolean;
  /** Closes the incidents of a component that a person removed; those that cannot be written close later. */
  componentRemoved(component: Component): Promise<void>;
  /** Resolves when reminders and escalations go by what the store knows of the acknowledgement of an incident. */
  refreshAcknowledgement(incident: string): Promise<void>;
  /** Resolves when transitions from now on go by the silences of the store. */
  refreshSilences(): Promise<void>;
  /** What the active notifications do at this moment; nothing follows from it. */
  readonly explainer: Pick<Explainer, 'explain' | 'explainEvent'>;
  /** When evaluation last began or went on, on the observed clock. */
  evaluatedAt(): number;
  /** The targets that get an alarm in place of a removed one; `later` while it is muted or silenced. */
  replacementsFor(row: DeliveryRow): Promise<readonly string[] | 'later'>;
  /** For how long, in milliseconds, not every notification has been evaluated. */
  incompleteMs(): number;
  /** What evaluation takes; undefined where nothing bounds it. */
  evaluationCosts(): EvaluationCosts | undefined;
  /** Evaluates nothing more and waits for what is on its way to the disk. */
  stop(): Promise<void>;
}

export const createEngine = (options: EngineOptions): Engine => new NotificationEngine(options);

class NotificationEngine implements Engine {
  readonly explainer: Explainer;
  readonly #options: EngineOptions;
  readonly #rules = new Map<string, ActiveRule>();
  readonly #targets = new Map<string, Target>();
  /** Ids of the configured targets, without removed ones. */
  #configured: ReadonlySet<string> = new Set();
  readonly #sources: ReturnType<typeof createRuleSources>;
  readonly #inhibiting: InhibitingIncidents;
  readonly #inhibitors: Inhibitors;
  readonly #groups: Groups;
  readonly #silences: ActiveSilences;
  readonly #incidents: Incidents;
  readonly #acknowledgements: StoredAcknowledgements;
  readonly #escalations: Escalations;
  readonly #closing: ClosingRules;
  readonly #targetHealth: TargetHealth;
  readonly #redelivery: Redelivery;
  readonly #evaluator: Evaluator;
  readonly #observedTime: ObservedTime;
  readonly #rounds: EvaluationRounds;
  readonly #evaluating: Repeat;
  #evaluatedAt: number;

  constructor(options: EngineOptions) {
    const { clock, observedClock, components } = options;
    const targets = this.#targets;
    const inhibitions = new InhibitingIncidents(options);
    const hasPipeline = (id: string): boolean => components.pipeline(id) !== undefined;
    const silences = new ActiveSilences(options);
    const inhibitors = new Inhibitors(options);
    const holds = new Holds({ clock, silences, inhibitors, inhibitions });
    const groups = new DeliveryGroups({ ...options, targets, holds, hasPipeline });
    const expressionWarnings = createExpressionWarnings(options);
    const acknowledgements = new StoredAcknowledgements(options);
    const incidents = new StoredIncidents({
      ...{ ...options, expressionWarnings, targets, groups, acknowledgements, inhibitors },
      factsOf: change => collectFacts(change, options),
    });
    const observedTime = new ObservedTime(options);
    const evaluator = new Evaluator({ ...options, incidents, observedTime });
    this.#options = options;
    this.explainer = new Explainer({ ...options, rules: this.#rules, incidents });
    this.#inhibiting = inhibitions;
    this.#inhibitors = inhibitors;
    this.#groups = groups;
    this.#silences = silences;
    this.#incidents = incidents;
    this.#acknowledgements = acknowledgements;
    this.#escalations = new Escalations({ ...options, incidents, acknowledgements });
    this.#evaluator = evaluator;
    this.#observedTime = observedTime;
    this.#rounds = new EvaluationRounds({ ...options, quota: options.evaluationQuota });
    this.#sources = createRuleSources({ ...options, expressionWarnings, incidents, evaluator });
    this.#closing = new ClosingRules({ ...options, incidents });
    this.#targetHealth = createTargetHealth({
      ...options,
      incidents,
      isConfigured: id => this.#configured.has(id),
    });
    this.#redelivery = new Redelivery({
      ...options,
      expressionWarnings,
      targets,
      isConfigured: id => this.#configured.has(id),
      targetsOf: id => this.#targetsOf(id),
      groups,
    });
    this.#evaluating = createRepeat({
      clock,
      firstAfterMs: 0,
      interval: startToStart(EVALUATION_INTERVAL_MS, MIN_PAUSE_MS),
      work: () => this.evaluate(),
      faults: createEvaluationLog(options.logger),
    });
    this.#evaluatedAt = observedClock.monotonic();
  }

  configure(
    notifications: readonly Notification[],
    targets: readonly Target[],
    removed: readonly Target[] = [],
    inhibitions: readonly InhibitionRule[] = [],
  ): void {
    this.#targets.clear();
    for (const target of [...removed, ...targets]) this.#targets.set(target.settings.id, target);
    this.#configured = new Set(targets.map(target => target.settings.id));
    this.#inhibitors.configure(inhibitions);
    this.#deactivate(new Map(notifications.map(notification => [notification.id, notification])));
    const now = this.#options.observedClock.monotonic();
    for (const notification of notifications)
      if (!notification.disabled)
        this.#rules.set(notification.id, activateRule(this.#sources, notification, now));
    const rules = [...this.#rules.values()];
    const inhibiting = rules.filter(({ inhibits }) => inhibits);
    this.#rounds.configure([...inhibiting, ...rules.filter(({ inhibits }) => !inhibits)]);
    this.#evaluator.keep(this.#rules);
    for (const source of this.#allSources()) source.configured?.();
    this.#inhibiting.configure(inhibiting);
    this.#groups.configure(new Map(this.#rules));
    this.#groups.inhibitionsChanged();
    // Closes them at once: a target that is back before the next evaluation begins anew.
    this.#targetHealth.evaluate();
  }

  async receive(pipeline: string, events: readonly ExternalEvent[]): Promise<void> {
    await Promise.all(this.#allSources().map(source => source.receive?.(pipeline, events)));
  }

  async start(): Promise<void> {
    const { storage, workspace } = this.#options;
    const open = await storage.in(workspace).incidents.open();
    await this.#resumeChanges(open);
    for (const row of open) await this.#resume(row);
    await this.#inhibiting.start();
    await this.#inhibitors.start();
    await this.#acknowledgements.start();
    await this.#silences.start(() => this.#groups.silencesChanged());
    await this.#groups.start();
    for (const source of this.#allSources()) await source.start?.();
    const { changedTargets = new Set() } = this.#options;
    const failing = failingTargets(open);
    await this.#redelivery.start(id => failing.has(id) && !changedTargets.has(id));
    // Only what waits now: what is tried from here on keeps the waits of its own failures.
    const waiting = changedTargets.size === 0 ? [] : await storage.in(workspace).deliveries.waitingByTarget();
    for (const { target } of waiting) if (changedTargets.has(target)) this.#redelivery.recover(target);
    if (this.#options.isRepeating !== false) this.#evaluating.start();
  }

  retains(component: Component): boolean {
    return this.#allSources().some(source => source.retains?.(component) === true);
  }

  async componentRemoved(component: Component): Promise<void> {
    await Promise.all(this.#allSources().map(source => source.componentRemoved?.(component)));
  }

  refreshAcknowledgement(incident: string): Promise<void> {
    return this.#acknowledgements.refresh(incident);
  }

  refreshSilences(): Promise<void> {
    return this.#silences.refresh();
  }

  replacementsFor(row: DeliveryRow): Promise<readonly string[] | 'later'> {
    return this.#redelivery.replacementsFor(row);
  }

  evaluatedAt(): number {
    return this.#evaluatedAt;
  }

  incompleteMs(): number {
    return this.#rounds.incompleteMs();
  }

  evaluationCosts(): EvaluationCosts | undefined {
    return this.#rounds.costs();
  }

  async stop(): Promise<void> {
    const stopping = this.#allSources().map(source => source.stop?.());
    await this.#evaluating.stop();
    await Promise.all(stopping);
    await this.#escalations.idle();
    await this.#incidents.idle();
    await this.#observedTime.stop();
    await this.#redelivery.stop();
    await this.#groups.stop();
    await this.#silences.stop();
    await this.#inhibitors.stop();
  }

  /**
   * Evaluates all rules, also when one cannot be evaluated; what its quota does not allow goes on at the next time.
   * Throws the first failure.
   */
  async evaluate(): Promise<void> {
    const failed: unknown[] = [];
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        failed.push(error);
      }
    };
    this.#closing.close(attempt);
    attempt(() => this.#targetHealth.evaluate());
    for (const source of this.#allSources()) attempt(() => source.refresh?.());
    this.#evaluatedAt = this.#options.observedClock.monotonic();
    const rounds = inSlices(this.#rounds.run(attempt));
    if (rounds !== undefined) await rounds;
    attempt(() => this.#escalations.evaluate(this.#rules.values()));
    if (failed.length > 0) throw failed[0];
  }

  #targetsOf(notification: string): readonly string[] {
    if (notification !== TARGET_HEALTH) return this.#rules.get(notification)?.targets ?? [];
    const operational = this.#options.operationalTarget();
    return operational === undefined ? [] : [operational];
  }

  /** Closes the rules that do not go on under `next`. */
  #deactivate(next: ReadonlyMap<string, Notification>): void {
    for (const [id, rule] of this.#rules) {
      const reason = whyEnded(rule.notification, next.get(id));
      if (reason === undefined) continue;
      this.#rules.delete(id);
      rule.deactivate();
      this.#closing.add(rule, reason);
    }
    this.#closing.close(work => work());
  }

  /** Reads how conditions have changed: where flapping is looked for, also those whose incidents have closed. */
  async #resumeChanges(open: readonly IncidentRow[]): Promise<void> {
    const { incidents } = this.#options.storage.in(this.#options.workspace);
    let latest = 0;
    for (const row of open) latest = Math.max(latest, latestChange(changesOf(row)));
    for (const { notification } of this.#rules.values()) {
      if (notification.end.flapping === undefined) continue;
      const filter = { state: 'closed', notification: notification.id } as const;
      const { rows } = await incidents.list(filter, { offset: 0, limit: MAX_CLOSED_READ });
      for (const row of rows) latest = Math.max(latest, latestChange(changesOf(row)));
      const own = rows.filter(({ rule }) => rule === notification.fingerprint);
      this.#evaluator.restore(notification, own);
    }
    await this.#observedTime.start(latest);
  }

  /** An open incident of the store goes on with its rule when condition and conf are the same. */
  async #resume(row: IncidentRow): Promise<void> {
    const rule = this.#rules.get(row.notification);
    if (row.notification === TARGET_HEALTH) this.#targetHealth.resume(row);
    else if (rule?.notification.fingerprint === row.rule)
      rule.incidents.set(row.subject, this.#incidents.resume(row));
    else {
      const change = rule === undefined ? 'removed or disabled' : 'changed';
      await this.#closing.addIncident(row, `the notification was ${change}`);
    }
  }

  #allSources(): readonly Omit<RuleSource<never>, 'activate'>[] {
    return Object.values(this.#sources);
  }
}

const createEvaluationLog = (logger: Logger): CountedLog =>
  createCountedLog(logger, {
    fields: {},
    message: 'a notification cannot be evaluated',
    over: 'all notifications can be evaluated again',
  });
