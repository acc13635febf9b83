import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import type { Configuration } from '../config/configuration.ts';
import { AppError, notFound } from '../lib/errors.ts';
import { pointInTime } from '../lib/schemas.ts';
import { backtestTarget } from '../notifications/backtest/job.ts';
import type { Notification } from '../notifications/notification.ts';
import { createComponentMatcher } from '../notifications/subjects.ts';
import { MINUTE_MS } from '../pipelines/history/row-ids.ts';
import type { SilenceRow } from '../storage/stores/silences.ts';
import { componentSourcesOf, knownComponents } from './components.ts';
import type { Call } from './context.ts';
import { dryRunItem, itemBody } from './item-writes.ts';
import { notificationResource } from './notifications.ts';
import { defineVerb } from './verb.ts';

const DAY_MS = 86_400_000;
const MOST_DAYS = 31;
/** Minutes before the time that is asked about, beside its windows, so that what lasted then is known. */
const LEAST_WARM_UP_MS = 10 * MINUTE_MS;
const MOST_SILENCES = 10_000;

const spanSchema = z.strictObject({
  from: pointInTime
    .prefault('-24h')
    .describe(
      'When it begins: a time, or how long ago, such as `-7d`. Counts from the beginning of its minute.',
    ),
  to: pointInTime.optional().describe('When it ends, in the same way; left out, now.'),
});

type Findings = Awaited<ReturnType<Call['context']['backtest']>>;

/** What a notification would have done. */
export interface BacktestAnswer extends Findings {
  readonly notification: string;
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
  /** How many inputs and outputs it matches now. */
  readonly matched: number;
  /** Why incidents and times may differ from what would have happened; empty when they do not. */
  readonly reasons: readonly string[];
}

export const backtestNotification = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512), body: spanSchema.prefault({}) }),
  run(call, { id, body }) {
    const now = call.context.configuration();
    return run(call, { now, notification: notificationOf(call, now, id), span: body });
  },
});

/** The same of a notification that nobody has saved: it is checked as if it were to be created. */
export const backtestDraft = defineVerb({
  permission: 'read:notifications',
  input: z.object({
    body: z.strictObject({
      ...spanSchema.shape,
      notification: itemBody.describe('As it would be created; of an id that exists, what it would become.'),
    }),
  }),
  async run(call, { body: { notification: draft, ...span } }) {
    const id = typeof draft.id === 'string' ? draft.id : 'backtest';
    const now = await dryRunItem(call, notificationResource, { id, body: draft });
    return run(call, { now, notification: notificationOf(call, now, id), span });
  },
});

function notificationOf({ group }: Call, { notifications }: Configuration, id: string): Notification {
  const found = notifications.find(one => one.id === id);
  if (found === undefined || (group !== undefined && found.group !== group))
    throw notFound('notification', id);
  return found;
}

interface Requested {
  readonly now: Configuration;
  readonly notification: Notification;
  readonly span: z.infer<typeof spanSchema>;
}

async function run(call: Call, { now, notification, span }: Requested): Promise<BacktestAnswer> {
  const { context } = call;
  const selector = notification.rule.components;
  if (selector === undefined)
    throw new AppError(
      'unprocessable',
      `Only notifications about inputs and outputs can be backtested: nothing is recorded of what ${notification.condition} looks at`,
    );
  const { from, to } = spanOf(span, context.clock.now());
  const matches = createComponentMatcher(selector, selector.kind);
  const sources = componentSourcesOf(context);
  const components = (['input', 'output'] as const).flatMap(kind =>
    knownComponents(sources, kind)
      .slice()
      .flatMap(({ component, declared }) =>
        component !== undefined && declared?.disabled !== true && matches(component) ? [component] : [],
      ),
  );
  const { end, windowMs, forMs } = notification;
  const warmUpMs = LEAST_WARM_UP_MS + windowMs + forMs + end.keepFiringMs + (end.flapping?.windowMs ?? 0);
  const findings = await context.backtest({
    notification: JSON.parse(JSON.stringify(notification.settings)),
    targets: now.targets.map(backtestTarget),
    components,
    pipelines: context.components.pipelines(),
    silences: await silencesSince(call, from),
    warmUpFrom: from - Math.ceil(Math.min(warmUpMs, MOST_DAYS * DAY_MS) / MINUTE_MS) * MINUTE_MS,
    ...{ from, to, instanceName: now.settings.instance.name },
    externalUrl: now.settings.instance.externalUrl,
  });
  return {
    ...{ ...findings, notification: notification.id, from, to, matched: components.length },
    reasons: reasonsOf(notification),
  };
}

function spanOf(
  { from, to }: Requested['span'],
  now: number,
): { readonly from: number; readonly to: number } {
  const span = { from: wholeMinute(from(now)), to: wholeMinute(Math.min(to?.(now) ?? now, now)) };
  if (span.to <= span.from) throw invalidField('to', 'must be at least a minute later than from');
  if (span.to - span.from > MOST_DAYS * DAY_MS)
    throw invalidField('from', `must be at most ${MOST_DAYS} days before to`);
  return span;
}

const wholeMinute = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;

async function silencesSince({ context }: Call, from: number): Promise<readonly SilenceRow[]> {
  const all = await context.stores.silences.list(
    { now: context.clock.now() },
    { offset: 0, limit: MOST_SILENCES },
  );
  return all.rows.filter(({ ends_at }) => ends_at > from);
}

const SHORTEST_EXACT_MS = 2 * MINUTE_MS;

function reasonsOf({ windowMs, forMs }: Notification): readonly string[] {
  if (windowMs >= SHORTEST_EXACT_MS && (forMs === 0 || forMs >= MINUTE_MS)) return [];
  return [
    'what was recorded is a value a minute, which cannot show all of what a shorter window would have seen',
  ];
}
