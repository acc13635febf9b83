import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { type Group, groupsOf } from './groups.ts';

/** Undefined when there is none, which is no error: the family's clients ask so whether a group exists. */
export const getGroup = defineVerb({
  permission: 'read:inputs',
  input: z.object({ id: z.string().max(512) }),
  run: ({ house }, { id }): Group | undefined => groupsOf(house.configuration()).get(id),
});
