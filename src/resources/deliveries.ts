import * as z from 'zod';
import { AppError, notFound } from '../lib/errors.ts';
import { identifier } from '../lib/schemas.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import { DELIVERY_STATES } from '../storage/tables.ts';
import type { WorkspaceContext } from './context.ts';
import { type Held, heldOf } from './held.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

/** A delivery as reads answer it. */
export interface DescribedDelivery {
  readonly row: DeliveryRow;
  /** Why it waits, when that is not for its next attempt. */
  readonly held: Held | undefined;
}

const describeDelivery = (context: WorkspaceContext, row: DeliveryRow): DescribedDelivery => ({
  row,
  held: heldOf(row, context),
});

const text = z.string().max(512).optional();
const time = z.iso.datetime({ offset: true }).optional();

const input = z.object({
  ...pageQuery,
  state: z.enum(DELIVERY_STATES).optional(),
  target: text,
  notification: text,
  incident: text,
  since: time.describe('Made then or later.'),
  until: time.describe('Made before.'),
});

export const listDeliveries = defineVerb({
  permission: 'read:deliveries',
  input,
  async run({ context }, query) {
    const { state, target, notification, incident, since, until } = query;
    const filter = {
      ...(state && { state }),
      ...(target && { target }),
      ...(notification && { notification }),
      ...(incident && { incident }),
      ...(since && { since: Date.parse(since) }),
      ...(until && { until: Date.parse(until) }),
    };
    const page = await context.stores.deliveries.list(filter, pageRequest(query));
    return toListPage(query, page, row => describeDelivery(context, row));
  },
});

/** A delivery with its attempts and the event it carries. */
export const getDelivery = defineVerb({
  permission: 'read:deliveries',
  input: z.object({ id: z.string().max(512) }),
  async run({ context }, { id }) {
    const { deliveries, events } = context.stores;
    const delivery = await deliveries.get(id);
    if (delivery === undefined) throw notFound('delivery', id);
    const [attempts, event] = await Promise.all([deliveries.attempts(id), events.get(delivery.event_id)]);
    return { ...describeDelivery(context, delivery), attempts, event };
  },
});

/** The states in which a delivery can be retried. */
const STATES = ['waiting', 'unknown', 'refused', 'exhausted'] as const;

/**
 * Tries a delivery at once, whatever it waits for and although it was given up; its schedule begins anew. Throws
 * `conflict` when nothing must be sent any more.
 */
export const retryDelivery = defineVerb({
  permission: 'update:deliveries',
  input: z.object({ id: z.string().max(512) }),
  async run({ context }, { id }) {
    const { deliveries } = context.stores;
    const before = await deliveries.get(id);
    if (before === undefined) throw notFound('delivery', id);
    assertUnsettled(before);
    assertTarget(context, before);
    const now = context.clock.now();
    const { requeued, overtaken } = await context.requeue({ id, states: STATES }, now);
    if (overtaken > 0)
      throw new AppError(
        'conflict',
        `target '${before.target}' has got a later event of the incident; this delivery would come after it`,
      );
    if (requeued === 0) assertUnsettled((await deliveries.get(id)) ?? before);
    const after = { state: 'waiting', next_at: null, settled_at: null, retried_at: now } as const;
    return describeDelivery(context, { ...before, ...after });
  },
});

/** Its ends are sent by its last settings, its alarms by none. */
function assertTarget(
  { configuration }: WorkspaceContext,
  { notification, status, target }: DeliveryRow,
): void {
  const { targets } = configuration();
  if (status === 'OK' || targets.some(({ settings }) => settings.id === target)) return;
  throw new AppError(
    'conflict',
    `target '${target}' was removed, so nothing can be sent to it; configure a target of this id again, or name another one in the targets of notification '${notification}'`,
  );
}

function assertUnsettled({ id, last_error, state, status, target }: DeliveryRow): void {
  if (state === 'grouped')
    throw new AppError(
      'conflict',
      `delivery '${id}' waits in its group or for the end of a mute window; it is sent by itself when that is over`,
    );
  if (state === 'sent')
    throw new AppError('conflict', `delivery '${id}' has arrived; there is nothing to retry`);
  if (state === 'skipped' && status === 'ALARM')
    throw new AppError('conflict', `delivery '${id}' was skipped (${last_error}); nothing of it is sent`);
  if (state === 'skipped')
    throw new AppError(
      'conflict',
      `delivery '${id}' was skipped, as nothing of its incident has reached '${target}'; retry the alarm, and this one follows`,
    );
}

const GIVEN_UP = ['refused', 'exhausted', 'unknown'] as const;
/** What may have arrived is sent again only where that is asked for. */
const NOT_ARRIVED: readonly (typeof GIVEN_UP)[number][] = ['refused', 'exhausted'];

const body = z
  .strictObject({
    since: z.iso.datetime({ offset: true }).describe('Deliveries made then or later.'),
    until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('Deliveries made before; without it until now.'),
    states: z
      .array(z.enum(GIVEN_UP))
      .min(1)
      .default([...NOT_ARRIVED])
      .describe('Which of those that were given up; `unknown` ones may arrive twice.'),
    target: identifier.optional().describe('Only those to this target.'),
    notification: identifier.optional().describe('Only those of this notification.'),
  })
  .refine(({ since, until }) => until === undefined || Date.parse(since) < Date.parse(until), {
    path: ['until'],
    error: 'must be later than since',
  });

/** Puts deliveries that were given up in a range of time back into the queue, in order. */
export const replayDeliveries = defineVerb({
  permission: 'update:deliveries',
  input: z.object({ body }),
  run({ context }, { body: { since, until, states, target, notification } }) {
    const filter = {
      states,
      since: Date.parse(since),
      ...(until !== undefined && { until: Date.parse(until) }),
      ...(target !== undefined && { target }),
      ...(notification !== undefined && { notification }),
    };
    return context.requeue(filter, context.clock.now());
  },
});
