import type { Description } from '../../conditions/condition.ts';
import { topicOf } from '../../conditions/external.ts';
import { EXTERNAL_HINTS } from '../../events/delivery-hints.ts';
import { RESERVED_FIELDS } from '../../events/system-fields.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { deterministicId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createLru } from '../../lib/lru.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { createTemplateReporter } from '../../targets/template-warnings.ts';
import type { ActiveExternalRule, ActiveRule, OpenIncident } from '../active-rule.ts';
import type { ExternalEvent } from '../external-events.ts';
import type { Incidents } from '../incidents/incidents.ts';
import { lastEvent } from '../incidents/last-event.ts';

/** So many ids are remembered: one that changed nothing is in no table. */
const MAX_RECENT_IDS = 100_000;
/** Open incidents of one notification: what a sender that never ends any may cost. */
const MAX_OPEN = 100_000;
/** An event may be one for many notifications: so many transitions wait for the disk at a time. */
const JOB_BATCH_SIZE = 10_000;
/** How many ids the store is asked for at a time. */
const ID_PAGE_SIZE = 500;

export interface ExternalEventsOptions extends RemindersOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** The notifications in force, by id. */
  readonly activeRules: ReadonlyMap<string, ActiveRule>;
  readonly isStopped: () => boolean;
  /** How many incidents of one notification may be open. */
  readonly maxOpen?: number | undefined;
}

/** What others found out opens and closes incidents. */
export interface ExternalEvents {
  /** Looks anew which notifications are in force. */
  configure(): void;
  /**
   * Resolves when every transition that follows from the events is on disk; those of one key are taken in their order.
   * Rejects with `unavailable` when one cannot be written, with `unprocessable` when a notification has too many
   * incidents open: what was written stays, and all may be posted again.
   * The same id of one pipeline counts once for each notification.
   */
  post(pipeline: string, events: readonly ExternalEvent[]): Promise<void>;
  /** Tells open incidents again whose `repeatInterval` is over. */
  remind(active: ActiveExternalRule, now: number): void;
}

/** One event for one notification. */
interface Job {
  readonly event: ExternalEvent;
  readonly notification: string;
  /** Of the event that follows from it; undefined when its sender gave it none. */
  readonly id: string | undefined;
}

export function createExternalEvents(options: ExternalEventsOptions): ExternalEvents {
  const { activeRules, incidents, clock, isStopped, logger, maxOpen = MAX_OPEN } = options;
  const { events: stored } = options.storage.in(options.workspace);
  /** By condition, and by condition and topic where the conf names one. */
  let rulesByTopic = new Map<string, ActiveExternalRule[]>();
  /** Posts under way, by the ids they were first to bring. */
  const inProgress = new Map<string, Promise<void>>();
  /** Ids that this process has taken, whatever came of it. */
  const recentIds = createLru<string, true>(MAX_RECENT_IDS);

  function jobsFor(pipeline: string, events: readonly ExternalEvent[]): Job[] {
    const jobs: Job[] = [];
    for (const event of events)
      for (const topicKey of [event.condition, topicKeyOf(event.condition, topicOf(event.key))])
        for (const { notification } of rulesByTopic.get(topicKey) ?? []) {
          const id =
            event.id === undefined ? undefined : deterministicId(pipeline, event.id, notification.id);
          jobs.push({ event, notification: notification.id, id });
        }
    return jobs;
  }

  /** The configuration may have changed while something was waited for. */
  function activeRuleOf({ event, notification }: Job): ActiveExternalRule | undefined {
    const active = activeRules.get(notification);
    if (active?.source !== 'posted' || active.rule.condition.id !== event.condition) return undefined;
    const { topic } = active.rule;
    return topic === undefined || topic === topicOf(event.key) ? active : undefined;
  }

  async function findStored(ids: readonly string[]): Promise<Set<string>> {
    const pages = [];
    for (let at = 0; at < ids.length; at += ID_PAGE_SIZE)
      pages.push(stored.byIds(ids.slice(at, at + ID_PAGE_SIZE)));
    return new Set((await Promise.all(pages)).flat().map(({ id }) => id));
  }

  /**
   * Leaves out what was taken before. Of an id that changed nothing an earlier process has left no trace: but events of
   * one key are taken in their order, so whatever stands before one that it did leave was taken with it.
   */
  async function findNew(jobs: readonly Job[], isOthers: (id: string) => boolean): Promise<Job[]> {
    const isKnown = (id: string): boolean => isOthers(id) || recentIds.get(id) === true;
    const unknown = jobs.flatMap(({ id }) => (id === undefined || isKnown(id) ? [] : [id]));
    const left = unknown.length > 0 ? await findStored([...new Set(unknown)]) : new Set<string>();
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

  function logGaps({ notification, rule }: ActiveExternalRule, { gaps }: Description): void {
    if (gaps === undefined) return;
    const warn = (reason: string): void =>
      logger.warn({ notification: notification.id, reason }, 'an expression failed');
    createTemplateReporter(rule.conf, warn)(gaps.setting, gaps);
  }

  /** Answers why it could not be written. */
  async function applyJob(job: Job): Promise<unknown> {
    const { key, state, fields = {} } = job.event;
    for (let isSecond = false; ; ) {
      if (isStopped()) return stoppedError();
      const active = activeRuleOf(job);
      if (active === undefined) return undefined;
      const writing = active.writing.get(key);
      if (writing !== undefined) {
        await writing;
        continue;
      }
      const incident = active.incidents.get(key);
      if ((incident !== undefined) === (state === 'ALARM')) return undefined;
      if (incident === undefined && active.incidents.size >= maxOpen) return tooManyOpen(active, maxOpen);
      const openMs = incident && Math.max(0, clock.now() - incident.row.opened_at);
      const description = active.rule.describe({ key, state, fields, openMs });
      logGaps(active, description);
      const failure = await incidents.notify(active, {
        subject: { key, name: key, component: undefined },
        status: state,
        description,
        ...(job.id !== undefined && { eventId: job.id }),
      });
      // Memory was wrong and has been put right: what the event means now is decided anew, once.
      if (isSecond || !isConflict(failure)) return failure;
      isSecond = true;
    }
  }

  async function handle(jobs: readonly Job[], others: ReadonlyMap<string, Promise<void>>): Promise<void> {
    await Promise.all(new Set(others.values()));
    const fresh = await findNew(jobs, id => others.has(id));
    for (let at = 0; at < fresh.length; at += JOB_BATCH_SIZE) {
      const failures = await Promise.all(fresh.slice(at, at + JOB_BATCH_SIZE).map(applyJob));
      const failure = failures.find(one => one !== undefined);
      if (failure !== undefined) throw isConflict(failure) ? temporarilyUnavailable(failure) : failure;
    }
    // Not those of a request that failed: what changed nothing may do so when all of it comes again.
    for (const { id } of fresh) if (id !== undefined) recentIds.set(id, true);
  }

  return {
    configure() {
      rulesByTopic = new Map();
      for (const active of activeRules.values()) {
        if (active.source !== 'posted') continue;
        const { condition, topic } = active.rule;
        const topicKey = topic === undefined ? condition.id : topicKeyOf(condition.id, topic);
        const present = rulesByTopic.get(topicKey);
        if (present === undefined) rulesByTopic.set(topicKey, [active]);
        else present.push(active);
      }
    },
    async post(pipeline, events) {
      if (isStopped()) throw stoppedError();
      const jobs = jobsFor(pipeline, events);
      const others = new Map<string, Promise<void>>();
      const own: string[] = [];
      for (const { id } of jobs) {
        if (id === undefined) continue;
        const other = inProgress.get(id);
        if (other === undefined) own.push(id);
        else others.set(id, other);
      }
      const work = handle(jobs, others);
      for (const id of own) inProgress.set(id, work);
      try {
        await work;
      } finally {
        for (const id of own) inProgress.delete(id);
      }
    },
    remind: createReminders(options),
  };
}

const subjectOf = ({ notification, event }: Job): string => JSON.stringify([notification, event.key]);

const topicKeyOf = (condition: string, topic: string): string => `${condition}/${topic}`;

/** The same id twice in one request. */
function withoutDuplicates(jobs: readonly Job[]): Job[] {
  const seen = new Set<string>();
  return jobs.filter(({ id }) => id === undefined || (!seen.has(id) && seen.add(id)));
}

const isConflict = (failure: unknown): boolean => failure instanceof AppError && failure.code === 'conflict';

const temporarilyUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'events cannot be written just now', { retryAfterSeconds: 1, cause });

const tooManyOpen = ({ notification }: ActiveExternalRule, count: number): AppError =>
  new AppError(
    'unprocessable',
    `notification '${notification.id}' has ${count} open incidents, as many as it may; post an OK for those that are over`,
  );

const stoppedError = (): AppError =>
  new AppError('unavailable', 'this process takes no more events', { retryAfterSeconds: 1 });

interface RemindersOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly incidents: Incidents;
}

const ownFields = new Set(RESERVED_FIELDS);

/** Tells incidents of posted events again: with the text they have, and the fields of the event that was told last. */
function createReminders({ workspace, storage, incidents }: RemindersOptions) {
  const stores = storage.in(workspace);

  /** Not kept in memory, where each open incident would hold what hardly one ever needs. */
  async function lastFields(incident: IncidentRow): Promise<Record<string, unknown>> {
    const last = await lastEvent(stores, incident.id);
    return Object.fromEntries(
      Object.entries(last).filter(
        ([name]) => !ownFields.has(name) && (!name.startsWith('__') || EXTERNAL_HINTS.includes(name)),
      ),
    );
  }

  async function remind(active: ActiveExternalRule, key: string, incident: OpenIncident): Promise<void> {
    const fields = await lastFields(incident.row);
    if (active.incidents.get(key) !== incident || active.writing.has(key)) return;
    await incidents.notify(active, {
      subject: { key, name: key, component: undefined },
      status: 'ALARM',
      description: { text: incident.row.text, fields },
    });
  }

  return (active: ActiveExternalRule, now: number): void => {
    const { repeatMs } = active.notification;
    if (repeatMs === null) return;
    for (const [key, incident] of active.incidents) {
      if (now - incident.notifiedAt < repeatMs || active.writing.has(key) || active.reminding.has(key))
        continue;
      active.reminding.add(key);
      void remind(active, key, incident)
        // The store cannot be read: the next evaluation tries again.
        .catch(() => {})
        .finally(() => active.reminding.delete(key));
    }
  };
}
