import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';
import { groupsOf } from './groups.ts';

export const listGroups = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run: ({ house }, query) => listedFrom(query, [...groupsOf(house.configuration()).values()]),
});
