import { DELIVERY_COLUMNS, type DeliveryRow } from '../stores/deliveries.ts';
import { EVENT_COLUMNS, type EventRow } from '../stores/events.ts';
import { INCIDENT_COLUMNS, type IncidentRow } from '../stores/incidents.ts';
import { MESSAGE_COLUMNS, type MessageRow } from '../stores/messages.ts';
import type { CommittedChange } from '../types.ts';
import { assignmentsOf, insertText, type Step, statement, type UnfencedPlan } from './plan.ts';
import { recordSilenced } from './silenced.ts';

/**
 * Writes an incident's transition or repeat with all that follows from it, or nothing at all.
 * Refused with `conflict` when `expectedSeq` (0 to open) is not the incident's present one, or when another incident
 * of the same notification and subject is open.
 */
export interface TransitionOperation {
  readonly kind: 'transition';
  readonly workspace: string;
  readonly expectedSeq: number;
  readonly incident: IncidentRow;
  readonly event: EventRow;
  readonly deliveries: readonly DeliveryRow[];
  readonly message: MessageRow;
  /** Ids of deliveries that wait in a group and are to be skipped; conflicts with one that was flushed. */
  readonly dropped?: readonly string[];
  /** The silence whose end its deliveries wait for. */
  readonly silence?: string;
}

const insertIncident = statement(insertText('incidents', INCIDENT_COLUMNS));
const updateIncident = statement(
  `update incidents set ${assignmentsOf(INCIDENT_COLUMNS)} ` +
    "where id = :id and workspace = :workspace and seq = :expected_seq and state = 'open'",
);
const insertEvent = statement(insertText('events', EVENT_COLUMNS));
const insertDelivery = statement(insertText('deliveries', DELIVERY_COLUMNS));
const upsertMessage = statement(
  `${insertText('messages', MESSAGE_COLUMNS)} on conflict (workspace, id) ` +
    `do update set ${assignmentsOf(MESSAGE_COLUMNS, column => `excluded.${column}`)}`,
);
const dropMember = statement(
  "update deliveries set state = 'skipped', next_at = null, settled_at = :settled_at, " +
    'last_error = case when silenced_by is not null then :silenced_because ' +
    'when inhibited_by is not null then :held_because ' +
    'when inhibited_for is null then :because else :inhibited_because end ' +
    "where workspace = :workspace and id = :id and state = 'grouped'",
);
const DROPPED_BECAUSE = 'its incident was over before its group was sent';
const DROPPED_SILENCED = 'its incident was over before its silence';
const DROPPED_HELD = 'its incident was over before the one that inhibited it';
const DROPPED_INHIBITED = 'its incident was over before its pipeline could be read again';

/** Spelled out, as one is made for each transition. */
const replacing = ({ sql, parameters, expect }: Step, replaces: string): Step => ({
  sql,
  parameters,
  expect,
  replaces,
});

export function planTransition(operation: TransitionOperation): UnfencedPlan {
  const { workspace, expectedSeq, incident, event, deliveries, message, silence } = operation;
  return {
    steps: [
      expectedSeq === 0
        ? insertIncident(workspace, incident)
        : updateIncident(workspace, { ...incident, expected_seq: expectedSeq }, 1),
      insertEvent(workspace, event),
      ...deliveries.map(row => insertDelivery(workspace, row)),
      ...dropSteps(operation),
      ...(silence === undefined ? [] : [recordSilenced(workspace, { silence, incident: incident.id })]),
      replacing(upsertMessage(workspace, message), `messages ${workspace} ${message.id}`),
    ],
    conflict: () =>
      expectedSeq === 0
        ? `another incident of notification '${incident.notification}' on '${incident.subject}' is open, or an id was used twice`
        : `incident '${incident.id}' is not open at seq ${expectedSeq} any more, or an id was used twice; read it again`,
    changes: [
      { workspace, resource: 'incidents', id: incident.id },
      ...deliveries.map(({ id }): CommittedChange => ({ workspace, resource: 'deliveries', id })),
      { workspace, resource: 'messages', id: message.id },
    ],
  };
}

/** One that was sent meanwhile is a conflict: its end is to be sent, too. */
const dropSteps = ({ workspace, incident, dropped = [] }: TransitionOperation): Step[] =>
  dropped.map(id =>
    dropMember(
      workspace,
      {
        id,
        settled_at: incident.last_event_at,
        because: DROPPED_BECAUSE,
        inhibited_because: DROPPED_INHIBITED,
        silenced_because: DROPPED_SILENCED,
        held_because: DROPPED_HELD,
      },
      1,
    ),
  );
