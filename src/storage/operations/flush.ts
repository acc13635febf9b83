import type { HoldColumns } from '../stores/deliveries.ts';
import type { EventRow } from '../stores/events.ts';
import type { GroupRow } from '../stores/groups.ts';
import { statement, type UnfencedPlan } from './plan.ts';
import { recordSilenced } from './silenced.ts';

/** A member that waits for something else from now on. */
interface MovedMember extends HoldColumns {
  readonly id: string;
  /** Id of its incident. */
  readonly incident: string;
  readonly group_id: string;
}

/** Puts the members of a group that wait on disk into the queue, and forgets groups whose interval has ended. */
export interface FlushOperation {
  readonly kind: 'flush';
  readonly workspace: string;
  readonly group: GroupRow;
  /** Which of its members are sent; the others go on waiting. */
  readonly sends: 'all' | 'resolved' | 'none';
  /** Members that leave it before that. */
  readonly moved: readonly MovedMember[];
  /** Bodies of events to which was added what their receivers are to know of the wait. */
  readonly events: readonly Pick<EventRow, 'id' | 'body'>[];
  /** Epoch ms. */
  readonly now: number;
}

// The state is in the text, because SQLite takes a partial index only for what it can read there.
const FLUSH_MEMBERS =
  "update deliveries set state = 'waiting', next_at = null, released_at = :now " +
  "where workspace = :workspace and group_id = :group_id and state = 'grouped'";
const flushMembers = statement(FLUSH_MEMBERS);
const flushResolved = statement(`${FLUSH_MEMBERS} and status = 'OK'`);
const moveMember = statement(
  'update deliveries set group_id = :group_id, silenced_by = :silenced_by, inhibition = :inhibition, ' +
    'inhibited_by = :inhibited_by, inhibited_for = null, next_at = :next_at ' +
    "where workspace = :workspace and id = :id and state = 'grouped'",
);
const updateEvent = statement('update events set body = :body where workspace = :workspace and id = :id');
const upsertGroup = statement(
  'insert into groups (workspace, id, interval_ends_at) values (:workspace, :id, :interval_ends_at) ' +
    'on conflict (workspace, id) do update set interval_ends_at = excluded.interval_ends_at',
);
const deleteEndedIntervals = statement(
  'delete from groups where workspace = :workspace and interval_ends_at < :now',
);

export const planFlush = ({ workspace, group, sends, moved, events, now }: FlushOperation): UnfencedPlan => ({
  steps: [
    ...moved.flatMap(({ incident, ...member }) => [
      moveMember(workspace, { ...member }),
      ...(member.silenced_by === null
        ? []
        : [recordSilenced(workspace, { silence: member.silenced_by, incident })]),
    ]),
    ...events.map(event => updateEvent(workspace, { ...event })),
    ...(sends === 'none'
      ? []
      : [
          (sends === 'all' ? flushMembers : flushResolved)(workspace, { group_id: group.id, now }),
          upsertGroup(workspace, group),
        ]),
    deleteEndedIntervals(workspace, { now }),
  ],
  conflict: () => `group '${group.id}' cannot be sent`,
  changes: [{ workspace, resource: 'deliveries', id: '*' }],
});
