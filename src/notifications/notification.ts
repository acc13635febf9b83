import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { SubjectKind } from '../conditions/condition.ts';
import { type AlertingRule, conditions, findCondition } from '../conditions/index.ts';
import { SEVERITIES } from '../events/event.ts';
import { type CalendarWindow, calendarWindows } from '../lib/calendar-windows.ts';
import { duration, httpUrl, identifier, repeatedItems } from '../lib/schemas.ts';
import { mailConf } from '../targets/recipients.ts';
import type { EndSettings } from './incidents/condition-changes.ts';
import { fieldName, metadata } from './metadata.ts';

/** Id of Headgate's own notification, whose incidents are failing targets. No other may have it. */
export const TARGET_HEALTH = 'headgate-target-health';
/** The condition of these incidents. */
export const TARGET_FAILING = 'target-failing';

const targetConfig = z.strictObject({
  id: identifier.describe('Id of the target.'),
  conf: mailConf.optional().describe('What an smtp target needs to know; for no other type.'),
});

/** Settings of a notification for single targets, by their ids. */
const targetConfigs = z
  .array(targetConfig)
  .max(1000)
  .superRefine((configs, context) => {
    for (const { index } of repeatedItems(configs, ({ id }) => id))
      context.addIssue({
        code: 'custom',
        path: [index, 'id'],
        message: 'must be listed once; an earlier item has the same id',
      });
  });

const notificationId = identifier.refine(id => id !== TARGET_HEALTH, {
  error: `must not be ${TARGET_HEALTH}: Headgate itself reports failing targets under this id`,
});

/** A notification as it is in the file, before its condition reads its conf. */
export const notificationSchema = z.strictObject({
  id: notificationId.describe('Unique identifier of the notification.'),
  disabled: z.boolean().default(false).describe('A disabled notification is not evaluated.'),
  condition: z.enum(conditions.map(condition => condition.id)).describe('When the notification triggers.'),
  targets: z.array(identifier).default([]).describe('Ids of the targets that receive it.'),
  targetConfigs: targetConfigs
    .prefault([])
    .describe('What single targets need to know, such as the recipients of mail; alone it delivers nothing.'),
  conf: z.record(z.string(), z.unknown()).default({}).describe("The condition's own settings."),
  group: identifier.default('default').describe('Group the notification belongs to.'),
  metadata: metadata.default([]).describe('Fields that are added to its events.').meta({ template: true }),
  description: z.string().max(4096).optional().describe('What the reader of the message should know.'),
  runbookUrl: httpUrl.optional().describe('Where the reader of the message finds what to do.'),
  severity: z.enum(SEVERITIES).default('warn').describe('Severity of its alarms; a resolution is info.'),
  for: duration().prefault('0s').describe('How long the condition must hold before the alarm.'),
  keepFiringFor: duration()
    .prefault('0s')
    .describe(
      'How long the alarm stays after the condition is not met any more; it ends when it was not met all that time.',
    ),
  flapThreshold: z
    .int()
    .min(2)
    .max(100)
    .optional()
    .describe(
      'More changes of the condition than this within flapWindow are one alarm; left out, each is notified.',
    ),
  flapWindow: duration({ min: '1s', max: '7d' })
    .optional()
    .describe(
      'Where changes are counted, and how long a flapping alarm stays without one; 1h when left out.',
    ),
  repeatInterval: duration({ min: '1s' }).optional().describe('Remind while the alarm lasts, this often.'),
  escalateAfter: duration({ min: '1m' })
    .optional()
    .describe(
      'How long after its alarm an open incident that nobody has acknowledged goes to escalateTo as well.',
    ),
  escalateTo: z
    .array(identifier)
    .min(1)
    .max(100)
    .optional()
    .describe('Ids of the targets that it goes to then; they get its end, too.'),
  groupBy: z
    .array(fieldName)
    .max(32)
    .optional()
    .describe('Fields of the event; events that agree in all of them are sent as one message.'),
  groupWait: duration({ max: '1h' })
    .optional()
    .describe('How long a new group waits for more events; 30s when left out.'),
  groupInterval: duration({ min: '1s', max: '7d' })
    .optional()
    .describe(
      'How long a group that was sent waits before it is sent again with more events; 5m when left out.',
    ),
  muteWindows: calendarWindows
    .default([])
    .describe('When its alarms are held back; the ends of alarms that were sent are not.'),
});

type NotificationSettings = z.infer<typeof notificationSchema>;

/** How events of a notification are grouped. */
export interface Grouping {
  /** Events that agree in all of these are sent together. */
  readonly fields: readonly string[];
  /** How long a new group waits for more. */
  readonly waitMs: number;
  /** How long a group that was sent waits before it is sent again. */
  readonly intervalMs: number;
}

const DEFAULT_GROUP_WAIT_MS = 30_000;
const DEFAULT_GROUP_INTERVAL_MS = 300_000;

/** Where alarms go that nobody acknowledges. */
interface Escalation {
  readonly afterMs: number;
  /** As it is written, such as `15m`. */
  readonly after: string;
  /** Ids of targets. */
  readonly targets: readonly string[];
}

/** A rule of the configuration, ready to evaluate. */
export interface Notification {
  readonly id: string;
  readonly disabled: boolean;
  readonly group: string;
  /** Id of its condition. */
  readonly condition: string;
  readonly rule: AlertingRule;
  readonly subjectKind: SubjectKind;
  /** Length of the stretch of time that its condition looks at; 0 where there is none. */
  readonly windowMs: number;
  readonly targets: readonly string[];
  readonly forMs: number;
  /** When its alarms end. */
  readonly end: EndSettings;
  /** How often an open incident is notified again; null for start and resolution only. */
  readonly repeatMs: number | null;
  /** Undefined where alarms go to no other targets, acknowledged or not. */
  readonly escalation: Escalation | undefined;
  /** Undefined when each event is sent by itself. */
  readonly grouping: Grouping | undefined;
  /** When its alarms are muted. */
  readonly muteWindows: readonly CalendarWindow[];
  /** Settings for single targets beside its events, by their ids. */
  readonly targetConfigs: Readonly<Record<string, unknown>> | undefined;
  /** Changes with condition or conf; an open incident of another fingerprint is closed. */
  readonly fingerprint: string;
  /** Effective settings; serialises to what a file would say. */
  readonly settings: NotificationSettings;
}

/** Reads a raw item; throws `z.ZodError`, with paths under `conf` for what the condition refuses. */
export function configureNotification(raw: unknown): Notification {
  const settings = notificationSchema.parse(raw);
  const condition = findCondition(settings.condition);
  if (condition === undefined)
    throw new Error(`the schema let the unknown condition '${settings.condition}' pass`);
  const rule = configureRule(() => condition.configure(settings.conf));
  if (rule.noPending !== undefined && settings.for.ms > 0) throw forRefused(rule.noPending);
  assertEnds(settings, rule);
  const unusedGroupTimes =
    settings.groupBy === undefined ? GROUP_TIMES.filter(name => settings[name] !== undefined) : [];
  if (unusedGroupTimes.length > 0) throw groupByMissing(unusedGroupTimes);
  // Computed when first read: a check of ten thousand needs neither.
  const fingerprint = once(() => fingerprintOf(rule, condition.id));
  const configs = once(() => targetConfigsOf(settings));
  return {
    id: settings.id,
    disabled: settings.disabled,
    group: settings.group,
    condition: condition.id,
    rule,
    subjectKind: rule.kind,
    windowMs: rule.windowMs,
    targets: [...new Set(settings.targets)],
    forMs: settings.for.ms,
    end: endOf(settings),
    repeatMs: settings.repeatInterval?.ms ?? rule.repeatMs,
    escalation: escalationOf(settings),
    grouping: groupingOf(settings),
    muteWindows: settings.muteWindows,
    get targetConfigs() {
      return configs();
    },
    get fingerprint() {
      return fingerprint();
    },
    settings: { ...settings, conf: { ...rule.conf } },
  };
}

function once<Value>(compute: () => Value): () => Value {
  let computed: { readonly value: Value } | undefined;
  return () => {
    computed ??= { value: compute() };
    return computed.value;
  };
}

function targetConfigsOf({ targetConfigs: all }: NotificationSettings): Notification['targetConfigs'] {
  const configured = all.filter(({ conf }) => conf !== undefined);
  // The form in which the store returns it, so that an event sent from memory is the same.
  return configured.length === 0
    ? undefined
    : JSON.parse(JSON.stringify(Object.fromEntries(configured.map(({ id, conf }) => [id, conf]))));
}

const DEFAULT_FLAP_WINDOW_MS = 3_600_000;

const endOf = ({ keepFiringFor, flapThreshold, flapWindow }: NotificationSettings): EndSettings => ({
  keepFiringMs: keepFiringFor.ms,
  flapping:
    flapThreshold === undefined
      ? undefined
      : { threshold: flapThreshold, windowMs: flapWindow?.ms ?? DEFAULT_FLAP_WINDOW_MS },
});

/** Throws for settings of the end of an alarm that mean nothing. */
function assertEnds(settings: NotificationSettings, { noKeeping }: AlertingRule): void {
  const { keepFiringFor, flapThreshold, flapWindow } = settings;
  const problems: [string, string][] = [];
  if (noKeeping !== undefined && keepFiringFor.ms > 0)
    problems.push(['keepFiringFor', `must be 0s: ${noKeeping}`]);
  if (noKeeping !== undefined && flapThreshold !== undefined)
    problems.push(['flapThreshold', `must be left out: ${noKeeping}`]);
  if (flapThreshold === undefined && flapWindow !== undefined)
    problems.push([
      'flapWindow',
      'needs flapThreshold, the number of changes within it that are still notified, such as 4',
    ]);
  if (problems.length > 0)
    throw new z.ZodError(
      problems.map(([name, message]) => ({ code: 'custom', path: [name], message, input: undefined })),
    );
}

const GROUP_TIMES = ['groupWait', 'groupInterval'] as const;

const groupByMissing = (names: readonly string[]): z.ZodError =>
  new z.ZodError(
    names.map(name => ({
      code: 'custom',
      path: [name],
      message: 'needs groupBy; `[]` makes one group of all events of the notification',
      input: undefined,
    })),
  );

/** Throws where one of the two settings stands without the other. */
function escalationOf({ escalateAfter, escalateTo }: NotificationSettings): Escalation | undefined {
  if (escalateAfter === undefined && escalateTo === undefined) return undefined;
  if (escalateAfter === undefined)
    throw settingMissing('escalateAfter', 'is needed with escalateTo, such as 15m');
  if (escalateTo === undefined)
    throw settingMissing('escalateTo', 'is needed with escalateAfter: ids of targets, such as [oncall_lead]');
  return { afterMs: escalateAfter.ms, after: escalateAfter.text, targets: [...new Set(escalateTo)] };
}

const settingMissing = (name: string, message: string): z.ZodError =>
  new z.ZodError([{ code: 'custom', path: [name], message, input: undefined }]);

const groupingOf = ({ groupBy, groupWait, groupInterval }: NotificationSettings): Grouping | undefined =>
  groupBy && {
    fields: groupBy,
    waitMs: groupWait?.ms ?? DEFAULT_GROUP_WAIT_MS,
    intervalMs: groupInterval?.ms ?? DEFAULT_GROUP_INTERVAL_MS,
  };

/** An external event that is accepted is durable and notified: none may be pending in memory. */
const forRefused = (reason: string): z.ZodError =>
  new z.ZodError([{ code: 'custom', path: ['for'], message: `must be 0s: ${reason}`, input: undefined }]);

const fingerprintOf = ({ conf }: AlertingRule, condition: string): string =>
  createHash('sha256')
    .update(JSON.stringify([condition, conf]))
    .digest('base64url');

function configureRule(configure: () => AlertingRule): AlertingRule {
  try {
    return configure();
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw new z.ZodError(error.issues.map(issue => ({ ...issue, path: ['conf', ...issue.path] })));
  }
}
