import * as z from 'zod';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

/** How reading each pipeline goes. */
export const listEngines = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run: ({ context }, query) => listPageOf(query, context.components.pipelines()),
});
