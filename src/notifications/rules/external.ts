import type { Description } from '../../conditions/condition.ts';
import { type ExternalRule, topicOf } from '../../conditions/external.ts';
import { WHOLE_EVENT_FIELDS } from '../../conditions/index.ts';
import { EXTERNAL_HINTS } from '../../events/delivery-hints.ts';
import type { ExpressionWarnings } from '../../expressions/warnings.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { deterministicId, type Ids } from '../../lib/ids.ts';
import { createLru } from '../../lib/lru.ts';
import type { Storage } from '../../storage/storage.ts';
import { createTemplateReporter } from '../../targets/template-warnings.ts';
import type { ExternalEvent } from '../external-events.ts';
import { type Incidents, isConflict } from '../incidents/incidents.ts';
import { lastEvent, lastingFields } from '../incidents/last-event.ts';
import type { Notification } from '../notification.ts';
import type { OpenIncident } from '../rule-state.ts';
import {
  type ActiveRule,
  activeRuleFields,
  EVALUATIONS_AT_ONCE,
  type Evaluation,
  type ExplainableSubject,
  type ExternalEffect,
  NO_INHIBITION,
  type RuleSource,
} from './rule-source.ts';

/** Number of ids that are known without a look into the store. */
const MAX_RECENT_IDS = 100_000;
/** Limit on open incidents of one notification: a sender that never closes any costs no more. */
const MAX_OPEN = 100_000;
/** Transitions that wait for the disk at a time: one event may concern many notifications. */
const JOB_BATCH_SIZE = 10_000;
/** Number of ids in one query of the store. */
const ID_PAGE_SIZE = 500;

/** The result of an event that opened and closed nothing. */
const UNCHANGED = Symbol('unchanged');

interface ActiveExternalRule extends ActiveRule {
  readonly rule: ExternalRule;
  /** Subjects whose reminder is being prepared. */
  readonly reminding: Set<string>;
}

export interface ExternalRulesOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly ids: Ids;
  readonly expressionWarnings: ExpressionWarnings;
  readonly incidents: Incidents;
  /** Limit on open incidents of one notification; 100,000 by default. */
  readonly maxOpen?: number | undefined;
}

/** One event for one notification. */
interface Job {
  readonly event: ExternalEvent;
  readonly notification: string;
  /** Id of the event that follows from it; undefined when its sender gave it none. */
  readonly id: string | undefined;
}

/** Rules on external events, which open and close incidents. The same id of one pipeline counts once for each rule. */
export class ExternalRules implements RuleSource<ExternalRule> {
  readonly #options: ExternalRulesOptions;
  readonly #stores: ReturnType<Storage['in']>;
  readonly #rules = new Map<string, ActiveExternalRule>();
  /** By condition, and by condition and topic where the conf names one. */
  #rulesByTopic = new Map<string, ActiveExternalRule[]>();
  /** Requests under way, by the ids that came first in them. */
  readonly #inProgress = new Map<string, Promise<void>>();
  /** The last ids that are in the store. */
  readonly #recentIds = createLru<string, true>(MAX_RECENT_IDS);
  #isStopped = false;

  constructor(options: ExternalRulesOptions) {
    this.#options = options;
    this.#stores = options.storage.in(options.workspace);
  }

  activate(notification: Notification, rule: ExternalRule): ActiveRule {
    const before = this.#rules.get(notification.id);
    const active: ActiveExternalRule = {
      ...activeRuleFields(notification, before),
      ...NO_INHIBITION,
      rule,
      reminding: before?.reminding ?? new Set(),
      evaluate: () => this.#remind(active),
      explainable: () => explainableOf(active),
      effectOf: event => this.#effectOf(active, event),
      deactivate: () => void this.#rules.delete(notification.id),
    };
    this.#rules.set(notification.id, active);
    return active;
  }

  configured(): void {
    this.#rulesByTopic = new Map();
    for (const active of this.#rules.values()) {
      const { condition, topic } = active.rule;
      const topicKey = topic === undefined ? condition.id : topicKeyOf(condition.id, topic);
      const present = this.#rulesByTopic.get(topicKey);
      if (present === undefined) this.#rulesByTopic.set(topicKey, [active]);
      else present.push(active);
    }
  }

  async receive(pipeline: string, events: readonly ExternalEvent[]): Promise<void> {
    if (this.#isStopped) throw stoppedError();
    const jobs = this.#jobsFor(pipeline, events);
    const others = new Map<string, Promise<void>>();
    const own: string[] = [];
    for (const { id } of jobs) {
      if (id === undefined) continue;
      const other = this.#inProgress.get(id);
      if (other === undefined) own.push(id);
      else others.set(id, other);
    }
    const work = this.#handle(jobs, others);
    for (const id of own) this.#inProgress.set(id, work);
    try {
      await work;
    } finally {
      for (const id of own) this.#inProgress.delete(id);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
  }

  #effectOf(active: ActiveExternalRule, event: ExternalEvent): ExternalEffect | undefined {
    const { condition, topic } = active.rule;
    const { key, state, fields = {} } = event;
    if (condition.id !== event.condition || (topic !== undefined && topic !== topicOf(key))) return undefined;
    const subject = { key, name: key, component: undefined };
    const incident = active.incidents.get(key);
    if ((incident !== undefined) === (state === 'ALARM')) {
      const reason =
        incident === undefined
          ? 'no incident of this key is open, so that there is none to end'
          : 'an incident of this key is open already';
      return { subject, status: state, description: undefined, reason };
    }
    const openMs = incident && Math.max(0, this.#options.clock.now() - incident.row.opened_at);
    return { subject, status: state, description: active.rule.describe({ key, state, fields, openMs }) };
  }

  #jobsFor(pipeline: string, events: readonly ExternalEvent[]): Job[] {
    const jobs: Job[] = [];
    for (const event of events)
      for (const topicKey of [event.condition, topicKeyOf(event.condition, topicOf(event.key))])
        for (const { notification } of this.#rulesByTopic.get(topicKey) ?? []) {
          const id =
            event.id === undefined ? undefined : deterministicId(pipeline, event.id, notification.id);
          jobs.push({ event, notification: notification.id, id });
        }
    return jobs;
  }

  async #handle(jobs: readonly Job[], others: ReadonlyMap<string, Promise<void>>): Promise<void> {
    await Promise.all(new Set(others.values()));
    const fresh = await this.#findNew(jobs, id => others.has(id));
    const unchanged: string[] = [];
    for (let at = 0; at < fresh.length; at += JOB_BATCH_SIZE) {
      const batch = fresh.slice(at, at + JOB_BATCH_SIZE);
      const results = await Promise.all(batch.map(job => this.#apply(job)));
      const failure = results.find(one => one !== undefined && one !== UNCHANGED);
      if (failure !== undefined) throw isConflict(failure) ? temporarilyUnavailable(failure) : failure;
      for (const [index, { id }] of batch.entries())
        if (id !== undefined && results[index] === UNCHANGED) unchanged.push(id);
    }
    // Ids of a failed request are not remembered: events that changed nothing may do so when all of it comes again.
    await this.#remember(unchanged);
    for (const { id } of fresh) if (id !== undefined) this.#recentIds.set(id, true);
  }

  /** Writes ids that have no event, so that they count as received by every later process. */
  async #remember(unchanged: readonly string[]): Promise<void> {
    const { storage, workspace, ids } = this.#options;
    const pages = [];
    for (let at = 0; at < unchanged.length; at += ID_PAGE_SIZE) {
      const rows = unchanged.slice(at, at + ID_PAGE_SIZE).map(event => ({ id: ids.next(), event }));
      pages.push(storage.commit({ kind: 'receive', workspace, rows }));
    }
    await Promise.all(pages);
  }

  /**
   * Drops jobs that were done before. A process that was killed during a request left no trace of an id that changed
   * nothing: but events of one key are taken in their order, so everything before an id that it did leave was taken with
   * it.
   */
  async #findNew(jobs: readonly Job[], isOthers: (id: string) => boolean): Promise<Job[]> {
    const isRecent = (id: string): boolean => isOthers(id) || this.#recentIds.get(id) === true;
    const unknown = jobs.flatMap(({ id }) => (id === undefined || isRecent(id) ? [] : [id]));
    const { written: left, received } = await this.#findStored([...new Set(unknown)]);
    const isKnown = (id: string): boolean => received.has(id) || isRecent(id);
    const before = new Set<string>();
    const fresh: Job[] = [];
    for (const job of jobs.toReversed()) {
      const { id } = job;
      if (id !== undefined && left.has(id)) before.add(subjectOf(job));
      else if (id !== undefined && isKnown(id)) continue;
      else if (before.size === 0 || !before.has(subjectOf(job))) fresh.push(job);
    }
    return withoutDuplicates(fresh.reverse());
  }

  async #findStored(
    ids: readonly string[],
  ): Promise<{ readonly written: ReadonlySet<string>; readonly received: ReadonlySet<string> }> {
    const pages = [];
    for (let at = 0; at < ids.length; at += ID_PAGE_SIZE)
      pages.push(this.#stores.events.known(ids.slice(at, at + ID_PAGE_SIZE)));
    const known = await Promise.all(pages);
    return {
      written: new Set(known.flatMap(({ written }) => written)),
      received: new Set(known.flatMap(({ received }) => received)),
    };
  }

  /** Resolves to the reason when it could not be written, and to `UNCHANGED` when nothing was to be. */
  async #apply(job: Job): Promise<unknown> {
    const { clock, incidents, maxOpen = MAX_OPEN } = this.#options;
    const { key, state, fields = {} } = job.event;
    for (let isSecond = false; ; ) {
      if (this.#isStopped) return stoppedError();
      const active = this.#activeRuleOf(job);
      if (active === undefined) return undefined;
      const writing = active.writing.get(key);
      if (writing !== undefined) {
        await writing;
        continue;
      }
      const incident = active.incidents.get(key);
      if ((incident !== undefined) === (state === 'ALARM')) return UNCHANGED;
      if (incident === undefined && active.incidents.size >= maxOpen) return tooManyOpen(active, maxOpen);
      const openMs = incident && Math.max(0, clock.now() - incident.row.opened_at);
      const description = active.rule.describe({ key, state, fields, openMs });
      this.#logGaps(active, description);
      const failure = await incidents.notify(active, {
        subject: { key, name: key, component: undefined },
        status: state,
        description,
        ...(job.id !== undefined && { eventId: job.id }),
      });
      // Memory was wrong and has been corrected: the event is decided anew, once.
      if (isSecond || !isConflict(failure)) return failure;
      isSecond = true;
    }
  }

  /** Reads the rule again: the configuration may have changed during a wait. */
  #activeRuleOf({ event, notification }: Job): ActiveExternalRule | undefined {
    const active = this.#rules.get(notification);
    if (active?.rule.condition.id !== event.condition) return undefined;
    const { topic } = active.rule;
    return topic === undefined || topic === topicOf(event.key) ? active : undefined;
  }

  #logGaps({ notification, rule }: ActiveExternalRule, { gaps }: Description): void {
    if (gaps === undefined) return;
    const warn = (reason: string): void =>
      this.#options.expressionWarnings.warn({ notification: notification.id }, reason);
    createTemplateReporter(rule.conf, warn, WHOLE_EVENT_FIELDS)(gaps.setting, gaps);
  }

  /** Notifies open incidents again whose `repeatInterval` is over. */
  *#remind(active: ActiveExternalRule): Evaluation {
    const { repeatMs } = active.notification;
    if (repeatMs === null) return;
    const { clock, incidents } = this.#options;
    const now = clock.monotonic();
    let evaluated = 0;
    for (const [key, incident] of active.incidents) {
      if (++evaluated % EVALUATIONS_AT_ONCE === 0) yield;
      if (now - incident.notifiedAt < repeatMs || active.writing.has(key) || active.reminding.has(key))
        continue;
      if (incidents.isAcknowledged(incident.row)) continue;
      active.reminding.add(key);
      void this.#remindOf(active, key, incident)
        // The store cannot be read: the next evaluation tries again.
        .catch(() => {})
        .finally(() => active.reminding.delete(key));
    }
  }

  /** Reminds with the text of the incident and the fields of the event that was notified last. */
  async #remindOf(active: ActiveExternalRule, key: string, incident: OpenIncident): Promise<void> {
    // Not kept in memory, where each open incident would hold what few ever need.
    const last = await lastEvent(this.#stores, incident.row.id);
    if (active.incidents.get(key) !== incident || active.writing.has(key)) return;
    const fields = Object.fromEntries(
      Object.entries(lastingFields(last)).filter(([name]) => isSenders(name)),
    );
    await this.#options.incidents.notify(active, {
      subject: { key, name: key, component: undefined },
      status: 'ALARM',
      description: { text: incident.row.text, fields },
      isReminder: true,
    });
  }
}

/** Nothing is known of keys without an incident: only their senders know them. */
const explainableOf = ({ rule, incidents }: ActiveExternalRule): readonly ExplainableSubject[] =>
  [...incidents].map(([key, { row }]) => {
    const subject = { key, name: key, component: undefined };
    const verdict = { state: 'alarm', describe: () => ({ text: row.text, fields: {} }) } as const;
    return {
      subject,
      isPending: false,
      explain: () => ({
        ...{ subject, verdict, explanation: rule.explain(key), incident: row },
        pendingMs: undefined,
      }),
    };
  });

/** True for fields that come from the sender of an event. */
const isSenders = (name: string): boolean => !name.startsWith('__') || EXTERNAL_HINTS.includes(name);

const subjectOf = ({ notification, event }: Job): string => JSON.stringify([notification, event.key]);

const topicKeyOf = (condition: string, topic: string): string => `${condition}/${topic}`;

/** Drops an id that comes a second time in one request. */
function withoutDuplicates(jobs: readonly Job[]): Job[] {
  const seen = new Set<string>();
  return jobs.filter(({ id }) => id === undefined || (!seen.has(id) && seen.add(id)));
}

const temporarilyUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'events cannot be written just now', {
    isForCaller: true,
    retryAfterSeconds: 1,
    cause,
  });

const tooManyOpen = ({ notification }: ActiveExternalRule, count: number): AppError =>
  new AppError(
    'unprocessable',
    `notification '${notification.id}' has ${count} open incidents, as many as it may; post an OK for those that are over`,
  );

const stoppedError = (): AppError =>
  new AppError('unavailable', 'this process takes no more events', {
    isForCaller: true,
    retryAfterSeconds: 1,
  });
