import type { DeliveryTable, GroupTable } from './tables.ts';

export type GroupRow = Omit<GroupTable, 'workspace'>;

/** Puts whatever of a group waits on disk into the queue, and forgets groups that rested long enough. */
export interface FlushOperation {
  readonly kind: 'flush';
  readonly workspace: string;
  readonly group: GroupRow;
  /** Alarms go on waiting. */
  readonly onlyEnds: boolean;
  /** Epoch ms. */
  readonly now: number;
}

export interface GroupStore {
  /** Groups that were sent, until when they rest. Some may be over. */
  resting(): Promise<readonly GroupRow[]>;
  /** Deliveries that wait in their groups, with an id after `after`, oldest first. */
  members(after: string, limit: number): Promise<readonly Omit<DeliveryTable, 'workspace'>[]>;
}
