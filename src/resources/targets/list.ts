import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';
import { describedTargets } from './described.ts';

/** Effective settings; secrets serialise as masks. */
export const listTargets = defineVerb({
  permission: 'read:targets',
  input: z.object(pageQuery),
  async run({ house }, query) {
    const page = listedFrom(query, house.configuration().targets);
    const settings = page.items.map(target => target.settings);
    return { ...page, items: await describedTargets(house, settings) };
  },
});
