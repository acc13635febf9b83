import { WHOLE_EVENT_FIELDS } from '../../conditions/index.ts';
import type { Outbox } from '../../delivery/dispatcher.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { withAttachedFields } from '../../events/outgoing.ts';
import type { ExpressionWarnings } from '../../expressions/warnings.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { AppError, reasonOf } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { resolveRoutes, type Target, type TracedRoutes, traceRoutes } from '../../targets/target.ts';
import type { Groups } from '../grouping/groups.ts';
import {
  notifiedTargets,
  type OpenIncident,
  openIncident,
  otherSubjects,
  type RuleState,
} from '../rule-state.ts';
import { lastDeliveryHints } from './last-event.ts';
import { type BulletinTarget, bulletinRow, type IncidentChange, transition } from './transition.ts';

export interface IncidentsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly observedClock: Pick<Clock, 'monotonic'>;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly expressionWarnings: ExpressionWarnings;
  /** Takes over the deliveries of an event as soon as they are on disk. */
  readonly outbox: Pick<Outbox, 'enqueue'>;
  readonly groups: Groups;
  readonly acknowledgements: {
    isAcknowledged(incident: string): boolean;
    /** Called once its end is on disk. */
    incidentClosed(incident: string): void;
  };
  readonly inhibitors: {
    /** Resolves when it is known which incidents inhibit others; undefined when it is. */
    ready(): Promise<void> | undefined;
    /** Called when a transition is handed to the disk. Answers what takes it back when the disk refuses. */
    changing(incident: IncidentRow, event: HeadgateEvent): () => void;
  };
  /** The URL at which people open this Headgate. */
  readonly externalUrl: () => string | undefined;
  /** The value of `cribl_host`. */
  readonly instanceName: () => string;
  readonly targets: ReadonlyMap<string, Target>;
  /** Finds what makes the message of a change stand alone, at once where nothing has to be read for it. */
  readonly factsOf: (
    change: Pick<StateChange, 'pipeline' | 'status' | 'subject'>,
  ) => IncidentChange['facts'] | Promise<IncidentChange['facts']>;
}

/** A change of a subject's state that is to be notified. */
export interface StateChange
  extends Pick<
    IncidentChange,
    'description' | 'status' | 'subject' | 'changes' | 'isKept' | 'isReminder' | 'escalation'
  > {
  readonly closeReason?: string;
  /** Id of the incident that summarizes it: no target is notified of it by itself. */
  readonly summary?: string;
  /** The pipeline of all incidents in a summary; by default that of its component. */
  readonly pipeline?: string | undefined;
  readonly eventId?: string;
}

/** Opens, repeats and closes incidents; memory runs ahead of the disk and goes back when the disk refuses. */
export interface Incidents {
  /**
   * Resolves when it is on disk, with the reason when it is not. No other change of the subject may be notified
   * meanwhile.
   */
  notify(rule: RuleState, change: StateChange): Promise<unknown>;
  /** Makes an incident of the store into one that this process goes on with. */
  resume(row: IncidentRow): OpenIncident;
  /** True while all that its targets were to get of it is inhibited. */
  isInhibited(row: IncidentRow): boolean;
  /** True while no target was to get anything of it yet, as its alarm waits for all of them. */
  isHeld(row: IncidentRow): boolean;
  /** True when somebody looks after it: nobody is reminded of it. */
  isAcknowledged(row: IncidentRow): boolean;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
}

/** A change that nobody has made. */
export interface PreviewedChange {
  readonly event: HeadgateEvent;
  readonly deliveries: ReturnType<Groups['preview']>;
  /** By which routes its targets get it. */
  readonly traced: TracedRoutes;
  /** Expressions that failed, with the setting in front. */
  readonly warnings: readonly string[];
}

export interface IncidentPreviews {
  /** The event and the deliveries that a change would have now; nothing is written. */
  preview(rule: RuleState, change: StateChange): Promise<PreviewedChange>;
}

export class StoredIncidents implements Incidents, IncidentPreviews {
  readonly #options: IncidentsOptions;
  readonly #faults: CountedLog;
  readonly #inProgress = new Set<Promise<unknown>>();

  constructor(options: IncidentsOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'transitions cannot be written',
      over: 'transitions can be written again',
    });
  }

  notify(rule: RuleState, change: StateChange): Promise<unknown> {
    const { key } = change.subject;
    const work: Promise<unknown> = this.#write(rule, change)
      .catch((error: unknown) => {
        this.#options.logger.error(
          { reason: reasonOf(error) },
          'a transition was given up until the next evaluation',
        );
        return error;
      })
      .finally(() => {
        this.#inProgress.delete(work);
        rule.writing.delete(key);
      });
    this.#inProgress.add(work);
    rule.writing.set(key, work);
    return work;
  }

  async preview(rule: RuleState, change: StateChange): Promise<PreviewedChange> {
    const { groups, targets } = this.#options;
    const warnings: string[] = [];
    const failed: ExpressionWarnings = {
      warn: ({ target }, reason) =>
        void warnings.push(target === undefined ? reason : `target '${target}': ${reason}`),
    };
    const facts = await this.#options.factsOf(change);
    const asked = this.#changeOf(rule, change, facts, failed);
    const { event, operation } = transition(asked);
    const deliveries = groups.preview(operation, {
      event,
      before: rule.incidents.get(change.subject.key)?.row,
      grouping: rule.origin.grouping,
      pipeline: change.pipeline ?? change.subject.component?.pipeline,
    });
    const traced = traceRoutes(asked.recipients, event, targets, failed);
    return { event, deliveries, traced, warnings: [...new Set(warnings)] };
  }

  resume(row: IncidentRow): OpenIncident {
    const { clock, observedClock } = this.#options;
    const sinceLastMs = Math.max(0, clock.now() - row.last_event_at);
    return openIncident(row, {
      observedSince: observedClock.monotonic(),
      notifiedAt: clock.monotonic() - sinceLastMs,
    });
  }

  isInhibited(row: IncidentRow): boolean {
    return this.#options.groups.isInhibited(row);
  }

  isHeld(row: IncidentRow): boolean {
    return this.#options.groups.isHeld(row);
  }

  isAcknowledged({ id }: IncidentRow): boolean {
    return this.#options.acknowledgements.isAcknowledged(id);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#inProgress);
  }

  async #write(rule: RuleState, requested: StateChange): Promise<unknown> {
    const { clock, observedClock, storage, logger, groups, inhibitors } = this.#options;
    const { key } = requested.subject;
    const { isKept = false } = requested;
    const isExternalEnd = requested.status === 'OK' && !isKept && rule.origin.subjectKind === 'key';
    const change = isExternalEnd ? await this.#withDeliveryHints(rule, requested) : requested;
    const undecided = inhibitors.ready();
    if (undecided !== undefined) await undecided;
    const found = isKept || change.summary !== undefined ? {} : this.#options.factsOf(change);
    // Nothing is awaited where nothing is read.
    const facts = found instanceof Promise ? await found : found;
    const before = rule.incidents.get(key);
    const built = transition(this.#changeOf(rule, change, facts));
    const { event } = built;
    const { operation, undo } =
      change.summary === undefined && !isKept
        ? groups.enter(built.operation, {
            event,
            before: before?.row,
            grouping: rule.origin.grouping,
            pipeline: change.pipeline ?? change.subject.component?.pipeline,
          })
        : { operation: built.operation, undo: () => {} };
    const restore = inhibitors.changing(operation.incident, event);
    const after = openIncident(operation.incident, {
      observedSince: before?.observedSince ?? observedClock.monotonic(),
      notifiedAt: (isKept || change.escalation ? before?.notifiedAt : undefined) ?? clock.monotonic(),
    });
    setIncident(rule, key, operation.incident.state === 'closed' ? undefined : after);
    try {
      await storage.commit(operation);
      groups.written(operation);
      if (operation.incident.state === 'closed')
        this.#options.acknowledgements.incidentClosed(operation.incident.id);
      this.#faults.recovered();
      const { id: incident, seq } = operation.incident;
      logger[change.summary === undefined ? 'info' : 'debug'](
        { notification: rule.origin.id, subject: key, status: change.status, incident, seq },
        isKept ? 'the condition changed; the alarm is kept' : 'transition',
      );
      if (isKept) return undefined;
      this.#options.outbox.enqueue(
        operation.deliveries.filter(({ state }) => state === 'waiting'),
        event,
      );
      return undefined;
    } catch (error) {
      undo(isConflict(error));
      restore();
      await this.#rollBack(rule, key, before, error);
      return error;
    }
  }

  #changeOf(
    rule: RuleState,
    change: StateChange,
    facts: IncidentChange['facts'],
    expressionWarnings = this.#options.expressionWarnings,
  ): IncidentChange {
    const { clock, ids, targets, workspace, externalUrl } = this.#options;
    const open = rule.incidents.get(change.subject.key);
    const { isKept = false } = change;
    const isEnd = change.status === 'OK' && !isKept;
    const notified =
      isEnd && open !== undefined ? notifiedTargets(open.row) : (change.escalation?.targets ?? rule.targets);
    const openAfter = rule.incidents.size + (isEnd ? -1 : open === undefined ? 1 : 0);
    const notification = rule.origin.id;
    const routed = (ids: readonly string[], event: HeadgateEvent) =>
      resolveRoutes(ids, event, targets, expressionWarnings);
    const bulletinTargets = (event: HeadgateEvent) =>
      routed(rule.targets, event).flatMap(id => this.#bulletinTarget(targets.get(id), rule));
    return {
      workspace,
      origin: rule.origin,
      subject: change.subject,
      status: change.status,
      description: change.description,
      facts,
      eventId: change.eventId,
      incident: open?.row,
      closeReason: change.closeReason,
      changes: change.changes,
      isKept,
      isReminder: change.isReminder,
      escalation: change.escalation,
      summary: change.summary,
      recipients: change.summary === undefined && !isKept ? notified.filter(id => targets.has(id)) : [],
      now: clock.now(),
      ids,
      externalUrl: externalUrl(),
      routed,
      fieldOmitted: (field, reason) =>
        expressionWarnings.warn(
          { notification },
          `metadata.${field}: ${reason}; the event goes without this field`,
        ),
      bulletin: event =>
        bulletinRow(rule.origin, bulletinTargets(event), event, {
          openCount: openAfter,
          isOpen: !isEnd,
          others: otherSubjects(rule, change.subject.key),
        }),
    };
  }

  /** The bulletin's text for an event, with the system fields of the target. */
  #bulletinTarget(target: Target | undefined, { origin }: RuleState): readonly BulletinTarget[] {
    if (target === undefined) return [];
    const { expressionWarnings, instanceName } = this.#options;
    const { id, systemFields } = target.settings;
    const warn = (reason: string): void =>
      expressionWarnings.warn({ notification: origin.id, target: id }, reason);
    return [
      {
        title: target.bulletinTitle,
        severity: target.bulletinSeverity,
        text: event =>
          target.bulletinText(withAttachedFields(event, systemFields, instanceName()), {
            warn,
            knownFields: WHOLE_EVENT_FIELDS,
          }),
      },
    ];
  }

  /** Restores memory: nothing was written, so the next evaluation decides again. */
  async #rollBack(
    rule: RuleState,
    key: string,
    before: OpenIncident | undefined,
    error: unknown,
  ): Promise<void> {
    this.#faults.failed(error, { subject: key });
    setIncident(rule, key, before);
    if (!isConflict(error)) return;
    const { id, fingerprint } = rule.origin;
    const { storage, workspace } = this.#options;
    const open = await storage.in(workspace).incidents.open();
    const row = open.find(one => one.notification === id && one.subject === key && one.rule === fingerprint);
    setIncident(rule, key, row && this.resume(row));
  }

  /** Sends the end of an external incident where its alarm went, unless its sender gives other hints. */
  async #withDeliveryHints(rule: RuleState, change: StateChange): Promise<StateChange> {
    const { storage, workspace } = this.#options;
    const open = rule.incidents.get(change.subject.key);
    const hints = open === undefined ? {} : await lastDeliveryHints(storage.in(workspace), open.row.id);
    const { description } = change;
    return { ...change, description: { ...description, fields: { ...hints, ...description.fields } } };
  }
}

function setIncident(rule: RuleState, key: string, incident: OpenIncident | undefined): void {
  if (incident === undefined) rule.incidents.delete(key);
  else rule.incidents.set(key, incident);
}

export const isConflict = (error: unknown): boolean => error instanceof AppError && error.code === 'conflict';
