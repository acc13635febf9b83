import * as z from 'zod';
import { listed, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** The keys that tokens are signed with, oldest first. */
export const listKeys = defineVerb({
  permission: 'read:settings',
  input: z.object(pageQuery),
  async run({ house }, query) {
    const keys = await house.keys.list();
    const { offset = 0, limit = keys.length } = query;
    return listed(query, { rows: keys.slice(offset, offset + limit), total: keys.length }, key => key);
  },
});
