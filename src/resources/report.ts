import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import { pointInTime } from '../lib/schemas.ts';
import { inSlices, type Slices } from '../lib/slices.ts';
import { createComponentMatcher, isExact, namesOf } from '../notifications/subjects.ts';
import type { Component } from '../pipelines/components/component.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import type { NotificationCount, ReportSpan, TargetCount, TimeToNotify } from '../storage/stores/report.ts';
import { findTargetType } from '../targets/index.ts';
import type { Call } from './context.ts';
import { type SeenComponent, seenComponents } from './metrics.ts';
import { defineVerb } from './verb.ts';

const LONGEST_MS = 400 * 86_400_000;
/** Notifications, incidents and targets that are named. */
const MOST_NAMED = 20;
const MOST_COMPONENTS_NAMED = 100;
/** The newest incidents whose time to notify is measured. */
const MOST_MEASURED = 50_000;

interface NoisyNotification extends NotificationCount {
  readonly deliveries: number;
}

/** What happened in a time, and what nothing watches now. */
export interface Report {
  readonly span: ReportSpan;
  readonly incidents: number;
  /** The most incidents first, 20 at most. */
  readonly noisiest: readonly NoisyNotification[];
  readonly timeToNotify: TimeToNotify;
  /** Those that nobody has acknowledged; open ones first, then the newest, 20 at most of `total`. */
  readonly unacknowledged: { readonly total: number; readonly rows: readonly IncidentRow[] };
  /** The most failures first, 20 at most. */
  readonly failedTargets: readonly TargetCount[];
  /** Components that no enabled notification is about; 100 at most of `total`. */
  readonly unwatched: { readonly total: number; readonly components: readonly SeenComponent[] };
}

const requestSchema = z.object({
  since: pointInTime
    .prefault('7d')
    .describe('From then on: how long ago, as in `7d` or `2h30m`, or a time such as `2026-01-31T08:00:00Z`.'),
  until: pointInTime.optional().describe('Before then, in the same form; left out, until now.'),
});

/** Throws `invalid-request` for a time that is none, is later than its end, or is over 400 days ago. */
export const getReport = defineVerb({
  permission: 'read:incidents',
  input: requestSchema,
  async run(call, requested): Promise<Report> {
    const { stores, clock } = call.context;
    const span = spanOf(requested, clock.now());
    const { report } = stores;
    const noisiest = await report.noisiest(span, MOST_NAMED);
    const ids = noisiest.map(({ notification }) => notification);
    const deliveries = new Map(
      (await report.deliveriesOf(span, ids)).map(one => [one.notification, one.deliveries]),
    );
    const unwatched = await inSlices(unwatchedIn(call));
    return {
      span,
      incidents: await report.countIncidents(span),
      noisiest: noisiest.map(one => ({ ...one, deliveries: deliveries.get(one.notification) ?? 0 })),
      timeToNotify: await report.timeToNotify(span, recordsIn(call), MOST_MEASURED),
      unacknowledged: await report.unacknowledged(span, MOST_NAMED),
      failedTargets: await report.failedTargets(span, MOST_NAMED),
      unwatched: { total: unwatched.length, components: unwatched.slice(0, MOST_COMPONENTS_NAMED) },
    };
  },
});

function spanOf({ since, until }: z.infer<typeof requestSchema>, now: number): ReportSpan {
  const span = { since: since(now), until: until?.(now) ?? now };
  if (span.until <= span.since) throw invalidField('until', 'must be later than since');
  if (span.since < now - LONGEST_MS) throw invalidField('since', 'must be at most 400 days ago');
  return span;
}

/** Targets that keep a record and alert nobody. */
const recordsIn = ({ context }: Call): readonly string[] =>
  context
    .configuration()
    .targets.filter(({ settings }) => findTargetType(settings.type)?.isRecord === true)
    .map(({ settings }) => settings.id);

const COMPARED_AT_ONCE = 5000;

/** The enabled components that no enabled notification matches. */
function* unwatchedIn(call: Call): Slices<readonly SeenComponent[]> {
  const selectors = call.context
    .configuration()
    .notifications.flatMap(({ disabled, rule: { components } }) =>
      disabled || components === undefined ? [] : [components],
    );
  const exact = new Map<string, ((component: Component) => boolean)[]>();
  const patterns: ((component: Component) => boolean)[] = [];
  for (const selector of selectors) {
    const matches = createComponentMatcher(selector, selector.kind);
    if (isExact(selector)) exact.set(selector.name, [...(exact.get(selector.name) ?? []), matches]);
    else patterns.push(matches);
  }
  const unwatched: SeenComponent[] = [];
  let compared = 0;
  for (const seen of seenComponents(call, {})) {
    const { component, isDisabled } = seen;
    const named = namesOf(component).flatMap(name => exact.get(name) ?? []);
    compared += named.length + patterns.length;
    if (compared > COMPARED_AT_ONCE) {
      compared = 0;
      yield;
    }
    const isWatched = [...named, ...patterns].some(matches => matches(component));
    if (!isDisabled && !isWatched) unwatched.push(seen);
  }
  return unwatched;
}
