import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { reference } from './noun.ts';

/** Answers what it removed; all tokens of the user end. */
export const removeUser = defineVerb({
  permission: 'update:users',
  input: z.object({ id: reference }),
  run: ({ house }, { id }) => house.users.remove(id),
});
