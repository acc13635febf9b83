import * as z from 'zod';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** The versions of the configuration, newest first; `count` is how many of them are looked at. */
export const listVersions = defineVerb({
  permission: 'read:settings',
  input: z.object({ ...pageQuery, count: z.coerce.number().int().min(0).optional() }),
  async run({ house }, { count, ...query }) {
    const { offset, limit } = pageRequest(query);
    const most = count === undefined ? limit : Math.max(0, Math.min(limit, count - offset));
    const page =
      most === 0
        ? { rows: [], total: await house.stores.versions.count() }
        : await house.stores.versions.list({ offset, limit: most });
    const total = Math.min(page.total, count ?? page.total);
    return listed(query, { rows: page.rows, total }, row => row);
  },
});
