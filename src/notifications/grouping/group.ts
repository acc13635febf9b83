import { createHash } from 'node:crypto';
import type { HeadgateEvent } from '../../events/event.ts';
import type { FlushOperation } from '../../storage/operations/flush.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import type { DeliveryRow, HoldColumns } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Inhibition } from '../inhibition/inhibition.ts';
import type { Inhibitor } from '../inhibition/inhibitors.ts';
import type { Grouping, Notification } from '../notification.ts';

/** A transition that is to be written, with its deliveries assigned to groups. */
export interface GroupedTransition {
  readonly operation: TransitionOperation;
  /** Restores memory when the transition was not written. */
  readonly undo: (isConflict: boolean) => void;
}

/** How deliveries of an active rule are grouped, muted and inhibited. */
export interface GroupSettings {
  readonly notification: Pick<Notification, 'grouping' | 'muteWindows'>;
  /** How long after an outage alarms may still result from it, in milliseconds; undefined when none ever does. */
  readonly inhibitionGraceMs?: number | undefined;
  /** True when one of the incidents inhibited for an outage that is over is about to close. */
  isResolving(pipeline: string, inhibited: ReadonlyMap<string, Pick<GroupMember, 'incident'>>): boolean;
}

/** What alarms wait for the end of, whoever gets them: a silence, or an incident that inhibits them. */
export type Hold =
  | { readonly kind: 'silence'; readonly silence: string }
  | ({ readonly kind: 'inhibition' } & Inhibitor);

const isSameHold = (one: Hold | undefined, other: Hold | undefined): boolean =>
  one === undefined || other === undefined ? one === other : keyOfHold(one) === keyOfHold(other);

const keyOfHold = (hold: Hold): string =>
  JSON.stringify(hold.kind === 'silence' ? [hold.silence] : [hold.fingerprint, hold.incident]);

export interface GroupMember {
  readonly id: string;
  readonly target: string;
  readonly incident: string;
  readonly group: string;
  readonly status: DeliveryRow['status'];
  /** Its target was not notified of the incident before. */
  readonly isFirst: boolean;
  /** The same for all members of a group. */
  readonly inhibition: Inhibition | undefined;
  readonly event: HeadgateEvent;
}

export interface DeliveryGroup {
  readonly id: string;
  readonly members: Map<string, GroupMember>;
  notification: string;
  /** Its grouping, as text; undefined while nothing has been added since the start of the process. */
  groupingKey: string | undefined;
  intervalMs: number;
  /** When its members are sent, on the monotonic clock; undefined without members. */
  dueAt: number | undefined;
  /** When the interval after its last flush ends, on the monotonic clock. */
  intervalEndsAt: number;
  /** What its members wait for the end of, or waited for; the same for all of them. */
  hold: Hold | undefined;
  /** When its inhibition was last seen to be active, on the monotonic clock. */
  inhibitedAt: number;
}

export interface GroupAddition {
  readonly event: HeadgateEvent;
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping;
  /** True for an alarm in a mute window: it waits for every target. */
  readonly isMutedAlarm: boolean;
}

/** An alarm that waits for the end of a silence or of an inhibition. */
export interface WithheldAlarm {
  readonly event: HeadgateEvent;
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping | undefined;
  readonly incident: IncidentRow;
}

/** What is written of a group when it is looked at. */
export interface Flush {
  readonly members: readonly GroupMember[];
  readonly moved: readonly MovedMember[];
  readonly sends: FlushOperation['sends'];
}

/** A member in the group of what holds it back now. */
export interface MovedMember extends GroupMember {
  readonly columns: HoldColumns;
}

/** What becomes of the members of a group that is due. What was inhibited and is muted now waits as what is muted does. */
export function flushOf(group: DeliveryGroup, held: ReadonlyMap<GroupMember, Hold>, isMuted: boolean) {
  const isHeld = [...held.values()].some(hold => isSameHold(hold, group.hold));
  const sends: FlushOperation['sends'] = isHeld ? 'none' : isMuted ? 'resolved' : 'all';
  const isMutedOnly = sends === 'resolved' && group.hold?.kind === 'inhibition';
  const sent: GroupMember[] = [];
  const moved = new Map<GroupMember, Hold | undefined>();
  for (const member of group.members.values()) {
    const hold = held.get(member);
    if (hold !== undefined) {
      if (!isSameHold(hold, group.hold)) moved.set(member, hold);
    } else if (sends === 'all' || (sends === 'resolved' && member.status === 'OK')) sent.push(member);
    else if (isMutedOnly) moved.set(member, undefined);
  }
  return { sends, sent, moved };
}

/** When a group is to be checked. A timer that is no longer the group's is ignored. */
export interface FlushTimer {
  readonly at: number;
  readonly group: DeliveryGroup;
}

export const keyOfGrouping = (grouping: Grouping): string => JSON.stringify(grouping);

/** The end of an incident goes to the group of its alarm, whatever its own fields are. */
export const groupIdOf = (
  event: HeadgateEvent,
  incident: Pick<IncidentRow, 'notification' | 'state' | 'group_id'>,
  grouping: Grouping,
): string =>
  incident.state === 'closed' && incident.group_id !== null
    ? incident.group_id
    : hashOf([incident.notification, valuesOf(event, grouping)]);

/**
 * Alarms that are inhibited for one reason are sent together when that is over, if their notification would group them.
 */
export const inhibitedGroupId = (
  event: HeadgateEvent,
  incident: IncidentRow,
  grouping: Grouping,
  { pipeline, target }: Inhibition,
): string => hashOf([incident.notification, valuesOf(event, grouping), pipeline, target]);

/** Alarms that one thing holds back are sent together when it is over, if their notification would group them. */
export const heldGroupId = (
  event: HeadgateEvent,
  notification: string,
  grouping: Grouping,
  hold: Hold,
): string =>
  hashOf([
    notification,
    valuesOf(event, grouping),
    ...(hold.kind === 'silence' ? ['silence', hold.silence] : ['held', hold.fingerprint, hold.incident]),
  ]);

const valuesOf = (event: HeadgateEvent, { fields }: Grouping): unknown =>
  fields.map(name => [name, event[name] ?? null]);

const hashOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27);
