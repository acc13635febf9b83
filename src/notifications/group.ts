import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow, IncidentRow, TransitionOperation } from '../storage/storage.ts';
import type { Hold } from './holds.ts';
import type { Grouping, Notification } from './notification.ts';

/** A transition that is to be written, its deliveries in their groups. */
export interface Grouped {
  readonly operation: TransitionOperation;
  /** It was not written: memory goes back. */
  undo(isConflict: boolean): void;
}

export type GroupRules = Pick<Notification, 'grouping' | 'muteWindows' | 'rule'>;

export interface Member {
  readonly id: string;
  readonly target: string;
  readonly incident: string;
  readonly group: string;
  readonly status: DeliveryRow['status'];
  /** Its target was told nothing of the incident before. */
  readonly isFirst: boolean;
  /** The same for all of a group. */
  readonly hold: Hold | undefined;
}

export interface Group {
  readonly id: string;
  readonly members: Map<string, Member>;
  notification: string;
  /** How it is grouped, as text; undefined while nobody has said so since the start of the process. */
  rule: string | undefined;
  intervalMs: number;
  /** When its members are sent, on the monotonic clock; undefined without members. */
  due: number | undefined;
  /** Until when it rests, on the monotonic clock. */
  restsUntil: number;
  /** When the target of its hold was last known to be told of the outage, on the monotonic clock. */
  toldAt: number;
}

export interface Joining {
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping;
  /** Nothing of it may be told now, to no target. */
  readonly isHeld: boolean;
}

export interface HeldAlarm {
  readonly event: HeadgateEvent;
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping | undefined;
  readonly incident: IncidentRow;
}

/** A group's place in the line. One that is not its group's time any more is passed over. */
export interface Turn {
  readonly at: number;
  readonly group: Group;
}
