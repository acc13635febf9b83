import { createHash } from 'node:crypto';
import type { HeadgateEvent } from '../../events/event.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Inhibition } from '../inhibition/inhibition.ts';
import type { Grouping, Notification } from '../notification.ts';

/** A transition that is to be written, its deliveries in their groups. */
export interface GroupedTransition {
  readonly operation: TransitionOperation;
  /** It was not written: memory goes back. */
  readonly undo: (isConflict: boolean) => void;
}

/** How deliveries of an active rule are grouped, muted and inhibited. */
export interface GroupSettings {
  readonly notification: Pick<Notification, 'grouping' | 'muteWindows'>;
  /** How long after an outage its alarms may still come of it, in milliseconds; undefined when none ever does. */
  readonly inhibitionGraceMs?: number | undefined;
  /** Whether one of the incidents that were inhibited for an outage which is over is about to close. */
  isResolving(pipeline: string, inhibited: ReadonlyMap<string, Pick<GroupMember, 'incident'>>): boolean;
}

export interface GroupMember {
  readonly id: string;
  readonly target: string;
  readonly incident: string;
  readonly group: string;
  readonly status: DeliveryRow['status'];
  /** Its target was notified of nothing of the incident before. */
  readonly isFirst: boolean;
  /** The same for all of a group. */
  readonly inhibition: Inhibition | undefined;
}

export interface DeliveryGroup {
  readonly id: string;
  readonly members: Map<string, GroupMember>;
  notification: string;
  /** How it is grouped, as text; undefined while nothing has been added since the start of the process. */
  groupingKey: string | undefined;
  intervalMs: number;
  /** When its members are sent, on the monotonic clock; undefined without members. */
  dueAt: number | undefined;
  /** When the interval after its last flush ends, on the monotonic clock. */
  intervalEndsAt: number;
  /** When its inhibition was last known to be active, on the monotonic clock. */
  inhibitedAt: number;
}

export interface GroupAddition {
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping;
  /** It is an alarm in a mute window, so that it waits for every target. */
  readonly isMutedAlarm: boolean;
}

export interface InhibitedAlarm {
  readonly event: HeadgateEvent;
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping | undefined;
  readonly incident: IncidentRow;
}

/** When a group is to be looked at. One that is not its group's time any more is passed over. */
export interface FlushTimer {
  readonly at: number;
  readonly group: DeliveryGroup;
}

export const keyOfGrouping = (grouping: Grouping): string => JSON.stringify(grouping);

/** An end goes where its alarm went, whatever its own fields say. */
export const groupIdOf = (event: HeadgateEvent, incident: IncidentRow, grouping: Grouping): string =>
  incident.state === 'closed' && incident.group_id !== null
    ? incident.group_id
    : hashOf([incident.notification, valuesOf(event, grouping)]);

/** What is inhibited for one reason is sent together once that is over, in so far as it would have been. */
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
