import * as z from 'zod';
import { withoutInternal } from '../../events/system-fields.ts';
import { getIncident, listIncidentEvents, listIncidents } from '../../resources/incidents.ts';
import type { EventRow } from '../../storage/stores/events.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

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
  severity: z.string(),
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
      'The incident on its pipeline that inhibited this one: its targets got nothing of this one while it was open.',
    ),
});
const incidentShape: Shape = { name: 'Incident', schema: incident };

export const wireIncident = (row: IncidentRow): z.output<typeof incident> => ({
  id: row.id,
  notification: row.notification,
  condition: row.condition,
  subject: row.subject,
  state: row.state,
  seq: row.seq,
  openedAt: isoTime(row.opened_at),
  ...(row.closed_at !== null && { closedAt: isoTime(row.closed_at) }),
  ...(row.close_reason !== null && { closeReason: row.close_reason }),
  severity: row.severity,
  text: row.text,
  ...(row.state === 'open' && row.unmet_since !== null && { keptFiring: true as const }),
  ...(row.flapping_changes !== null && { flapping: true as const, changes: row.flapping_changes }),
  ...(row.inhibited_by !== null && { heldBy: row.inhibited_by }),
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
    isLive: false,
    method: 'GET',
    path: '/incidents',
    summary: 'List incidents, newest first',
    verb: listIncidents,
    answer: list(incidentShape, wireIncident),
    example: { query: { state: 'open' } },
  }),
  route({
    id: 'incidents.get',
    isLive: false,
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
];
