import type { GroupRow } from '../stores/groups.ts';
import type { TransitionOperation } from './transition.ts';

/** Puts whatever of a group waits on disk into the queue, and forgets groups that rested long enough. */
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
  "update deliveries set state = 'waiting', next_at = null where workspace = ? and group_id = ? and state = 'grouped'";
const UPSERT_GROUP =
  'insert into groups (workspace, id, interval_ends_at) values (?, ?, ?) ' +
  'on conflict (workspace, id) do update set interval_ends_at = excluded.interval_ends_at';
const DELETE_ENDED_INTERVALS = 'delete from groups where workspace = ? and interval_ends_at < ?';
const DROP_MEMBER =
  "update deliveries set state = 'skipped', next_at = null, settled_at = ?, " +
  'last_error = case when inhibited_for is null then ? else ? end ' +
  "where workspace = ? and id = ? and state = 'grouped'";
const DROPPED_BECAUSE = 'its incident was over before its group was sent';
const DROPPED_INHIBITED = 'its incident was over before its pipeline could be read again';

/** What a flush does: every member on disk, or every end among them, is to be sent, and the group rests. */
export const flushSteps = ({ workspace, group, onlyResolved, now }: FlushOperation) => [
  {
    sql: onlyResolved ? `${FLUSH_MEMBERS} and status = 'OK'` : FLUSH_MEMBERS,
    parameters: [workspace, group.id],
  },
  { sql: UPSERT_GROUP, parameters: [workspace, group.id, group.interval_ends_at] },
  { sql: DELETE_ENDED_INTERVALS, parameters: [workspace, now] },
];

/** Members that are not to be told any more. One that was sent meanwhile is a conflict: its end is to be told. */
export const dropSteps = ({ workspace, incident, dropped = [] }: TransitionOperation) =>
  dropped.map(id => ({
    sql: DROP_MEMBER,
    parameters: [incident.last_event_at, DROPPED_BECAUSE, DROPPED_INHIBITED, workspace, id],
    expect: 1,
  }));
