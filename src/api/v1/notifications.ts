import * as z from 'zod';
import { conditions } from '../../conditions/index.ts';
import { inhibitionSchema } from '../../notifications/inhibition/inhibition-rule.ts';
import { notificationSchema } from '../../notifications/notification.ts';
import { type BacktestAnswer, backtestDraft, backtestNotification } from '../../resources/backtest.ts';
import { etagOf } from '../../resources/etag.ts';
import {
  type ExplainAnswer,
  explain,
  explainEvent,
  type NotificationReport,
  SUBJECT_STATES,
  type SubjectReport,
} from '../../resources/explain.ts';
import { RECIPIENT_ROLES, type RecipientReport } from '../../resources/explained-message.ts';
import { HOLD_KINDS } from '../../resources/held.ts';
import {
  createInhibition,
  createNotification,
  type DescribedNotification,
  getInhibition,
  getNotification,
  listInhibitions,
  listNotifications,
  removeInhibition,
  removeNotification,
  updateInhibition,
  updateNotification,
} from '../../resources/notifications.ts';
import { NOTIFIED, RECIPIENT_OUTCOMES } from '../../resources/notified.ts';
import { isoTime, isoTimeOrNull, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

/** `NoData` of `no-data`. */
const kindName = (condition: string): string =>
  condition
    .split('-')
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** What each condition takes as `conf`, by the schemas that `/conditions` shows. */
const union = {
  key: 'condition',
  content: 'conf',
  options: conditions.map(({ id, schema }) => {
    const name = kindName(id);
    return {
      value: id,
      name,
      content: { name: `${name}Conf`, sentAs: `${name}ConfSettings`, isAsWritten: true as const, schema },
    };
  }),
};

/** As in a file, with every default. */
const sentShape: Shape = {
  name: 'Notification',
  sentAs: 'NotificationSettings',
  schema: notificationSchema,
  union,
};

const notificationShape: Shape = {
  name: 'Notification',
  union,
  schema: notificationSchema.extend({
    headgate: z
      .object({
        warning: z
          .string()
          .optional()
          .describe('Why it never alerts, where its pattern matches nothing that was seen.'),
        evaluation: z
          .object({
            milliseconds: z.number().describe('Milliseconds that one evaluation takes, by the clock.'),
            isHeaviest: z.boolean().describe('True for the one of the workspace that takes most.'),
            lateMs: z
              .number()
              .optional()
              .describe(
                'For how long not every notification of the workspace has been evaluated; left out while all are, within `hosted.quotas.evaluationMsPerSecond`.',
              ),
          })
          .optional()
          .describe('What evaluating it takes; in workspaces that have a quota of it.'),
      })
      .optional()
      .describe('In lists.'),
  }),
};

const wireNotification = ({ settings }: DescribedNotification): object => settings;

const backtestSpan = z.object({ from: z.iso.datetime(), to: z.iso.datetime() });

const backtestShape: Shape = {
  name: 'Backtest',
  schema: z.object({
    notification: z.string(),
    ...backtestSpan.shape,
    matched: z.int().describe('How many inputs and outputs it matches now; disabled ones are not evaluated.'),
    incidents: z
      .array(
        z.object({
          subject: z.string(),
          openedAt: z.iso.datetime(),
          closedAt: z.iso.datetime().nullable().describe('Null for one that was open at the end.'),
          severity: z.string(),
          text: z.string().describe('What its last event says.'),
        }),
      )
      .describe('Those that would have been open in that time, newest first, 1,000 at most.'),
    incidentCount: z.int(),
    messages: z
      .array(
        z.object({
          at: z.iso.datetime(),
          target: z.string(),
          events: z.array(z.object({ subject: z.string(), status: z.enum(['ALARM', 'OK']) })),
        }),
      )
      .describe(
        'Those that targets would have been sent, after grouping, muting, silences and routes; 1,000 at most.',
      ),
    messageCount: z.int(),
    coverage: z
      .object({ missing: z.array(backtestSpan) })
      .describe('Times of which no minute was recorded; they count in no window.'),
    exact: z.boolean().describe('False where it may differ from what would have happened, and why.'),
    reasons: z.array(z.string()),
  }),
};

const wireBacktest = ({
  from,
  to,
  incidents,
  messages,
  missing,
  reasons,
  ...rest
}: BacktestAnswer): object => ({
  ...rest,
  ...wireSpan({ from, to }),
  incidents: incidents.map(one => ({
    ...one,
    openedAt: isoTime(one.openedAt),
    closedAt: isoTimeOrNull(one.closedAt),
  })),
  messages: messages.map(one => ({ ...one, at: isoTime(one.at) })),
  coverage: { missing: missing.map(wireSpan) },
  exact: reasons.length === 0,
  reasons,
});

const wireSpan = ({ from, to }: { readonly from: number; readonly to: number }) => ({
  from: isoTime(from),
  to: isoTime(to),
});

const backtestRoute = {
  method: 'POST',
  grouped: true,
  answer: item(backtestShape, wireBacktest),
  errors: ['unprocessable', 'unavailable'],
} as const;

const fact = z.object({
  name: z.string(),
  value: z.number().nullable().describe('Null while it is not known.'),
  unit: z.enum(['milliseconds', 'bytes', 'events', 'per cent', 'days', 'number']),
  alarm: z
    .object({ when: z.enum(['more than', 'less than', 'at least', 'at most']), limit: z.number() })
    .optional()
    .describe('What makes an alarm of it; left out where it only explains another one.'),
  windowMs: z.number().optional().describe('Milliseconds that it is measured over.'),
  observedMs: z.number().optional().describe('How many of them have been observed.'),
  unknown: z.string().optional().describe('Why it is not known.'),
});

const explainedSubject = z.object({
  subject: z.string().describe('As in incidents.'),
  name: z.string(),
  component: z
    .object({ kind: z.enum(['input', 'output']), id: z.string(), group: z.string(), pipeline: z.string() })
    .optional()
    .describe('Of an input or output that was seen.'),
  state: z
    .enum(SUBJECT_STATES)
    .describe(
      '`open`: an incident is open. `kept`: it is open although the condition is not met any more. `pending`: the condition is met, and no incident is open yet.',
    ),
  reason: z.string().optional().describe('Why it is unknown.'),
  facts: z.array(fact).describe('The numbers behind the last verdict.'),
  firesAt: z.iso
    .datetime()
    .optional()
    .describe('When an incident opens at the earliest; left out while one is open.'),
  provided: z.string().describe('What has to be so until then.'),
  incident: z
    .object({ id: z.string(), openedAt: z.iso.datetime(), text: z.string(), severity: z.string() })
    .optional(),
});

const shownMessage = z.object({
  kind: z
    .enum(['request', 'mail', 'text', 'nothing'])
    .describe('`text` is a line of a file, a text of the bulletin, or the input of Publish.'),
  method: z.string().optional(),
  url: z.string().optional().describe('Only the host for those who may not change targets.'),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  from: z.string().optional(),
  to: z.array(z.string()).optional(),
  subject: z.string().optional(),
  title: z.string().optional(),
  text: z.string().optional(),
  html: z.string().optional(),
  reason: z.string().optional().describe('Why nothing would be sent.'),
});

const explainedRecipient = z.object({
  target: z.string(),
  type: z.string().optional(),
  role: z.enum(RECIPIENT_ROLES),
  insteadOf: z.string().optional().describe('The target that it gets it for when that one does not take it.'),
  routes: z
    .array(
      z.object({
        router: z.string(),
        place: z.string().describe('The setting that leads on, such as `routes[0]`.'),
        filter: z.string().optional(),
      }),
    )
    .describe('The way there; empty where the notification names it.'),
  isRecord: z
    .literal(true)
    .optional()
    .describe('It keeps a record, as the bulletin and the log do: nobody is alerted by it.'),
  at: z.iso.datetime().optional().describe('When it is sent at the earliest, if nobody can say left out.'),
  holds: z
    .array(
      z.object({
        kind: z.enum(HOLD_KINDS),
        because: z.string(),
        until: z.iso.datetime().optional(),
      }),
    )
    .describe('What it would wait for.'),
  problem: z.string().optional().describe('Why it may not arrive.'),
  message: shownMessage
    .optional()
    .describe('As it would be sent, secrets masked; left out for those who may not read targets.'),
  warning: z.string().optional().describe('An expression of the target that failed.'),
});

const explainedNotification = z.object({
  notification: z.string(),
  condition: z.string(),
  severity: z.string(),
  disabled: z.boolean(),
  note: z.string().optional().describe('What keeps it from alerting, with the remedy.'),
  total: z.int().describe('How many subjects it matches now.'),
  subjects: z.array(explainedSubject).describe('100 at most; those with an incident first.'),
  firesAt: z.iso.datetime().optional().describe('The earliest of those of its subjects.'),
  repeatMs: z.number().optional().describe('How often it reminds while an incident is open.'),
  escalateAfterMs: z.number().optional(),
  message: z
    .object({
      about: z.string().optional().describe('The subject that it is about; left out for a sample.'),
      event: z.record(z.string(), z.unknown()),
      recipients: z.array(explainedRecipient).describe('100 at most.'),
      deadEnds: z.array(z.string()).describe('Routers none of whose routes takes it.'),
      warnings: z.array(z.string()).describe('Expressions that failed.'),
    })
    .optional()
    .describe('The next alarm, as it is now or would be at the limit.'),
});

const explanationShape: Shape = {
  name: 'Explanation',
  schema: z.object({
    at: z.iso.datetime(),
    about: z.object({ kind: z.enum(['notification', 'component', 'incident', 'event']), id: z.string() }),
    note: z.string().optional().describe('What to know first, with the remedy.'),
    incident: z
      .object({
        id: z.string(),
        state: z.enum(['open', 'closed']),
        openedAt: z.iso.datetime(),
        closedAt: z.iso.datetime().optional(),
        text: z.string(),
        notified: z.enum(NOTIFIED),
        acknowledgedBy: z.string().optional(),
        recipients: z.array(
          z.object({
            target: z.string(),
            outcome: z.enum(RECIPIENT_OUTCOMES),
            reason: z.string().optional(),
          }),
        ),
      })
      .optional(),
    total: z.int().describe('How many notifications it is about.'),
    notifications: z.array(explainedNotification).describe('100 at most.'),
  }),
};

/** A millisecond has no parts that anybody needs. */
const wireFact = ({ value, observedMs, ...fact }: SubjectReport['facts'][number]) => ({
  ...fact,
  value: value === undefined ? null : fact.unit === 'milliseconds' ? Math.round(value) : value,
  ...(observedMs !== undefined && { observedMs: Math.round(observedMs) }),
});

const wireSubject = ({ subject, incident, firesAt, facts, ...rest }: SubjectReport) => ({
  subject: subject.key,
  name: subject.name,
  ...(subject.component && {
    component: {
      kind: subject.component.kind,
      id: subject.component.id,
      group: subject.component.group,
      pipeline: subject.component.pipeline,
    },
  }),
  state: rest.state,
  reason: rest.reason,
  facts: facts.map(wireFact),
  ...(firesAt !== undefined && { firesAt: isoTime(firesAt) }),
  provided: rest.provided,
  ...(incident && {
    incident: {
      id: incident.id,
      openedAt: isoTime(incident.opened_at),
      text: incident.text,
      severity: incident.severity,
    },
  }),
});

const wireRecipient = ({ way, at, holds, message, isRecord, ...rest }: RecipientReport) => ({
  target: rest.target,
  type: rest.type,
  role: rest.role,
  insteadOf: rest.insteadOf,
  routes: way,
  ...(isRecord && { isRecord }),
  ...(at !== undefined && { at: isoTime(at) }),
  holds: holds.map(({ kind, because, until }) => ({
    ...{ kind, because },
    ...(until !== undefined && { until: isoTime(until) }),
  })),
  problem: rest.problem,
  message: message?.kind === 'request' ? { kind: message.kind, ...message.request } : message,
  warning: rest.warning,
});

function wireExplained({ notification, note, total, subjects, message }: NotificationReport) {
  const { id, condition, disabled, settings, repeatMs, escalation } = notification;
  const times = subjects.flatMap(({ firesAt }) => firesAt ?? []);
  return {
    ...{ notification: id, condition, severity: settings.severity, disabled, note, total },
    subjects: subjects.map(wireSubject),
    ...(times.length > 0 && { firesAt: isoTime(Math.min(...times)) }),
    ...(repeatMs !== null && { repeatMs }),
    ...(escalation !== undefined && { escalateAfterMs: escalation.afterMs }),
    message: message && { ...message, recipients: message.recipients.map(wireRecipient) },
  };
}

const wireExplanation = ({ at, incident, notifications, ...rest }: ExplainAnswer): object => ({
  at: isoTime(at),
  ...rest,
  incident: incident && wireNotifiedIncident(incident),
  notifications: notifications.map(wireExplained),
});

const wireNotifiedIncident = ({
  row,
  notified,
  recipients,
  acknowledgement,
}: NonNullable<ExplainAnswer['incident']>) => ({
  ...{ id: row.id, state: row.state, openedAt: isoTime(row.opened_at), text: row.text, notified },
  ...(row.closed_at !== null && { closedAt: isoTime(row.closed_at) }),
  acknowledgedBy: acknowledgement?.changed_by,
  recipients: recipients.map(({ target, outcome, reason }) => ({ target, outcome, reason })),
});

export const explainRoutes: readonly Route[] = [
  route({
    id: 'explain.get',
    method: 'GET',
    path: '/explain',
    summary:
      'Explain a notification, an input or output, or an incident: the last verdict with its numbers, when it alerts at the earliest, who is notified by which route, what holds that up, and the messages',
    description:
      'Takes exactly one of `notification`, `component` and `incident`. Nothing is sent or stored.',
    grouped: true,
    verb: explain,
    answer: item(explanationShape, wireExplanation),
    errors: ['not-found', 'unavailable'],
    example: { query: { notification: 'app_silent' } },
  }),
  route({
    id: 'explain.event',
    method: 'POST',
    path: '/explain',
    summary: 'Explain what an external event would do; nothing is sent or stored',
    grouped: true,
    verb: explainEvent,
    takes: { shape: { name: 'ExplainedEvent' } },
    answer: item(explanationShape, wireExplanation),
    errors: ['unavailable'],
    example: { body: { event: { condition: 'search', key: 'errors', state: 'ALARM' } } },
  }),
];

const PATH = '/notifications';
const AS_WRITTEN =
  'Within `conf` and `targetConfigs` what was written, without defaults unless `effective=true`.';
const notificationRoute = {
  path: `${PATH}/:id`,
  grouped: true,
  answer: item(notificationShape, wireNotification),
  etag: ({ tagged }: DescribedNotification) => etagOf(tagged),
};

export const notificationRoutes: readonly Route[] = [
  route({
    id: 'notifications.list',
    method: 'GET',
    path: PATH,
    summary: 'List the notifications with every default',
    description: AS_WRITTEN,
    grouped: true,
    verb: listNotifications,
    answer: list(notificationShape, wireNotification),
  }),
  route({
    ...notificationRoute,
    id: 'notifications.create',
    method: 'POST',
    path: PATH,
    summary: 'Add a notification',
    verb: createNotification,
    takes: { shape: sentShape },
    errors: WRITE_ERRORS,
    example: {
      body: {
        id: 'shop_silent',
        condition: 'no-data',
        targets: ['log'],
        conf: { name: 'http:shop', timeWindow: '5m' },
      },
    },
  }),
  route({
    ...notificationRoute,
    id: 'notifications.get',
    method: 'GET',
    summary: 'Get a notification',
    description: AS_WRITTEN,
    verb: getNotification,
    example: { params: { id: 'app_silent' } },
  }),
  route({
    ...notificationRoute,
    id: 'notifications.update',
    method: 'PATCH',
    summary: 'Change a notification; another condition or conf closes its open incidents',
    verb: updateNotification,
    takes: { shape: sentShape, kind: 'part' },
    errors: WRITE_ERRORS,
    example: { params: { id: 'shop_silent' }, body: { severity: 'error', repeatInterval: '1h' } },
  }),
  route({
    ...notificationRoute,
    id: 'notifications.remove',
    method: 'DELETE',
    summary: 'Remove a notification and close its open incidents',
    verb: removeNotification,
    errors: WRITE_ERRORS,
    example: { params: { id: 'shop_silent' } },
  }),
  route({
    ...backtestRoute,
    id: 'notifications.backtestDraft',
    path: `${PATH}/backtest`,
    summary: 'What a notification that is not saved would have done',
    verb: backtestDraft,
    takes: { shape: { name: 'BacktestDraft' } },
    example: {
      body: {
        from: '-7d',
        notification: {
          id: 'shop_silent',
          condition: 'no-data',
          targets: ['log'],
          conf: { name: 'http:shop', timeWindow: '5m' },
        },
      },
    },
  }),
  route({
    ...backtestRoute,
    id: 'notifications.backtest',
    path: `${PATH}/:id/backtest`,
    summary: 'What a notification would have done in a time that is over',
    verb: backtestNotification,
    takes: { shape: { name: 'BacktestSpan' } },
    example: { params: { id: 'app_silent' }, body: { from: '-7d' } },
  }),
];

const INHIBITIONS = '/inhibitions';
const sentInhibition: Shape = {
  name: 'Inhibition',
  sentAs: 'InhibitionSettings',
  schema: inhibitionSchema,
};
const inhibitionShape: Shape = { name: 'Inhibition', schema: inhibitionSchema };
const wireInhibition = (settings: z.output<typeof inhibitionSchema>): object => settings;
const inhibitionRoute = {
  path: `${INHIBITIONS}/:id`,
  answer: item(inhibitionShape, wireInhibition),
  etag: etagOf,
};

export const inhibitionRoutes: readonly Route[] = [
  route({
    id: 'inhibitions.list',
    method: 'GET',
    path: INHIBITIONS,
    summary: 'List the inhibitions',
    verb: listInhibitions,
    answer: list(inhibitionShape, wireInhibition),
  }),
  route({
    ...inhibitionRoute,
    id: 'inhibitions.create',
    method: 'POST',
    path: INHIBITIONS,
    summary: 'Add an inhibition',
    description:
      'An alarm that `hold` fits is sent to nobody while another incident is open whose first alarm `when` fits and that agrees with it in every field of `equal`.',
    verb: createInhibition,
    takes: { shape: sentInhibition },
    errors: WRITE_ERRORS,
    example: {
      body: {
        id: 'host_down',
        when: [{ name: 'condition', op: '=', value: 'pipeline-unreachable' }],
        hold: [{ name: 'severity', op: '=~', value: 'info|warn' }],
        equal: ['pipeline'],
      },
    },
  }),
  route({
    ...inhibitionRoute,
    id: 'inhibitions.get',
    method: 'GET',
    summary: 'Get an inhibition',
    verb: getInhibition,
    example: { params: { id: 'host_down' } },
  }),
  route({
    ...inhibitionRoute,
    id: 'inhibitions.update',
    method: 'PATCH',
    summary: 'Change an inhibition; what it holds back no more is sent at once',
    verb: updateInhibition,
    takes: { shape: sentInhibition, kind: 'part' },
    errors: WRITE_ERRORS,
    example: { params: { id: 'host_down' }, body: { equal: ['pipeline', 'group'] } },
  }),
  route({
    ...inhibitionRoute,
    id: 'inhibitions.remove',
    method: 'DELETE',
    summary: 'Remove an inhibition; what it holds back is sent at once',
    verb: removeInhibition,
    errors: WRITE_ERRORS,
    example: { params: { id: 'host_down' } },
  }),
];
