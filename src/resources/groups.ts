import * as z from 'zod';
import { groupsOf, type PipelineGroup } from './context.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

export const listGroups = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run: ({ context }, query) => listPageOf(query, [...groupsOf(context.configuration()).values()]),
});

/** Undefined when there is none, which is no error: Cribl-compatible clients ask so whether a group exists. */
export const getGroup = defineVerb({
  permission: 'read:inputs',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context }, { id }): PipelineGroup | undefined => groupsOf(context.configuration()).get(id),
});
