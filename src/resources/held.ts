import type { QueueHold } from '../delivery/limits/limits.ts';
import { windowsEnd } from '../lib/calendar-windows.ts';
import type { Notification } from '../notifications/notification.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { CommonSettings } from '../targets/target.ts';
import type { WorkspaceContext } from './context.ts';

/** Why a delivery is not sent yet. */
export interface Held {
  readonly because: string;
  /** Until when, in epoch ms, where that is known. */
  readonly until?: number | undefined;
}

/** What reasons are looked up in. */
export interface HeldReader extends Pick<WorkspaceContext, 'hold' | 'clock'> {
  readonly configuration: () => {
    readonly notifications: readonly Pick<Notification, 'id' | 'muteWindows' | 'grouping'>[];
    readonly targets: readonly { readonly settings: Pick<CommonSettings, 'id' | 'type'> }[];
  };
}

interface Situation {
  readonly row: DeliveryRow;
  readonly configuration: ReturnType<HeldReader['configuration']>;
  readonly hold: WorkspaceContext['hold'];
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Every reason for which a delivery waits beside its own schedule, the one that holds it longest first. What is in the
 * queue of its target is held by what `QueueHold` lists, each with a text below.
 */
const REASONS: readonly ((situation: Situation) => Held | undefined)[] = [
  silenced,
  heldByRule,
  inhibited,
  muted,
  grouped,
  removed,
  queued,
];

/** Undefined for a delivery that is settled, is being sent, or waits for its next attempt by its schedule. */
export function heldOf(row: DeliveryRow, { configuration, hold, clock }: HeldReader): Held | undefined {
  if (row.state !== 'waiting' && row.state !== 'grouped') return undefined;
  const situation = { row, configuration: configuration(), hold, now: clock.now() };
  for (const reason of REASONS) {
    const held = reason(situation);
    if (held !== undefined) return held;
  }
  return undefined;
}

export const HOLD_KINDS = ['silenced', 'inhibited', 'muted', 'grouped', 'queued'] as const;

/** One of the reasons for which an alarm would wait. */
export interface ExpectedHold extends Held {
  readonly kind: (typeof HOLD_KINDS)[number];
}

/**
 * Every reason for which an alarm that is made at `at` (epoch ms) would wait, by the delivery that it would have if it were
 * made now.
 */
export function expectedHolds(
  row: DeliveryRow,
  { configuration: read, hold, clock }: HeldReader,
  at: number,
): readonly ExpectedHold[] {
  const configuration = read();
  const situation = { row, configuration, hold, now: at };
  const notification = configuration.notifications.find(({ id }) => id === row.notification);
  const isGrouped =
    notification?.grouping !== undefined && row.silenced_by === null && row.inhibited_by === null;
  const next_at = row.next_at === null ? null : row.next_at + (at - clock.now());
  const found: readonly (readonly [ExpectedHold['kind'], Held | undefined])[] = [
    ['silenced', silenced(situation)],
    ['inhibited', heldByRule(situation) ?? inhibited(situation)],
    ['muted', muted({ ...situation, row: { ...row, state: 'grouped' } })],
    [
      'grouped',
      isGrouped && next_at !== null ? grouped({ ...situation, row: { ...row, next_at } }) : undefined,
    ],
    ['queued', queued(situation)],
  ];
  return found.flatMap(([kind, held]) => (held === undefined ? [] : [{ kind, ...held }]));
}

/** An alarm whose silence has ended waits for the rest of what holds it. */
function silenced({
  row: { state, silenced_by: silence, next_at: until },
  now,
}: Situation): Held | undefined {
  if (state !== 'grouped' || silence === null || until === null || until <= now) return undefined;
  return { because: `silenced until ${moment(until, now)} by silence '${silence}'`, until };
}

/** Until when is not known: once its incident is over, the alarm has a time at which it is sent or looked at again. */
function heldByRule({
  row: { state, inhibited_by: incident, inhibition, next_at: until },
}: Situation): Held | undefined {
  if (state !== 'grouped' || incident === null || until !== null) return undefined;
  return {
    because: `inhibited while incident ${incident} is open, by inhibition '${inhibition}'`,
  };
}

function inhibited({ row: { state, inhibited_for: pipeline, target } }: Situation): Held | undefined {
  if (state !== 'grouped' || pipeline === null) return undefined;
  return {
    because: `pipeline '${pipeline}' is unreachable, and target '${target}' was notified; it is sent if its incident outlasts that`,
  };
}

function muted({ row, configuration, now }: Situation): Held | undefined {
  if (row.state !== 'grouped' || row.status !== 'ALARM') return undefined;
  const notification = configuration.notifications.find(({ id }) => id === row.notification);
  const end = notification && windowsEnd(notification.muteWindows, now);
  if (end === undefined) return undefined;
  const until = end.at === undefined ? '' : ` until ${end.localTime} ${end.timezone}`;
  return { because: `muted${until} by muteWindows[${end.window}]`, until: end.at };
}

function grouped({ row, configuration, now }: Situation): Held | undefined {
  if (row.state !== 'grouped') return undefined;
  const { next_at: until } = row;
  if (until === null || until <= now) return { because: 'its group is about to be sent' };
  const notification = configuration.notifications.find(({ id }) => id === row.notification);
  const fields = notification?.grouping?.fields.join(', ');
  return {
    because: `grouped until ${moment(until, now)} with what else agrees in ${fields === undefined || fields === '' ? 'its notification' : fields}`,
    until,
  };
}

function removed({ row: { status, target }, configuration }: Situation): Held | undefined {
  if (configuration.targets.some(({ settings }) => settings.id === target)) return undefined;
  return {
    because:
      status === 'OK'
        ? `target '${target}' was removed; it gets the ends of its alarms as long as its last settings work`
        : `target '${target}' was removed; the alarm goes to the targets of its notification that have nothing of its incident`,
  };
}

function queued({ row, hold, now }: Situation): Held | undefined {
  const held = hold(row.target, row);
  if (held === undefined) return undefined;
  const endsAt = 'until' in held ? (held.until ?? now) : now;
  // One that failed waits for its schedule, unless something else holds it for longer.
  const isDue = row.next_at === null || row.next_at <= endsAt;
  return held.kind === 'behind' || isDue ? queueHeld(held, now) : undefined;
}

/** Why a queue waits. `now` is in epoch ms. */
export const queueHeld = (hold: QueueHold, now: number): Held => ({
  because: queueText(hold, now),
  ...('until' in hold && { until: hold.until }),
});

function queueText(hold: QueueHold, now: number): string {
  switch (hold.kind) {
    case 'behind': {
      const { delivery, until } = hold;
      const when = until === undefined ? 'which is being sent' : `which is tried at ${moment(until, now)}`;
      return `behind delivery ${delivery} of the same subject, ${when}`;
    }
    case 'paused':
      return `its receiver requested a pause until ${moment(hold.until, now)}`;
    case 'over-quota':
      return hold.notice;
    case 'paced':
      return `paced at ${hold.rate}: the next may be sent at ${moment(hold.until, now)}`;
    case 'busy':
      return `as many requests are in flight as ${hold.setting} allows`;
    case 'not-led':
      return 'no process leads at the moment; it is sent once one does';
  }
}

const HALF_DAY_MS = 43_200_000;

/** `06:00:05 UTC`, with the date when that is not soon. */
function moment(at: number, now: number): string {
  const text = new Date(at).toISOString();
  return `${at - now < HALF_DAY_MS ? text.slice(11, 19) : `${text.slice(0, 10)} ${text.slice(11, 19)}`} UTC`;
}
