import type { GroupRow } from '../stores/groups.ts';
import { statement, type UnfencedPlan } from './plan.ts';

/** Puts the members of a group that wait on disk into the queue, and forgets groups whose interval has ended. */
export interface FlushOperation {
  readonly kind: 'flush';
  readonly workspace: string;
  readonly group: GroupRow;
  /** Alarms go on waiting. */
  readonly onlyResolved: boolean;
  /** Epoch ms. */
  readonly now: number;
}

// The state is in the text, because SQLite takes a partial index only for what it can read there.
const FLUSH_MEMBERS =
  "update deliveries set state = 'waiting', next_at = null " +
  "where workspace = :workspace and group_id = :group_id and state = 'grouped'";
const flushMembers = statement(FLUSH_MEMBERS);
const flushResolved = statement(`${FLUSH_MEMBERS} and status = 'OK'`);
const upsertGroup = statement(
  'insert into groups (workspace, id, interval_ends_at) values (:workspace, :id, :interval_ends_at) ' +
    'on conflict (workspace, id) do update set interval_ends_at = excluded.interval_ends_at',
);
const deleteEndedIntervals = statement(
  'delete from groups where workspace = :workspace and interval_ends_at < :now',
);

export const planFlush = ({ workspace, group, onlyResolved, now }: FlushOperation): UnfencedPlan => ({
  steps: [
    (onlyResolved ? flushResolved : flushMembers)(workspace, { group_id: group.id }),
    upsertGroup(workspace, group),
    deleteEndedIntervals(workspace, { now }),
  ],
  conflict: () => `group '${group.id}' cannot be sent`,
  changes: [{ workspace, resource: 'deliveries', id: '*' }],
});
