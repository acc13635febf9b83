import * as z from 'zod';
import { AppError, notFound } from '../../lib/errors.ts';
import type { DeliveryRow } from '../../storage/storage.ts';
import { defineVerb } from '../verb.ts';
import { describedDelivery } from './described.ts';

/** What one that is settled may be asked to wait for again. */
const STATES = ['waiting', 'refused', 'exhausted'] as const;

/**
 * Tries a delivery at once, whatever it waits for and although it was given up; its schedule begins anew. Throws
 * `conflict` when nothing must be sent any more.
 */
export const retryDelivery = defineVerb({
  permission: 'update:deliveries',
  input: z.object({ id: z.string().max(512) }),
  async run({ house }, { id }) {
    const { deliveries } = house.stores;
    const before = await deliveries.get(id);
    if (before === undefined) throw notFound('delivery', id);
    assertUnsettled(before);
    const now = house.clock.now();
    const { requeued, overtaken } = await house.requeue({ id, states: STATES }, now);
    if (overtaken > 0)
      throw new AppError(
        'conflict',
        `target '${before.target}' has got later news of the incident; this delivery would come after it`,
      );
    if (requeued === 0) assertUnsettled((await deliveries.get(id)) ?? before);
    const after = { state: 'waiting', next_at: null, settled_at: null, retried_at: now } as const;
    return describedDelivery(house, { ...before, ...after });
  },
});

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
