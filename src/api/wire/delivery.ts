import * as z from 'zod';
import { withoutInternal } from '../../events/system-fields.ts';
import type { DescribedDelivery } from '../../resources/deliveries/described.ts';
import type { AttemptRow, EventRow } from '../../storage/storage.ts';
import { DELIVERY_STATES } from '../../storage/tables.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const time = z.iso.datetime();

const delivery = z.object({
  id: z.string().describe('Sent with every attempt: receivers drop repeats by it.'),
  target: z.string(),
  notification: z.string(),
  subject: z.string().describe('What the incident is about.'),
  incidentId: z.string(),
  eventId: z.string(),
  status: z.enum(['ALARM', 'OK']).describe('Whether it tells the alarm or its end.'),
  state: z.enum(DELIVERY_STATES),
  attempts: z.int().min(0),
  nextAt: time.optional().describe('When it is tried again.'),
  lastStatus: z.int().optional().describe('HTTP status of the last attempt, if there was an answer.'),
  lastError: z.string().optional(),
  createdAt: time,
  heldBecause: z.string().optional().describe('Why it waits, when that is not for its next attempt.'),
  retriedAt: time.optional().describe('When it was last put back into the queue.'),
  insteadOf: z.string().optional().describe('The target whose fallback this one is.'),
  batch: z
    .string()
    .optional()
    .describe('Sent with the attempts in place of its id: it travels together with others.'),
  settledAt: time.optional().describe('When it was sent or given up.'),
});
export const deliveryShape: Shape = { name: 'Delivery', schema: delivery };

export const wireDelivery = ({ row, heldBecause }: DescribedDelivery): z.output<typeof delivery> => ({
  id: row.id,
  target: row.target,
  notification: row.notification,
  subject: row.subject,
  incidentId: row.incident_id,
  eventId: row.event_id,
  status: row.status,
  state: row.state,
  attempts: row.attempts,
  ...(row.next_at !== null && { nextAt: isoTime(row.next_at) }),
  ...(row.last_status !== null && { lastStatus: row.last_status }),
  ...(row.last_error !== null && { lastError: row.last_error }),
  createdAt: isoTime(row.created_at),
  ...(heldBecause !== undefined && { heldBecause }),
  ...(row.retried_at !== null && { retriedAt: isoTime(row.retried_at) }),
  ...(row.instead_of !== null && { insteadOf: row.instead_of }),
  ...(row.batch !== null && { batch: row.batch }),
  ...(row.settled_at !== null && { settledAt: isoTime(row.settled_at) }),
});

const detail = delivery.extend({
  log: z
    .array(
      z.object({
        number: z.int().min(1),
        startedAt: time,
        durationMs: z.number(),
        outcome: z.enum(['sent', 'retry', 'refused']),
        status: z.int().optional(),
        reason: z.string().optional(),
        answer: z.string().optional().describe('The first 2 KB of the answer, secrets masked.'),
      }),
    )
    .describe('Its attempts; a success at the first is not listed.'),
  event: z.looseObject({}).optional().describe('What is sent, without the fields that targets attach.'),
});
export const deliveryDetailShape: Shape = { name: 'DeliveryDetail', schema: detail };

interface DeliveryDetail extends DescribedDelivery {
  readonly attempts: readonly AttemptRow[];
  readonly event: EventRow | undefined;
}

/** The event as receivers see it, but for the system fields, which each target attaches for itself. */
const outside = (row: EventRow): Record<string, unknown> => ({ ...withoutInternal(JSON.parse(row.body)) });

export const wireDeliveryDetail = (found: DeliveryDetail): z.output<typeof detail> => ({
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
    .describe('How many were left alone: their target has got later news of the incident since.'),
});
export const replayShape: Shape = { name: 'Replay', schema: replayed };
export const replayRequestShape: Omit<Shape, 'schema'> = { name: 'ReplayRequest' };

export const wireReplay = (answer: z.output<typeof replayed>): z.output<typeof replayed> => answer;
