import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** Names and times by name, never values. */
export const listSecrets = defineVerb({
  permission: 'read:settings',
  input: z.object(pageQuery),
  run: ({ house }, query) => listedFrom(query, house.secrets.list()),
});
