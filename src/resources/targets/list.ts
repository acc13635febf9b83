import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** Effective settings; secrets serialise as masks. */
export const listTargets = defineVerb({
  permission: 'read:targets',
  input: z.object(pageQuery),
  run: ({ house }, query) =>
    listedFrom(
      query,
      house.configuration().targets.map(target => target.settings),
    ),
});
