import * as z from 'zod';
import { DELIVERY_STATES } from '../../storage/tables.ts';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';
import { describedDelivery } from './described.ts';

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
  async run({ house }, query) {
    const { state, target, notification, incident, since, until } = query;
    const filter = {
      ...(state && { state }),
      ...(target && { target }),
      ...(notification && { notification }),
      ...(incident && { incident }),
      ...(since && { since: Date.parse(since) }),
      ...(until && { until: Date.parse(until) }),
    };
    const page = await house.stores.deliveries.list(filter, pageRequest(query));
    return listed(query, page, row => describedDelivery(house, row));
  },
});
