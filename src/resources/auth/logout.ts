import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** Ends the token that was shown and no other, but for a token of a browser's session, with which that ends. */
export const logOut = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({}),
  async run({ house, actor }): Promise<{ readonly success: true }> {
    await house.users.logout(actor);
    return { success: true };
  },
});
