import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** Ends the token that was shown, and no other. */
export const logOut = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({}),
  async run({ house, actor }): Promise<{ readonly success: true }> {
    await house.users.logout(actor);
    return { success: true };
  },
});
