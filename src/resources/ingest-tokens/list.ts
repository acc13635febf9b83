import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** By id, of all pipelines or of one; never a secret. */
export const listIngestTokens = defineVerb({
  permission: 'read:settings',
  input: z.object({ ...pageQuery, pipeline: z.string().max(512).optional() }),
  run({ house }, { pipeline, ...page }) {
    const all = house.ingestTokens.list();
    return listedFrom(page, pipeline === undefined ? all : all.filter(one => one.pipeline === pipeline));
  },
});
