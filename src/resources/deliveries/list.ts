import * as z from 'zod';
import { DELIVERY_STATES } from '../../storage/tables.ts';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';

const text = z.string().max(512).optional();

const input = z.object({
  ...pageQuery,
  state: z.enum(DELIVERY_STATES).optional(),
  target: text,
  notification: text,
  incident: text,
});

export const listDeliveries = defineVerb({
  permission: 'read:deliveries',
  input,
  async run({ house }, query) {
    const { state, target, notification, incident } = query;
    const filter = {
      ...(state && { state }),
      ...(target && { target }),
      ...(notification && { notification }),
      ...(incident && { incident }),
    };
    return listed(query, await house.stores.deliveries.list(filter, pageRequest(query)), row => row);
  },
});
