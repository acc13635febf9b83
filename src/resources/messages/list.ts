import * as z from 'zod';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';

export const listMessages = defineVerb({
  permission: 'read:messages',
  input: z.object(pageQuery),
  async run({ house }, query) {
    return listed(query, await house.stores.messages.list(pageRequest(query)), row => row);
  },
});
