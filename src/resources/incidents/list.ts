import * as z from 'zod';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';

const input = z.object({
  ...pageQuery,
  state: z.enum(['open', 'closed']).optional(),
  notification: z.string().max(512).optional(),
});

export const listIncidents = defineVerb({
  permission: 'read:incidents',
  input,
  async run({ house }, query) {
    const { state, notification } = query;
    const filter = { ...(state && { state }), ...(notification && { notification }) };
    return listed(query, await house.stores.incidents.list(filter, pageRequest(query)), row => row);
  },
});
