import type { Description, Subject } from '../../conditions/condition.ts';
import { type HeadgateEvent, parseSeverity, type Severity } from '../../events/event.ts';
import type { Ids } from '../../lib/ids.ts';
import type { PipelineState } from '../../pipelines/components/component.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import { type DeliveryRow, newDelivery } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { MessageRow } from '../../storage/stores/messages.ts';
import { withMetadata } from '../metadata.ts';
import { notifiedTargets, type RuleOrigin } from '../rule-state.ts';
import { kindAmongEither } from '../subjects.ts';
import { type ConditionChanges, changeColumns, changesOf, NO_CHANGES } from './condition-changes.ts';

/** The subject of a transition. */
export interface ChangeSubject extends Pick<Subject, 'key' | 'name' | 'component'> {
  /** The pipeline, where the subject is one that is configured. */
  readonly pipeline?: Pick<PipelineState, 'id' | 'engine' | 'group'>;
}

/** A change of an incident that is to be written and notified. */
export interface IncidentChange {
  readonly workspace: string;
  readonly origin: RuleOrigin;
  readonly subject: ChangeSubject;
  readonly status: 'ALARM' | 'OK';
  readonly description: Description;
  /** The event's id; by default a new one. */
  readonly eventId?: string | undefined;
  /** The incident before the change; undefined to open one. */
  readonly incident: IncidentRow | undefined;
  /** How its condition has changed; by default as before. */
  readonly changes?: ConditionChanges | undefined;
  /** True when the incident stays open whatever the status, and nobody is notified. */
  readonly isKept?: boolean;
  /** Id of the incident that summarizes it, when it is part of a flood. */
  readonly summary?: string | undefined;
  /** Why it closes, when the condition itself did not end. */
  readonly closeReason: string | undefined;
  /** Ids of the targets that get the event. */
  readonly recipients: readonly string[];
  /** Replaces routers by the targets they lead to; omitted where none routes. */
  readonly routed?: (recipients: readonly string[], event: HeadgateEvent) => readonly string[];
  /** Epoch ms. */
  readonly now: number;
  readonly ids: Ids;
  /** The URL at which people open this Headgate; for the link to the incident. */
  readonly externalUrl: string | undefined;
  /** Called for a field of metadata that is omitted, with the reason. */
  readonly fieldOmitted: (field: string, reason: string) => void;
  /** The bulletin's row for the notification after this change. */
  readonly bulletin: (event: HeadgateEvent) => MessageRow;
}

export interface Transition {
  readonly operation: TransitionOperation;
  readonly event: HeadgateEvent;
}

/**
 * Makes one operation of all that follows from a change: the incident, its event, a delivery for each target, the
 * bulletin.
 */
export function transition(change: IncidentChange): Transition {
  const id = change.incident?.id ?? change.ids.next();
  const event = withMetadata(eventOf(change, id), change.origin.settings.metadata ?? [], change.fieldOmitted);
  const recipients = change.routed?.(change.recipients, event) ?? change.recipients;
  const incident = incidentAfter(change, id, recipients);
  return {
    event,
    operation: {
      kind: 'transition',
      workspace: change.workspace,
      expectedSeq: change.incident?.seq ?? 0,
      incident,
      event: { id: event.id, incident_id: incident.id, body: JSON.stringify(event), created_at: change.now },
      deliveries: recipients.map(target => deliveryOf(change, incident, event, target)),
      message: change.bulletin(event),
    },
  };
}

function incidentAfter(change: IncidentChange, id: string, recipients: readonly string[]): IncidentRow {
  const { incident, origin, now } = change;
  const closes = change.status === 'OK' && change.isKept !== true;
  const changes = change.changes ?? (incident === undefined ? NO_CHANGES : changesOf(incident));
  const notified = incident === undefined ? [] : notifiedTargets(incident);
  return {
    id,
    notification: origin.id,
    condition: origin.condition,
    subject: change.subject.key,
    state: closes ? 'closed' : 'open',
    seq: (incident?.seq ?? 0) + 1,
    opened_at: incident?.opened_at ?? now,
    closed_at: closes ? now : null,
    close_reason: closes ? (change.closeReason ?? 'resolved') : null,
    severity: incident?.severity ?? origin.settings.severity,
    text: change.description.text,
    rule: origin.fingerprint,
    notified: JSON.stringify(closes ? notified : [...new Set([...notified, ...recipients])]),
    last_event_at: change.isKept === true && incident !== undefined ? incident.last_event_at : now,
    group_id: incident?.group_id ?? change.summary ?? null,
    inhibited_by: incident?.inhibited_by ?? null,
    reported_state: change.description.reportedState ?? null,
    ...changeColumns(changes),
  };
}

function eventOf(change: IncidentChange, incidentId: string): HeadgateEvent {
  const { origin, subject, now } = change;
  const { settings, subjectKind } = origin;
  const { component, pipeline } = subject;
  const kind = subjectKind === 'either' ? (component?.kind ?? kindAmongEither(subject.key)) : subjectKind;
  const seconds = Math.floor(now / 1000);
  return {
    id: change.eventId ?? change.ids.next(),
    status: change.status,
    condition: origin.condition,
    cribl_notification: origin.id,
    [kind]: subject.name,
    ...(component && { origin_metadata: { type: kind, id: component.id, subType: component.type } }),
    ...(pipeline && { origin_metadata: { type: kind, id: pipeline.id, subType: pipeline.engine } }),
    _time: seconds,
    starttime: Math.floor((now - origin.windowMs) / 1000),
    endtime: seconds,
    ...change.description.fields,
    severity: change.status === 'OK' ? 'info' : settings.severity,
    incidentId,
    ...(change.externalUrl !== undefined && { incidentUrl: incidentUrl(change.externalUrl, incidentId) }),
    ...(settings.description !== undefined && { description: settings.description }),
    ...(settings.runbookUrl !== undefined && { runbookUrl: settings.runbookUrl }),
    _raw: change.description.text,
    // The recipients of this moment: mail that is sent later, or again, keeps them.
    ...(origin.targetConfigs && { __targetConfigs: origin.targetConfigs }),
    ...(component && { __worker_group: component.group, __pipeline: component.pipeline }),
    ...(pipeline && { __worker_group: pipeline.group, __pipeline: pipeline.id }),
  };
}

const incidentUrl = (externalUrl: string, id: string): string =>
  `${externalUrl.replace(/\/+$/, '')}/#/incidents/${id}`;

function deliveryOf(
  change: IncidentChange,
  incident: IncidentRow,
  event: HeadgateEvent,
  target: string,
): DeliveryRow {
  return newDelivery({
    id: change.ids.next(),
    target,
    notification: change.origin.id,
    subject: incident.subject,
    incident_id: incident.id,
    event_id: event.id,
    seq: incident.seq,
    status: change.status,
    created_at: change.now,
  });
}

/** How a target shows an event to people; `text` is undefined where its type sets none. */
export interface BulletinTarget {
  readonly title: string | undefined;
  readonly severity: Severity | undefined;
  text(event: HeadgateEvent): string | undefined;
}

/**
 * The one row of the bulletin that a notification keeps, whether or not it has a bulletin_message target: that target
 * only sets heading, text and severity. `openCount` is the number of its open incidents after the event, with that of
 * the event itself where `isOpen`.
 */
export function bulletinRow(
  origin: RuleOrigin,
  targets: readonly BulletinTarget[],
  event: HeadgateEvent,
  { openCount, isOpen: isOwnOpen }: { readonly openCount: number; readonly isOpen: boolean },
): MessageRow {
  const own = targets
    .map(target => ({ ...target, text: target.text(event) }))
    .find(({ text }) => text !== undefined);
  const others = openCount - (isOwnOpen ? 1 : 0);
  const isOpen = others > 0 || isOwnOpen;
  return {
    id: origin.id,
    severity: isOpen
      ? (parseSeverity(event.__severity) ?? own?.severity ?? origin.settings.severity)
      : event.severity,
    title: own?.title ?? 'Notification',
    text: `${own?.text ?? event._raw}${others > 0 ? ` (${others} more open)` : ''}`,
    time: event._time * 1000,
    group_name: null,
    metadata: null,
  };
}
