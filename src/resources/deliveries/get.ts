import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';
import { describedDelivery } from './described.ts';

/** A delivery with its attempts and the event it carries. */
export const getDelivery = defineVerb({
  permission: 'read:deliveries',
  input: z.object({ id: z.string().max(512) }),
  async run({ house }, { id }) {
    const { deliveries, events } = house.stores;
    const delivery = await deliveries.get(id);
    if (delivery === undefined) throw notFound('delivery', id);
    const [attempts, event] = await Promise.all([deliveries.attempts(id), events.get(delivery.event_id)]);
    return { ...describedDelivery(house, delivery), attempts, event };
  },
});
