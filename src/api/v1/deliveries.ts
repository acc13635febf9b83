import * as z from 'zod';
import { withoutInternal } from '../../events/system-fields.ts';
import {
  type DescribedDelivery,
  getDelivery,
  listDeliveries,
  replayDeliveries,
  retryDelivery,
} from '../../resources/deliveries.ts';
import type { Held } from '../../resources/held.ts';
import type { AttemptRow, DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { EventRow } from '../../storage/stores/events.ts';
import { DELIVERY_STATES } from '../../storage/tables.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const time = z.iso.datetime();

const delivery = z.object({
  id: z.string().describe('Sent with every attempt: receivers drop repeats by it.'),
  target: z.string(),
  notification: z.string(),
  subject: z.string().describe('What the incident is about.'),
  incidentId: z.string(),
  eventId: z.string(),
  status: z.enum(['ALARM', 'OK']).describe('Whether it reports the alarm or its end.'),
  state: z.enum(DELIVERY_STATES),
  attempts: z.int().min(0),
  mayHaveArrived: z
    .boolean()
    .optional()
    .describe(
      'True when it has not arrived for certain and an attempt of it was written and not answered: the receiver may have it.',
    ),
  nextAt: time.optional().describe('When it is tried again, or what holds it is over.'),
  lastStatus: z.int().optional().describe('HTTP status of the last attempt, if there was an answer.'),
  lastError: z.string().optional(),
  createdAt: time,
  heldBecause: z
    .string()
    .optional()
    .describe(
      'Why it waits, when that is not for its next attempt: muted, grouped, inhibited, behind an earlier event, a pause, a rate, a quota, a removed target; with until when or until what.',
    ),
  retriedAt: time.optional().describe('When it was last put back into the queue.'),
  insteadOf: z.string().optional().describe('The target whose fallback this one is.'),
  batch: z
    .string()
    .optional()
    .describe('Sent with the attempts in place of its id: it travels together with others.'),
  settledAt: time.optional().describe('When it was sent or given up.'),
});
const deliveryShape: Shape = { name: 'Delivery', schema: delivery };

export const wireDelivery = ({ row, held }: DescribedDelivery): z.output<typeof delivery> => ({
  id: row.id,
  target: row.target,
  notification: row.notification,
  subject: row.subject,
  incidentId: row.incident_id,
  eventId: row.event_id,
  status: row.status,
  state: row.state,
  attempts: row.attempts,
  ...(row.unknown_attempts > 0 && row.state !== 'sent' && { mayHaveArrived: true }),
  ...nextAtOf(row, held),
  ...(row.last_status !== null && { lastStatus: row.last_status }),
  ...(row.last_error !== null && { lastError: row.last_error }),
  createdAt: isoTime(row.created_at),
  ...(held !== undefined && { heldBecause: held.because }),
  ...(row.retried_at !== null && { retriedAt: isoTime(row.retried_at) }),
  ...(row.fallback_for !== null && { insteadOf: row.fallback_for }),
  ...(row.batch !== null && { batch: row.batch }),
  ...(row.settled_at !== null && { settledAt: isoTime(row.settled_at) }),
});

/** What holds it may end at another time than was planned, or when nobody can say. */
function nextAtOf({ next_at: planned }: DeliveryRow, held: Held | undefined): { readonly nextAt?: string } {
  const at = held === undefined ? planned : held.until;
  return at === null || at === undefined ? {} : { nextAt: isoTime(at) };
}

const detail = delivery.extend({
  log: z
    .array(
      z.object({
        number: z.int().min(1),
        startedAt: time,
        durationMs: z.number(),
        outcome: z.enum(['sent', 'retry', 'unknown', 'refused']),
        status: z.int().optional(),
        reason: z.string().optional(),
        answer: z.string().optional().describe('The first 2 KB of the answer, secrets masked.'),
      }),
    )
    .describe('Its attempts; a success at the first is not listed where nothing was answered.'),
  event: z.looseObject({}).optional().describe('What is sent, without the fields that targets attach.'),
});
const deliveryDetailShape: Shape = { name: 'DeliveryDetail', schema: detail };

interface DeliveryDetail extends DescribedDelivery {
  readonly attempts: readonly AttemptRow[];
  readonly event: EventRow | undefined;
}

/** The event as receivers see it, without the system fields that each target attaches for itself. */
const outside = (row: EventRow): Record<string, unknown> => ({ ...withoutInternal(JSON.parse(row.body)) });

const wireDeliveryDetail = (found: DeliveryDetail): z.output<typeof detail> => ({
  ...wireDelivery(found),
  log: found.attempts.map(attempt => ({
    number: attempt.number,
    startedAt: isoTime(attempt.started_at),
    durationMs: attempt.duration_ms,
    outcome: attempt.outcome,
    ...(attempt.http_status !== null && { status: attempt.http_status }),
    ...(attempt.reason !== null && { reason: attempt.reason }),
    ...(attempt.answer !== null && { answer: attempt.answer }),
  })),
  ...(found.event && { event: outside(found.event) }),
});

const replayed = z.object({
  requeued: z
    .int()
    .min(0)
    .describe('How many wait again; the ends that were skipped for their sake among them.'),
  overtaken: z
    .int()
    .min(0)
    .describe('How many were left alone: their target has got a later change of the incident since.'),
});
const replayShape: Shape = { name: 'Replay', schema: replayed };
const replayRequestShape: Omit<Shape, 'schema'> = { name: 'ReplayRequest' };

const wireReplay = (answer: z.output<typeof replayed>): z.output<typeof replayed> => answer;

export const deliveryRoutes: readonly Route[] = [
  route({
    id: 'deliveries.list',
    isLive: 'while-led',
    method: 'GET',
    path: '/deliveries',
    summary: 'List deliveries, newest first',
    verb: listDeliveries,
    answer: list(deliveryShape, wireDelivery),
    example: { query: { target: 'log', limit: '1' } },
  }),
  route({
    id: 'deliveries.get',
    isLive: 'while-led',
    method: 'GET',
    path: '/deliveries/:id',
    summary: 'Get a delivery with its attempts and its event',
    verb: getDelivery,
    answer: item(deliveryDetailShape, wireDeliveryDetail),
    example: { params: { id: '{delivery}' } },
  }),
  route({
    id: 'deliveries.retry',
    method: 'POST',
    path: '/deliveries/:id/retry',
    summary: 'Try a delivery at once, also one that was given up',
    description:
      'Its schedule begins anew. The end of the incident, if it was skipped because the alarm had not arrived, follows.',
    verb: retryDelivery,
    answer: item(deliveryShape, wireDelivery),
    errors: ['conflict'],
    example: { params: { id: '{waiting}' } },
  }),
  route({
    id: 'deliveries.replay',
    method: 'POST',
    path: '/deliveries/replay',
    summary: 'Put what was given up in a range of time back into the queue',
    verb: replayDeliveries,
    takes: { shape: replayRequestShape },
    answer: item(replayShape, wireReplay),
    example: { body: { since: '2026-01-01T00:00:00Z', target: 'log' } },
  }),
];
