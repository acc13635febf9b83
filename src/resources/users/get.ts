import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { reference } from './noun.ts';

export const getUser = defineVerb({
  permission: 'read:users',
  input: z.object({ id: reference }),
  run: ({ house }, { id }) => house.users.get(id),
});
