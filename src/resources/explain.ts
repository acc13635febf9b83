import * as z from 'zod';
import { authorise } from '../auth/actor.ts';
import { invalidField } from '../auth/users/user.ts';
import { didYouMean } from '../config/problems.ts';
import { AppError } from '../lib/errors.ts';
import type { ExplainedRule, ExplainRequest } from '../notifications/explain.ts';
import { type ExternalEvent, readExternalEvents } from '../notifications/external-events.ts';
import { type Notification, TARGET_HEALTH } from '../notifications/notification.ts';
import { createComponentMatcher, isExact, subjectOf } from '../notifications/subjects.ts';
import { type Component, componentName } from '../pipelines/components/component.ts';
import { asNeverSeen, componentSourcesOf, knownComponents } from './components.ts';
import type { Call } from './context.ts';
import { type Asker, asking, type MessageReport, messageReport } from './explained-message.ts';
import { type DescribedIncident, describeIncidents } from './notified.ts';
import { defineVerb } from './verb.ts';

/** Subjects of a notification, notifications of an answer, and targets of a message that are listed; the rest is counted. */
const MOST_LISTED = 100;
/** Names that a mistyped one is compared with. */
const MOST_COMPARED = 2000;

export const SUBJECT_STATES = ['open', 'kept', 'pending', 'ok', 'unknown'] as const;

type ExplainedSubject = ExplainedRule['subjects'][number];

/** A subject of a notification with the numbers behind its last verdict. Times are epoch ms. */
export interface SubjectReport extends Pick<ExplainedSubject, 'incident' | 'pendingMs' | 'subject'> {
  readonly state: (typeof SUBJECT_STATES)[number];
  /** Why nothing is known. */
  readonly reason: string | undefined;
  readonly facts: ExplainedSubject['explanation']['facts'];
  /** When an incident opens at the earliest, and what has to be so until then; undefined while one is open. */
  readonly firesAt: number | undefined;
  readonly provided: string;
}

export interface NotificationReport {
  readonly notification: Notification;
  /** What keeps it from alerting, with the remedy. */
  readonly note: string | undefined;
  readonly total: number;
  readonly subjects: readonly SubjectReport[];
  readonly message: MessageReport | undefined;
}

export interface ExplainAnswer {
  readonly at: number;
  readonly about: { readonly kind: 'notification' | 'component' | 'incident' | 'event'; readonly id: string };
  /** What a person should know first. */
  readonly note: string | undefined;
  readonly incident: DescribedIncident | undefined;
  readonly total: number;
  readonly notifications: readonly NotificationReport[];
}

const id = z.string().min(1).max(512).optional();

/** Names exactly one. Throws `not-found` with the remedy. */
export const explain = defineVerb({
  permission: 'read:notifications',
  input: z.object({
    notification: id.describe('Id of the notification that is explained.'),
    component: id.describe('The input or output that is explained: `type:id` or an id.'),
    incident: id.describe('Id of the incident that is explained.'),
  }),
  run(call, { notification, component, incident }): Promise<ExplainAnswer> {
    const given = [notification, component, incident].filter(one => one !== undefined);
    if (given.length !== 1)
      throw invalidField('notification', 'or component or incident must be given, exactly one of them');
    if (component !== undefined) return explainComponent(call, component);
    if (incident !== undefined) return explainIncident(call, incident);
    return explainNotification(call, notification ?? '');
  },
});

/** What an external event would do. Nothing is sent or stored. */
export const explainEvent = defineVerb({
  permission: 'read:notifications',
  input: z.object({
    body: z.strictObject({
      event: z.record(z.string(), z.unknown()).describe('One event as `POST /ingest/events` takes it.'),
    }),
  }),
  async run(call, { body }): Promise<ExplainAnswer> {
    const [event] = readExternalEvents(body.event);
    if (event === undefined) throw invalidField('event', 'must be an event');
    return explainPosted(call, event);
  },
});

async function explainNotification(call: Call, wanted: string): Promise<ExplainAnswer> {
  const notifications = notificationsOf(call);
  const found = notifications.find(one => one.id === wanted);
  if (found === undefined)
    throw missing(
      'notification',
      wanted,
      notifications.map(one => one.id),
      'headgate notifications list',
    );
  const report = await reportOf(asking(call), found, { limit: MOST_LISTED });
  return answerOf(call, { kind: 'notification', id: wanted }, [report], {});
}

/** Those of the group that the call is about. */
function notificationsOf({ context, group }: Call): readonly Notification[] {
  const { notifications } = context.configuration();
  return group === undefined ? notifications : notifications.filter(one => one.group === group);
}

/** The numbers of inputs and outputs are shown to who may read those. */
function authoriseNumbers({ actor }: Call, { rule }: Notification): void {
  const { components: selector } = rule;
  if (selector === undefined) return;
  for (const kind of ['input', 'output'] as const)
    if (selector.kind === kind || selector.kind === 'either') authorise(actor, `read:${kind}s`);
}

async function explainComponent(call: Call, name: string): Promise<ExplainAnswer> {
  authorise(call.actor, 'read:inputs');
  authorise(call.actor, 'read:outputs');
  const notifications = notificationsOf(call);
  const components = componentsNamed(call, name);
  const watching = notifications.filter(({ rule: { components: selector } }) => {
    if (selector === undefined) return false;
    if (components.length === 0) return isExact(selector) && selector.name === name;
    const matches = createComponentMatcher(selector, selector.kind);
    return components.some(matches) || (isExact(selector) && selector.name === name);
  });
  if (components.length === 0 && watching.length === 0) throw missingComponent(call, name);
  const wanted = new Set(components.map(keyOf));
  const isWanted = ({ component, name: own }: ExplainedSubject['subject']): boolean =>
    component === undefined
      ? own === name || components.some(one => componentName(one) === own || one.id === own)
      : wanted.has(keyOf(component));
  const asker = asking(call);
  const reports: NotificationReport[] = [];
  // One after the other: each lets others have their turn.
  for (const one of watching.slice(0, MOST_LISTED))
    reports.push(await reportOf(asker, one, { isWanted, limit: MOST_LISTED }));
  const isWatched = watching.some(({ disabled }) => !disabled);
  return answerOf(call, { kind: 'component', id: name }, reports, {
    note: isWatched ? undefined : unwatched(name, watching.length),
    total: watching.length,
  });
}

/** Subjects do not name their kind. */
const keyOf = (component: Component): string => `${component.kind} ${subjectOf(component).key}`;

const unwatched = (name: string, disabled: number): string =>
  `${disabled > 0 ? 'only disabled notifications are' : 'no notification is'} about ${name}, so that nobody is notified of it; \`headgate suggest ${name}\` shows thresholds that suit it, and a notification with \`conf.name: ${name}\` watches it`;

/** Also those that a file declares and that were never seen. */
function componentsNamed({ context, group }: Call, name: string): readonly Component[] {
  const sources = componentSourcesOf(context);
  return (['input', 'output'] as const).flatMap(kind => {
    const matches = createComponentMatcher({ name }, kind);
    return knownComponents(sources, kind)
      .slice()
      .map(known => known.component ?? asNeverSeen(known))
      .filter(component => matches(component) && (group === undefined || component.group === group));
  });
}

function missingComponent({ context }: Call, name: string): AppError {
  const sources = componentSourcesOf(context);
  const names = (['input', 'output'] as const).flatMap(kind =>
    knownComponents(sources, kind)
      .slice(0, MOST_COMPARED)
      .flatMap(known => [known.id, `${known.type}:${known.id}`]),
  );
  return missing('component', name, names, '`headgate inputs list` and `headgate outputs list`');
}

function missing(kind: string, wanted: string, names: readonly string[], list: string): AppError {
  const hint = didYouMean(wanted, names.slice(0, MOST_COMPARED));
  return new AppError(
    'not-found',
    `${kind} '${wanted}' not found${hint || `; ${list} shows which there are`}`,
  );
}

async function explainIncident(call: Call, wanted: string): Promise<ExplainAnswer> {
  const { actor, context } = call;
  authorise(actor, 'read:incidents');
  const row = await context.stores.incidents.get(wanted);
  if (row === undefined) throw missing('incident', wanted, [], '`headgate incidents list`');
  const [incident] = await describeIncidents(context, [row]);
  if (incident === undefined) throw new Error('an incident was not described');
  const notification = notificationsOf(call).find(one => one.id === row.notification);
  if (notification === undefined && call.group !== undefined)
    throw missing('incident', wanted, [], '`headgate incidents list`');
  const isWanted = ({ key }: ExplainedSubject['subject']): boolean => key === row.subject;
  const reports =
    notification === undefined
      ? []
      : [await reportOf(asking(call), notification, { isWanted, limit: MOST_LISTED })];
  return answerOf(call, { kind: 'incident', id: wanted }, reports, {
    note: noteOf(incident, notification),
    incident,
  });
}

function noteOf({ row }: DescribedIncident, notification: Notification | undefined): string | undefined {
  if (row.notification === TARGET_HEALTH)
    return 'Headgate itself opened it, as a target fails; it closes once the target takes messages again';
  if (notification === undefined) return `its notification '${row.notification}' is no longer configured`;
  return row.state === 'closed' ? 'it is closed; what follows is about the next one' : undefined;
}

async function explainPosted(call: Call, event: ExternalEvent): Promise<ExplainAnswer> {
  const { context } = call;
  const notifications = notificationsOf(call);
  const effects = await context.explainer.explainEvent(event);
  const taking = effects.flatMap(({ notification, ...rest }) => {
    const found = notifications.find(one => one.id === notification);
    return found === undefined ? [] : [{ notification: found, ...rest }];
  });
  const asker = asking(call);
  const reports: NotificationReport[] = [];
  for (const { notification, effect, message } of taking.slice(0, MOST_LISTED)) {
    const about = { firesAt: asker.at, key: effect.subject.key };
    reports.push({
      ...{ notification, total: 1, subjects: [] },
      note: effect.reason,
      message: message && (await messageReport(asker, notification, message, about)),
    });
  }
  return answerOf(call, { kind: 'event', id: event.key }, reports, {
    note: taking.length > 0 ? undefined : untaken(event, notifications),
    total: taking.length,
  });
}

function untaken({ condition }: ExternalEvent, notifications: readonly Notification[]): string {
  const same = notifications.filter(one => one.condition === condition);
  if (same.length === 0)
    return `no notification has the condition ${condition}, so that nobody is notified; add one with \`condition: ${condition}\``;
  const names = same.slice(0, 10).map(one => `'${one.id}'${one.disabled ? ' (disabled)' : ''}`);
  return `no enabled notification takes it; ${names.join(', ')} with this condition ${same.length === 1 ? 'is' : 'are'} disabled, or for other keys`;
}

function answerOf(
  { context }: Call,
  about: ExplainAnswer['about'],
  notifications: readonly NotificationReport[],
  {
    note,
    incident,
    total = notifications.length,
  }: Partial<Pick<ExplainAnswer, 'note' | 'incident' | 'total'>>,
): ExplainAnswer {
  return { at: context.clock.now(), about, note, incident, total, notifications };
}

async function reportOf(
  asker: Asker,
  notification: Notification,
  request: ExplainRequest,
): Promise<NotificationReport> {
  const { context } = asker.call;
  authoriseNumbers(asker.call, notification);
  const explained = await context.explainer.explain(notification.id, request);
  if (explained === undefined) {
    const note = notification.disabled
      ? 'it is disabled: nothing is evaluated and nobody is notified; set `disabled: false`'
      : 'it is not evaluated yet; ask again in a second';
    return { notification, note, total: 0, subjects: [], message: undefined };
  }
  const now = asker.at;
  const subjects = explained.subjects.map(one => subjectReport(one, notification, now));
  const first = subjects.find(({ subject }) => subject.key === explained.about);
  const about = { firesAt: first?.firesAt ?? now, key: explained.about };
  return {
    ...{ notification, subjects, total: explained.total, note: emptyNote(notification, explained) },
    message: await messageReport(asker, notification, explained.message, about),
  };
}

function emptyNote({ rule }: Notification, { total }: ExplainedRule): string | undefined {
  if (total > 0) return undefined;
  if (rule.source === 'external') return 'no incident is open; it alerts when an event is posted';
  return 'nothing matches it now, so that it cannot alert; what follows is a sample';
}

function subjectReport(
  { subject, verdict, explanation, incident, pendingMs }: ExplainedSubject,
  { forMs }: Notification,
  now: number,
): SubjectReport {
  const isAlarm = verdict.state === 'alarm';
  const inMs = isAlarm ? forMs - (pendingMs ?? 0) : explanation.alarmInMs + forMs;
  return {
    ...{ subject, incident, pendingMs, facts: explanation.facts },
    state: incident === undefined ? (isAlarm ? 'pending' : verdict.state) : stateOf(isAlarm),
    reason: verdict.state === 'unknown' ? verdict.reason : undefined,
    firesAt: incident === undefined ? now + Math.max(0, inMs) : undefined,
    provided: isAlarm ? 'its condition still holds then' : explanation.provided,
  };
}

const stateOf = (isAlarm: boolean): 'open' | 'kept' => (isAlarm ? 'open' : 'kept');
