import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** The names of the caller's roles. */
export const listOwnRoles = defineVerb({
  permission: 'any actor',
  input: z.object(pageQuery),
  run: ({ actor }, query) => listedFrom(query, [actor.role]),
});
