import type { Description, Subject } from '../../conditions/condition.ts';
import { END_SEVERITY, type HeadgateEvent, parseSeverity, type Severity } from '../../events/event.ts';
import { type EventFacts, standaloneText } from '../../events/facts.ts';
import type { Ids } from '../../lib/ids.ts';
import { wellFormed } from '../../lib/text.ts';
import type { Component, Components, PipelineState } from '../../pipelines/components/component.ts';
import type { UsualRates } from '../../pipelines/history/usual-rate.ts';
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
  /** True when nothing has changed and its targets are reminded. */
  readonly isReminder?: boolean | undefined;
  /** Set when it goes to further targets, as nobody has acknowledged it. */
  readonly escalation?: Escalation | undefined;
  /** Id of the incident that summarizes it, when it is part of a flood. */
  readonly summary?: string | undefined;
  /** By default none. */
  readonly facts?: EventFacts | undefined;
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

interface Escalation {
  /** For how long nobody has acknowledged it, such as `15m`. */
  readonly after: string;
  /** Ids of the further targets. */
  readonly targets: readonly string[];
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
  // Of many rows a literal is made much faster than what is spread into one.
  const { unmet_since, flapping_changes, last_changes } = changeColumns(changes);
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
    reminders: remindersAfter(change),
    last_event_at: isNotOfTargets(change) && incident !== undefined ? incident.last_event_at : now,
    escalated_at: change.escalation === undefined ? (incident?.escalated_at ?? null) : now,
    group_id: incident?.group_id ?? change.summary ?? null,
    inhibited_by: incident?.inhibited_by ?? null,
    reported_state: change.description.reportedState ?? null,
    unmet_since,
    flapping_changes,
    last_changes,
  };
}

/** The targets of the notification itself get nothing of it, so that their next reminder comes when it would have. */
const isNotOfTargets = ({ isKept, escalation }: IncidentChange): boolean =>
  isKept === true || escalation !== undefined;

const remindersAfter = ({ incident, isReminder }: IncidentChange): number =>
  (incident?.reminders ?? 0) + (isReminder === true ? 1 : 0);

/** A reminder says which one it is. */
const reminderFields = (change: IncidentChange): EventFacts =>
  change.isReminder === true && change.incident !== undefined
    ? { reminder: remindersAfter(change), since: sinceOf(change) }
    : {};

/** Since when the incident is open, in epoch seconds. */
const sinceOf = ({ incident, now }: IncidentChange): number =>
  Math.floor((incident?.opened_at ?? now) / 1000);
const escalationFields = (change: IncidentChange): Record<string, unknown> =>
  change.escalation !== undefined ? { escalated: true, since: sinceOf(change) } : {};

const textOf = ({ description: { text }, escalation }: IncidentChange): string =>
  escalation === undefined ? text : `${text} (not acknowledged for ${escalation.after})`;

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
    ...change.facts,
    since: sinceOf(change),
    ...change.description.fields,
    ...reminderFields(change),
    ...escalationFields(change),
    severity: change.status === 'OK' ? END_SEVERITY : settings.severity,
    incidentId,
    ...linksOf(change, incidentId, {
      ...(component && { pipeline: component.pipeline }),
      [kind]: subject.name,
    }),
    ...(settings.description !== undefined && { description: settings.description }),
    ...(settings.runbookUrl !== undefined && { runbookUrl: settings.runbookUrl }),
    _raw: textOf(change),
    // The recipients of this moment: mail that is sent later, or again, keeps them.
    ...(origin.targetConfigs && { __targetConfigs: origin.targetConfigs }),
    ...(component && { __worker_group: component.group, __pipeline: component.pipeline }),
    ...(pipeline && { __worker_group: pipeline.group, __pipeline: pipeline.id }),
  };
}

/** An alarm also has a link to a new silence that fits it: its notification on its subject. */
function linksOf(
  { externalUrl, origin, status }: IncidentChange,
  incidentId: string,
  subject: Readonly<Record<string, string>>,
): Record<string, string> {
  if (externalUrl === undefined) return {};
  const base = externalUrl.replace(/\/+$/, '');
  const matchers = Object.entries({ cribl_notification: origin.id, ...subject })
    .map(([name, value]) => `matcher=${encodeURIComponent(wellFormed(`${name}=${value}`))}`)
    .join('&');
  return {
    incidentUrl: `${base}/#/incidents/${incidentId}`,
    ...(status === 'ALARM' && { silenceUrl: `${base}/silences/new?${matchers}` }),
  };
}

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

interface OpenIncidents {
  readonly openCount: number;
  readonly isOpen: boolean;
  readonly others: readonly string[];
}

const listed = (names: readonly string[], count: number): string =>
  names.join(', ') + (count > names.length ? ' …' : '');

/**
 * The one row of the bulletin that a notification keeps, whether or not it has a bulletin_message target: that target
 * only sets heading, text and severity. `openCount` is the number of its open incidents after the event, with that of
 * the event itself where `isOpen`; `others` are what some of the others are about.
 */
export function bulletinRow(
  origin: RuleOrigin,
  targets: readonly BulletinTarget[],
  event: HeadgateEvent,
  { openCount, isOpen: isOwnOpen, others: names }: OpenIncidents,
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
    // Behind the first line, as lists show no other.
    text: (own?.text ?? standaloneText(event)).replace(/^.*/, line =>
      others > 0 ? `${line} (${others} more open: ${listed(names, others)})` : line,
    ),
    time: event._time * 1000,
    group_name: null,
    metadata: null,
  };
}

export interface FactsOptions {
  readonly components: Pick<Components, 'hosts' | 'lastDataAt' | 'pipeline'>;
  /** Left out, no usual rate is known. */
  readonly usualRates?: UsualRates | undefined;
}

export interface FactsRequest {
  readonly subject: ChangeSubject;
  /** Id of the pipeline of a subject that is no component; undefined where there is none. */
  readonly pipeline?: string | undefined;
  readonly status: 'ALARM' | 'OK';
}

/** Hosts that an event names; the rest is counted. */
const MOST_HOSTS = 3;

/** Where it happened, and in an alarm what was there before; at once where nothing has to be read for it. */
export function collectFacts(
  { subject, pipeline, status }: FactsRequest,
  { components, usualRates }: FactsOptions,
): EventFacts | Promise<EventFacts> {
  const { component } = subject;
  const id = component?.pipeline ?? subject.pipeline?.id ?? pipeline;
  const host = hostOf(component, id, components);
  const place = { ...(id !== undefined && { pipeline: id }), ...(host !== '' && { host }) };
  if (component === undefined || status === 'OK') return place;
  const lastDataAt = components.lastDataAt(component);
  const known = { ...place, ...(lastDataAt !== null && { lastDataAt: Math.floor(lastDataAt / 1000) }) };
  if (usualRates === undefined) return known;
  return usualRates(component).then(usual => ({
    ...known,
    ...(usual?.eventsPerSecond !== undefined && { usualEventsPerSecond: usual.eventsPerSecond }),
    ...(usual?.bytesPerSecond !== undefined && { usualBytesPerSecond: usual.bytesPerSecond }),
  }));
}

/** The hosts that have the component, or that of the pipeline's address. */
function hostOf(
  component: Component | undefined,
  pipeline: string | undefined,
  components: FactsOptions['components'],
): string {
  if (pipeline === undefined) return '';
  // Who pushes without a name of an instance has that of the pipeline.
  const hosts = component === undefined ? [] : components.hosts(component).filter(name => name !== pipeline);
  if (hosts.length === 0) return urlHost(components.pipeline(pipeline)?.url);
  const more = hosts.length - MOST_HOSTS;
  const named = hosts.toSorted().slice(0, MOST_HOSTS).join(', ');
  return more > 0 ? `${named} and ${more} more` : named;
}

const urlHost = (url: string | null | undefined): string =>
  typeof url === 'string' && URL.canParse(url) ? new URL(url).host : '';
