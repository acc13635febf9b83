import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { reference } from './noun.ts';

/** Ends every token of the user, who can log in again. */
export const endTokens = defineVerb({
  permission: 'update:users',
  input: z.object({ id: reference }),
  async run({ house }, { id }): Promise<{ readonly success: true }> {
    await house.users.endTokens(id);
    return { success: true };
  },
});
