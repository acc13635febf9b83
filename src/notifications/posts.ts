import type { Description } from '../conditions/condition.ts';
import { topicOf } from '../conditions/posted.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { idOf } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru } from '../lib/lru.ts';
import { notesOf } from '../targets/template-notes.ts';
import type { PostedEvent } from './posted-events.ts';
import { createReminders, type RemindersOptions } from './reminders.ts';
import type { PostedWatch, Watch } from './watch.ts';

/** So many ids are remembered: one that changed nothing is in no table. */
const MOST_REMEMBERED = 100_000;
/** Open incidents of one notification: what a sender that never ends any may cost. */
const MOST_OPEN = 100_000;
/** An event may be one for many notifications: so many transitions wait for the disk at a time. */
const JOBS_AT_ONCE = 10_000;
/** How many ids the store is asked for at a time. */
const IDS_AT_ONCE = 500;

export interface PostsOptions extends RemindersOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** The notifications in force, by id. */
  readonly watches: ReadonlyMap<string, Watch>;
  readonly isStopped: () => boolean;
  /** How many incidents of one notification may be open. */
  readonly mostOpen?: number | undefined;
}

/** What others found out opens and closes incidents. */
export interface Posts {
  /** Looks anew which notifications are in force. */
  configure(): void;
  /**
   * Resolves when every transition that follows from the events is on disk; those of one key are taken in their order.
   * Rejects with `unavailable` when one cannot be written, with `unprocessable` when a notification has too many
   * incidents open: what was written stays, and all may be posted again.
   * The same id of one pipeline counts once for each notification.
   */
  post(pipeline: string, events: readonly PostedEvent[]): Promise<void>;
  /** Tells open incidents again whose `repeatInterval` is over. */
  remind(watch: PostedWatch, now: number): void;
}

/** One event for one notification. */
interface Job {
  readonly event: PostedEvent;
  readonly notification: string;
  /** Of the event that follows from it; undefined when its sender gave it none. */
  readonly id: string | undefined;
}

export function createPosts(options: PostsOptions): Posts {
  const { watches, incidents, clock, isStopped, logger, mostOpen = MOST_OPEN } = options;
  const { events: stored } = options.storage.in(options.workspace);
  /** By condition, and by condition and topic where the conf names one. */
  let waiting = new Map<string, PostedWatch[]>();
  /** Posts under way, by the ids they were first to bring. */
  const underWay = new Map<string, Promise<void>>();
  /** Ids that this process has taken, whatever came of it. */
  const remembered = createLru<string, true>(MOST_REMEMBERED);

  function jobsOf(pipeline: string, events: readonly PostedEvent[]): Job[] {
    const jobs: Job[] = [];
    for (const event of events)
      for (const place of [event.condition, placeOf(event.condition, topicOf(event.key))])
        for (const { notification } of waiting.get(place) ?? []) {
          const id = event.id === undefined ? undefined : idOf(pipeline, event.id, notification.id);
          jobs.push({ event, notification: notification.id, id });
        }
    return jobs;
  }

  /** The configuration may have changed while something was waited for. */
  function watchOf({ event, notification }: Job): PostedWatch | undefined {
    const watch = watches.get(notification);
    if (watch?.source !== 'posted' || watch.rule.condition.id !== event.condition) return undefined;
    const { topic } = watch.rule;
    return topic === undefined || topic === topicOf(event.key) ? watch : undefined;
  }

  async function storedAmong(ids: readonly string[]): Promise<Set<string>> {
    const pages = [];
    for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
      pages.push(stored.byIds(ids.slice(at, at + IDS_AT_ONCE)));
    return new Set((await Promise.all(pages)).flat().map(({ id }) => id));
  }

  /**
   * Leaves out what was taken before. Of an id that changed nothing an earlier process has left no trace: but events of
   * one key are taken in their order, so whatever stands before one that it did leave was taken with it.
   */
  async function newAmong(jobs: readonly Job[], isOthers: (id: string) => boolean): Promise<Job[]> {
    const isTaken = (id: string): boolean => isOthers(id) || remembered.get(id) === true;
    const unknown = jobs.flatMap(({ id }) => (id === undefined || isTaken(id) ? [] : [id]));
    const left = unknown.length > 0 ? await storedAmong([...new Set(unknown)]) : new Set<string>();
    const before = new Set<string>();
    const fresh: Job[] = [];
    for (const job of jobs.toReversed()) {
      const { id } = job;
      if (id !== undefined && left.has(id)) before.add(subjectOf(job));
      else if (id !== undefined && isTaken(id)) continue;
      else if (before.size === 0 || !before.has(subjectOf(job))) fresh.push(job);
    }
    return firstOfEach(fresh.reverse());
  }

  function noteGaps({ notification, rule }: PostedWatch, { gaps }: Description): void {
    if (gaps === undefined) return;
    const warn = (reason: string): void =>
      logger.warn({ notification: notification.id, reason }, 'an expression failed');
    notesOf(rule.conf, warn)(gaps.setting, gaps);
  }

  /** Answers why it could not be written. */
  async function settle(job: Job): Promise<unknown> {
    const { key, state, fields = {} } = job.event;
    for (let isSecond = false; ; ) {
      if (isStopped()) return stopped();
      const watch = watchOf(job);
      if (watch === undefined) return undefined;
      const writing = watch.writing.get(key);
      if (writing !== undefined) {
        await writing;
        continue;
      }
      const incident = watch.incidents.get(key);
      if ((incident !== undefined) === (state === 'ALARM')) return undefined;
      if (incident === undefined && watch.incidents.size >= mostOpen) return tooMany(watch, mostOpen);
      const openMs = incident && Math.max(0, clock.now() - incident.row.opened_at);
      const description = watch.rule.describe({ key, state, fields, openMs });
      noteGaps(watch, description);
      const failure = await incidents.tell(watch, {
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

  async function take(jobs: readonly Job[], others: ReadonlyMap<string, Promise<void>>): Promise<void> {
    await Promise.all(new Set(others.values()));
    const fresh = await newAmong(jobs, id => others.has(id));
    for (let at = 0; at < fresh.length; at += JOBS_AT_ONCE) {
      const failures = await Promise.all(fresh.slice(at, at + JOBS_AT_ONCE).map(settle));
      const failure = failures.find(one => one !== undefined);
      if (failure !== undefined) throw isConflict(failure) ? notNow(failure) : failure;
    }
    // Not those of a request that failed: what changed nothing may do so when all of it comes again.
    for (const { id } of fresh) if (id !== undefined) remembered.set(id, true);
  }

  return {
    configure() {
      waiting = new Map();
      for (const watch of watches.values()) {
        if (watch.source !== 'posted') continue;
        const { condition, topic } = watch.rule;
        const place = topic === undefined ? condition.id : placeOf(condition.id, topic);
        const present = waiting.get(place);
        if (present === undefined) waiting.set(place, [watch]);
        else present.push(watch);
      }
    },
    async post(pipeline, events) {
      if (isStopped()) throw stopped();
      const jobs = jobsOf(pipeline, events);
      const others = new Map<string, Promise<void>>();
      const own: string[] = [];
      for (const { id } of jobs) {
        if (id === undefined) continue;
        const other = underWay.get(id);
        if (other === undefined) own.push(id);
        else others.set(id, other);
      }
      const work = take(jobs, others);
      for (const id of own) underWay.set(id, work);
      try {
        await work;
      } finally {
        for (const id of own) underWay.delete(id);
      }
    },
    remind: createReminders(options),
  };
}

const subjectOf = ({ notification, event }: Job): string => JSON.stringify([notification, event.key]);

const placeOf = (condition: string, topic: string): string => `${condition}/${topic}`;

/** The same id twice in one request. */
function firstOfEach(jobs: readonly Job[]): Job[] {
  const seen = new Set<string>();
  return jobs.filter(({ id }) => id === undefined || (!seen.has(id) && seen.add(id)));
}

const isConflict = (failure: unknown): boolean => failure instanceof AppError && failure.code === 'conflict';

const notNow = (cause: unknown): AppError =>
  new AppError('unavailable', 'events cannot be written just now', { retryAfterSeconds: 1, cause });

const tooMany = ({ notification }: PostedWatch, count: number): AppError =>
  new AppError(
    'unprocessable',
    `notification '${notification.id}' has ${count} open incidents, as many as it may; post an OK for those that are over`,
  );

const stopped = (): AppError =>
  new AppError('unavailable', 'this process takes no more events', { retryAfterSeconds: 1 });
