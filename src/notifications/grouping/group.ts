import { createHash } from 'node:crypto';
import type { HeadgateEvent } from '../../events/event.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Inhibition } from '../inhibition/inhibition.ts';
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
  /** When its inhibition was last seen to be active, on the monotonic clock. */
  inhibitedAt: number;
}

export interface GroupAddition {
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping;
  /** True for an alarm in a mute window: it waits for every target. */
  readonly isMutedAlarm: boolean;
}

export interface InhibitedAlarm {
  readonly event: HeadgateEvent;
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping | undefined;
  readonly incident: IncidentRow;
}

/** When a group is to be checked. A timer that is no longer the group's is ignored. */
export interface FlushTimer {
  readonly at: number;
  readonly group: DeliveryGroup;
}

export const keyOfGrouping = (grouping: Grouping): string => JSON.stringify(grouping);

/** The end of an incident goes to the group of its alarm, whatever its own fields are. */
export const groupIdOf = (event: HeadgateEvent, incident: IncidentRow, grouping: Grouping): string =>
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

const valuesOf = (event: HeadgateEvent, { fields }: Grouping): unknown =>
  fields.map(name => [name, event[name] ?? null]);

const hashOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27);
