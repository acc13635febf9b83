import * as z from 'zod';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** Local users by name. */
export const listUsers = defineVerb({
  permission: 'read:users',
  input: z.object(pageQuery),
  run: async ({ house }, query) => listed(query, await house.users.list(pageRequest(query)), user => user),
});
