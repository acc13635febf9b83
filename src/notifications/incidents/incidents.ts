import type { Description } from '../../conditions/condition.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { withAttachedFields } from '../../events/outgoing.ts';
import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { AppError, reasonOf } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { resolveRoutes, type Target } from '../../targets/target.ts';
import type { OpenIncident, RuleState } from '../active-rule.ts';
import { createGroups, type Groups, type GroupsOptions } from '../grouping/groups.ts';
import type { InhibitingIncidents } from '../inhibition/inhibition.ts';
import { bulletinRow, type IncidentChange, notifiedTargets, transition } from '../transition.ts';
import { lastDeliveryHints } from './last-event.ts';

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
  readonly outages: InhibitingIncidents['notifiedTo'];
  /** Whether one of the incidents is about to end that were held back for an outage which is over. */
  readonly isEnding: GroupsOptions['isEnding'];
}

/** What is to be told of a subject. */
interface StateChange extends Pick<IncidentChange, 'subject' | 'status'> {
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
  notify(ruleState: RuleState, change: StateChange): Promise<unknown>;
  /** An incident of the store, taken up by this process. */
  resume(row: IncidentRow): OpenIncident;
  readonly groups: Pick<Groups, 'configure' | 'start' | 'stop'>;
  /** Resolves when nothing is on its way to the disk. */
  idle(): Promise<void>;
}

const isConflict = (error: unknown): boolean => error instanceof AppError && error.code === 'conflict';

export function createIncidents(options: IncidentsOptions): Incidents {
  const { clock, logger, storage, workspace } = options;
  const inProgress = new Set<Promise<unknown>>();
  const groups = createGroups(options);
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'transitions cannot be written',
    over: 'transitions can be written again',
  });

  function changeOf(ruleState: RuleState, change: StateChange): IncidentChange {
    const open = ruleState.incidents.get(change.subject.key);
    const notified =
      change.status === 'OK' && open !== undefined ? notifiedTargets(open.row) : ruleState.targets;
    const openAfter = ruleState.incidents.size + (change.status === 'OK' ? -1 : open === undefined ? 1 : 0);
    const routed = (ids: readonly string[], event: HeadgateEvent) =>
      resolveRoutes(ids, event, options.targets);
    const bulletinTargets = (event: HeadgateEvent) =>
      routed(ruleState.targets, event).flatMap(id => bulletinTarget(options.targets.get(id), ruleState));
    return {
      workspace,
      origin: ruleState.origin,
      subject: change.subject,
      status: change.status,
      description: change.description,
      eventId: change.eventId,
      incident: open?.row,
      closeReason: change.closeReason,
      summary: change.summary,
      recipients: change.summary === undefined ? notified.filter(id => options.targets.has(id)) : [],
      now: clock.now(),
      ids: options.ids,
      externalUrl: options.externalUrl(),
      routed,
      fieldOmitted: (field, reason) =>
        logger.warn(
          { notification: ruleState.origin.notification, field, reason },
          'metadata cannot be worked out; the event goes without this field',
        ),
      bulletin: event => bulletinRow(ruleState.origin, bulletinTargets(event), event, openAfter),
    };
  }

  /** What a target makes of an event for people, its system fields with it. */
  function bulletinTarget(
    target: Target | undefined,
    { origin }: RuleState,
  ): Parameters<typeof bulletinRow>[1] {
    if (target === undefined) return [];
    const { id, systemFields } = target.settings;
    const warn = (reason: string): void =>
      logger.warn({ notification: origin.notification, target: id, reason }, 'an expression failed');
    return [
      {
        title: target.bulletinTitle,
        severity: target.bulletinSeverity,
        text: event =>
          target.bulletinText(withAttachedFields(event, systemFields, options.instanceName()), warn),
      },
    ];
  }

  function setIncident(ruleState: RuleState, key: string, incident: OpenIncident | undefined): void {
    if (incident === undefined) ruleState.incidents.delete(key);
    else ruleState.incidents.set(key, incident);
  }

  function resume(row: IncidentRow): OpenIncident {
    const now = clock.monotonic();
    return { row, observedSince: now, notifiedAt: now - Math.max(0, clock.now() - row.last_event_at) };
  }

  /** Nothing was written, so nothing has changed and the next evaluation decides again. */
  async function rollBack(
    ruleState: RuleState,
    key: string,
    before: OpenIncident | undefined,
    error: unknown,
  ): Promise<void> {
    faults.failed(error, { subject: key });
    setIncident(ruleState, key, before);
    if (!isConflict(error)) return;
    const { notification, fingerprint } = ruleState.origin;
    const open = await storage.in(workspace).incidents.open();
    const row = open.find(
      one => one.notification === notification && one.subject === key && one.rule === fingerprint,
    );
    setIncident(ruleState, key, row && resume(row));
  }

  /** The end of what was posted goes where its alarm went, unless it is told otherwise. */
  async function withDeliveryHints(ruleState: RuleState, change: StateChange): Promise<StateChange> {
    const incident = ruleState.incidents.get(change.subject.key);
    const hints =
      incident === undefined ? {} : await lastDeliveryHints(storage.in(workspace), incident.row.id);
    const { description } = change;
    return { ...change, description: { ...description, fields: { ...hints, ...description.fields } } };
  }

  async function write(ruleState: RuleState, requested: StateChange): Promise<unknown> {
    const { key } = requested.subject;
    const change =
      requested.status === 'OK' && ruleState.origin.kind === 'key'
        ? await withDeliveryHints(ruleState, requested)
        : requested;
    const before = ruleState.incidents.get(key);
    const built = transition(changeOf(ruleState, change));
    const { event } = built;
    const { grouping } = ruleState.origin;
    const { operation, undo } =
      change.summary === undefined
        ? groups.enter(built.operation, {
            event,
            before: before?.row,
            grouping,
            pipeline: change.pipeline ?? change.subject.component?.pipeline,
          })
        : { operation: built.operation, undo: () => {} };
    const now = clock.monotonic();
    const after = { row: operation.incident, observedSince: before?.observedSince ?? now, notifiedAt: now };
    setIncident(ruleState, key, change.status === 'OK' ? undefined : after);
    try {
      await storage.commit(operation);
      faults.recovered();
      const { id: incident, seq } = operation.incident;
      logger[change.summary === undefined ? 'info' : 'debug'](
        { notification: ruleState.origin.notification, subject: key, status: change.status, incident, seq },
        'transition',
      );
      options.enqueue(
        operation.deliveries.filter(({ state }) => state === 'waiting'),
        event,
      );
      return undefined;
    } catch (error) {
      undo(isConflict(error));
      await rollBack(ruleState, key, before, error);
      return error;
    }
  }

  return {
    notify(ruleState, change) {
      const { key } = change.subject;
      const work: Promise<unknown> = write(ruleState, change)
        .catch((error: unknown) => {
          logger.error({ reason: reasonOf(error) }, 'a transition was given up until the next evaluation');
          return error;
        })
        .finally(() => {
          inProgress.delete(work);
          ruleState.writing.delete(key);
        });
      inProgress.add(work);
      ruleState.writing.set(key, work);
      return work;
    },
    resume,
    groups,
    async idle() {
      await Promise.all(inProgress);
    },
  };
}
