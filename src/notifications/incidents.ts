import type { Description } from '../conditions/condition.ts';
import { attached } from '../delivery/outgoing.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { DeliveryRow, IncidentRow, Storage } from '../storage/storage.ts';
import { routedTo } from '../targets/routed.ts';
import type { Target } from '../targets/target.ts';
import { bulletinRow } from './bulletin.ts';
import { createGroups, type Groups, type GroupsOptions } from './groups.ts';
import type { Outages } from './outages.ts';
import { steeringTold } from './told-event.ts';
import { type Change, toldTargets, transition } from './transition.ts';
import type { Book, OpenIncident } from './watch.ts';

export interface IncidentsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Takes over the deliveries of an event as soon as they are on disk. */
  readonly enqueue: (rows: readonly DeliveryRow[], event: HeadgateEvent) => void;
  /** Deliveries to these targets, `first` or later ones, are in the store to be sent. */
  readonly released: (targets: Iterable<string>, first: string) => void;
  readonly externalUrl: () => string | undefined;
  /** What `cribl_host` says. */
  readonly instanceName: () => string;
  /** The targets that are served now, by id. */
  readonly targets: ReadonlyMap<string, Target>;
  /** The open incidents that told a target of a pipeline that it is unreachable. */
  readonly outages: Outages['toldTo'];
  /** Whether one of the incidents is about to end that were held back for an outage which is over. */
  readonly isEnding: GroupsOptions['isEnding'];
}

/** What is to be told of a subject. */
interface News extends Pick<Change, 'subject' | 'status'> {
  readonly description: Description;
  readonly closeReason?: string;
  /** Id of the incident that tells of it in its place: nobody is told of it by itself. */
  readonly summary?: string;
  /** What all that it tells of is a part of; left out, its component says. */
  readonly pipeline?: string | undefined;
  readonly eventId?: string;
}

/** Opens, repeats and closes incidents; memory runs ahead of the disk and goes back when the disk refuses. */
export interface Incidents {
  /** Answers when it is on disk, or why it is not. Nothing else may be told of the subject meanwhile. */
  tell(book: Book, news: News): Promise<unknown>;
  /** An incident of the store, taken up by this process. */
  takeUp(row: IncidentRow): OpenIncident;
  readonly groups: Pick<Groups, 'configure' | 'start' | 'stop'>;
  /** Resolves when nothing is on its way to the disk. */
  idle(): Promise<void>;
}

const isConflict = (error: unknown): boolean => error instanceof AppError && error.code === 'conflict';

export function createIncidents(options: IncidentsOptions): Incidents {
  const { clock, logger, storage, workspace } = options;
  const writes = new Set<Promise<unknown>>();
  const groups = createGroups(options);
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'transitions cannot be written',
    over: 'transitions can be written again',
  });

  function changeOf(book: Book, news: News): Change {
    const present = book.incidents.get(news.subject.key);
    const told = news.status === 'OK' && present !== undefined ? toldTargets(present.row) : book.targets;
    const openAfter = book.incidents.size + (news.status === 'OK' ? -1 : present === undefined ? 1 : 0);
    const routed = (ids: readonly string[], event: HeadgateEvent) => routedTo(ids, event, options.targets);
    const ofBook = (event: HeadgateEvent) =>
      routed(book.targets, event).flatMap(id => onBulletin(options.targets.get(id), book));
    return {
      workspace,
      origin: book.origin,
      subject: news.subject,
      status: news.status,
      description: news.description,
      eventId: news.eventId,
      incident: present?.row,
      closeReason: news.closeReason,
      summary: news.summary,
      recipients: news.summary === undefined ? told.filter(id => options.targets.has(id)) : [],
      now: clock.now(),
      ids: options.ids,
      externalUrl: options.externalUrl(),
      routed,
      leftOut: (field, reason) =>
        logger.warn(
          { notification: book.origin.notification, field, reason },
          'metadata cannot be worked out; the event goes without this field',
        ),
      bulletin: event => bulletinRow(book.origin, ofBook(event), event, openAfter),
    };
  }

  /** What a target makes of an event for people, its system fields with it. */
  function onBulletin(target: Target | undefined, { origin }: Book): Parameters<typeof bulletinRow>[1] {
    if (target === undefined) return [];
    const { id, systemFields } = target.settings;
    const warn = (reason: string): void =>
      logger.warn({ notification: origin.notification, target: id, reason }, 'an expression failed');
    return [
      {
        title: target.bulletinTitle,
        severity: target.bulletinSeverity,
        text: event => target.bulletinText(attached(event, systemFields, options.instanceName()), warn),
      },
    ];
  }

  function remember(book: Book, key: string, incident: OpenIncident | undefined): void {
    if (incident === undefined) book.incidents.delete(key);
    else book.incidents.set(key, incident);
  }

  function takeUp(row: IncidentRow): OpenIncident {
    const now = clock.monotonic();
    return { row, watchedSince: now, toldAt: now - Math.max(0, clock.now() - row.last_event_at) };
  }

  /** Nothing was written, so nothing has changed and the next evaluation decides again. */
  async function refused(
    book: Book,
    key: string,
    before: OpenIncident | undefined,
    error: unknown,
  ): Promise<void> {
    faults.failed(error, { subject: key });
    remember(book, key, before);
    if (!isConflict(error)) return;
    const { notification, fingerprint } = book.origin;
    const open = await storage.in(workspace).incidents.open();
    const row = open.find(
      one => one.notification === notification && one.subject === key && one.rule === fingerprint,
    );
    remember(book, key, row && takeUp(row));
  }

  /** The end of what was posted goes where its alarm went, unless it is told otherwise. */
  async function steered(book: Book, news: News): Promise<News> {
    const incident = book.incidents.get(news.subject.key);
    const steering = incident === undefined ? {} : await steeringTold(storage.in(workspace), incident.row.id);
    const { description } = news;
    return { ...news, description: { ...description, fields: { ...steering, ...description.fields } } };
  }

  async function write(book: Book, wanted: News): Promise<unknown> {
    const { key } = wanted.subject;
    const news = wanted.status === 'OK' && book.origin.kind === 'key' ? await steered(book, wanted) : wanted;
    const before = book.incidents.get(key);
    const made = transition(changeOf(book, news));
    const { event } = made;
    const { grouping } = book.origin;
    const { operation, undo } =
      news.summary === undefined
        ? groups.enter(made.operation, {
            event,
            before: before?.row,
            grouping,
            pipeline: news.pipeline ?? news.subject.component?.pipeline,
          })
        : { operation: made.operation, undo: () => {} };
    const now = clock.monotonic();
    const after = { row: operation.incident, watchedSince: before?.watchedSince ?? now, toldAt: now };
    remember(book, key, news.status === 'OK' ? undefined : after);
    try {
      await storage.commit(operation);
      faults.passed();
      const { id: incident, seq } = operation.incident;
      logger[news.summary === undefined ? 'info' : 'debug'](
        { notification: book.origin.notification, subject: key, status: news.status, incident, seq },
        'transition',
      );
      options.enqueue(
        operation.deliveries.filter(({ state }) => state === 'waiting'),
        event,
      );
      return undefined;
    } catch (error) {
      undo(isConflict(error));
      await refused(book, key, before, error);
      return error;
    }
  }

  return {
    tell(book, news) {
      const { key } = news.subject;
      const work: Promise<unknown> = write(book, news)
        .catch((error: unknown) => {
          logger.error({ reason: reasonOf(error) }, 'a transition was given up until the next evaluation');
          return error;
        })
        .finally(() => {
          writes.delete(work);
          book.writing.delete(key);
        });
      writes.add(work);
      book.writing.set(key, work);
      return work;
    },
    takeUp,
    groups,
    async idle() {
      await Promise.all(writes);
    },
  };
}
