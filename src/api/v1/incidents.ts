import * as z from 'zod';
import { END_SEVERITY } from '../../events/event.ts';
import { withoutInternal } from '../../events/system-fields.ts';
import {
  acknowledgeIncident,
  getIncident,
  listIncidentEvents,
  listIncidents,
  unacknowledgeIncident,
} from '../../resources/incidents.ts';
import {
  type DescribedIncident,
  NOTIFIED,
  RECIPIENT_OUTCOMES,
  type Recipient,
} from '../../resources/notified.ts';
import type { EventRow } from '../../storage/stores/events.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const recipient = z.object({
  target: z.string(),
  outcome: z
    .enum(RECIPIENT_OUTCOMES)
    .describe(
      'What became of its alarms: `unknown` may have arrived, `failed` was refused or given up, `skipped` was not to be sent.',
    ),
  at: z.iso.datetime().optional().describe('When it was first notified.'),
  insteadOf: z.string().optional().describe('The target whose fallback it is.'),
  isRecord: z
    .literal(true)
    .optional()
    .describe('It keeps a record, as the bulletin and the log do: nobody is alerted by it.'),
  heldBecause: z.string().optional().describe('What holds the latest alarm, as in the delivery.'),
  reason: z.string().optional().describe('Why it was not notified, or not yet.'),
});

const incident = z.object({
  id: z.string(),
  notification: z.string(),
  condition: z.string(),
  subject: z.string().describe('What it is about, such as an input.'),
  state: z.enum(['open', 'closed']),
  seq: z.int().min(1).describe('Grows with each change.'),
  openedAt: z.iso.datetime(),
  closedAt: z.iso.datetime().optional(),
  closeReason: z.string().optional().describe('Why it was closed without its condition having ended.'),
  severity: z.string().describe('Of the last event: `info` once it is closed.'),
  alarmSeverity: z.string().describe('Of its alarms.'),
  text: z.string().describe('Text of the last event.'),
  keptFiring: z
    .literal(true)
    .optional()
    .describe('Its condition is not met any more, and the alarm stays: for keepFiringFor, or as it flaps.'),
  flapping: z
    .literal(true)
    .optional()
    .describe('Its condition changed more often than flapThreshold within flapWindow.'),
  changes: z.int().optional().describe('How often it changed since it began to flap.'),
  heldBy: z
    .string()
    .optional()
    .describe(
      'The incident that inhibits this one, or did: by an inhibition of the configuration, or as it is on its pipeline. Its targets get nothing of this one while that is open.',
    ),
  acknowledged: z
    .object({ by: z.string(), at: z.iso.datetime(), note: z.string().optional() })
    .optional()
    .describe('Who looks after it, and since when: nobody is reminded of it, and it does not escalate.'),
  escalatedAt: z.iso
    .datetime()
    .optional()
    .describe('When it went to the targets of escalateTo, as nobody had acknowledged it.'),
  notified: z
    .enum(NOTIFIED)
    .describe(
      'Whether an alarm has reached a target that alerts people. `unknown`: one may have. `waiting`: not yet, and one is still to be sent.',
    ),
  heldBecause: z
    .string()
    .optional()
    .describe('While nobody was notified: what holds the alarm, such as a mute window, and until when.'),
  recipients: z
    .array(recipient)
    .describe('The targets of its alarms. An incident of a flood has those of its summary.'),
});
const incidentShape: Shape = { name: 'Incident', schema: incident };

export const wireIncident = ({
  row,
  notified,
  recipients,
  inhibitedBy,
  acknowledgement,
}: DescribedIncident): z.output<typeof incident> => ({
  id: row.id,
  notification: row.notification,
  condition: row.condition,
  subject: row.subject,
  state: row.state,
  seq: row.seq,
  openedAt: isoTime(row.opened_at),
  ...(row.closed_at !== null && { closedAt: isoTime(row.closed_at) }),
  ...(row.close_reason !== null && { closeReason: row.close_reason }),
  severity: row.state === 'closed' ? END_SEVERITY : row.severity,
  alarmSeverity: row.severity,
  text: row.text,
  ...(row.state === 'open' && row.unmet_since !== null && { keptFiring: true as const }),
  ...(row.flapping_changes !== null && { flapping: true as const, changes: row.flapping_changes }),
  ...(inhibitedBy !== undefined && { heldBy: inhibitedBy }),
  ...(acknowledgement !== undefined && {
    acknowledged: {
      by: acknowledgement.changed_by,
      at: isoTime(acknowledgement.changed_at),
      ...(acknowledgement.note !== '' && { note: acknowledgement.note }),
    },
  }),
  ...(row.escalated_at !== null && { escalatedAt: isoTime(row.escalated_at) }),
  notified,
  ...(notified === 'waiting' && heldBecauseOf(recipients)),
  recipients: recipients.map(wireRecipient),
});

function heldBecauseOf(recipients: readonly Recipient[]): { readonly heldBecause?: string } {
  const held = recipients.find(one => !one.isRecord && one.held !== undefined)?.held;
  return held === undefined ? {} : { heldBecause: held.because };
}

const wireRecipient = ({
  target,
  outcome,
  at,
  held,
  reason,
  insteadOf,
  isRecord,
}: Recipient): z.output<typeof recipient> => ({
  target,
  outcome,
  ...(at !== undefined && { at: isoTime(at) }),
  ...(insteadOf !== undefined && { insteadOf }),
  ...(isRecord && { isRecord: true as const }),
  ...(held !== undefined && { heldBecause: held.because }),
  ...(reason !== undefined && { reason }),
});

const incidentEvent = z.looseObject({
  id: z.string(),
  status: z.enum(['ALARM', 'OK']),
  _time: z.number().describe('Epoch seconds.'),
  _raw: z.string().describe('Its text.'),
});
const incidentEventShape: Shape = { name: 'IncidentEvent', schema: incidentEvent };

/** As receivers see it, without the system fields that each target attaches for itself. */
const wireIncidentEvent = (row: EventRow): z.output<typeof incidentEvent> =>
  withoutInternal(JSON.parse(row.body));

export const incidentRoutes: readonly Route[] = [
  route({
    id: 'incidents.list',
    isLive: 'while-led',
    method: 'GET',
    path: '/incidents',
    summary: 'List incidents, newest first',
    verb: listIncidents,
    answer: list(incidentShape, wireIncident),
    example: { query: { state: 'open' } },
  }),
  route({
    id: 'incidents.get',
    isLive: 'while-led',
    method: 'GET',
    path: '/incidents/:id',
    summary: 'Get an incident',
    verb: getIncident,
    answer: item(incidentShape, wireIncident),
    example: { params: { id: '{incident}' } },
  }),
  route({
    id: 'incidents.events',
    isLive: false,
    method: 'GET',
    path: '/incidents/:id/events',
    summary: 'List the events of an incident, oldest first',
    description: 'Also those that were sent to nobody, as the alarm was kept or flapped.',
    verb: listIncidentEvents,
    answer: list(incidentEventShape, wireIncidentEvent),
    example: { params: { id: '{incident}' } },
  }),
  // The leading process makes and takes them back, so that they count from the answer on.
  route({
    id: 'incidents.acknowledge',
    method: 'POST',
    path: '/incidents/:id/acknowledge',
    summary: 'Say that somebody looks after an open incident',
    description:
      'Nobody is reminded of it any more, and it goes to no further targets by escalateTo. Its end is notified as usual. The next incident on the same subject needs another acknowledgement.',
    verb: acknowledgeIncident,
    takes: { shape: { name: 'Acknowledgement' } },
    answer: item(incidentShape, wireIncident),
    errors: ['conflict'],
    example: { params: { id: '{incident}' }, body: { note: 'A disk is being replaced.' } },
  }),
  route({
    id: 'incidents.unacknowledge',
    method: 'DELETE',
    path: '/incidents/:id/acknowledge',
    summary: 'Take the acknowledgement of an open incident back',
    description:
      'Reminders go on, and the time until it escalates begins anew. A closed incident stays as it is.',
    verb: unacknowledgeIncident,
    answer: item(incidentShape, wireIncident),
    example: { params: { id: '{incident}' } },
  }),
];
