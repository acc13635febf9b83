import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** How reading each pipeline goes. */
export const listEngines = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run: ({ house }, query) => listedFrom(query, house.components.pipelines()),
});
