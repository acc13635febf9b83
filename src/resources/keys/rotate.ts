import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** The next key signs from now on; of compromised ones all are gone, and every token ends. */
export const rotateKeys = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z
      .strictObject({
        compromised: z
          .boolean()
          .default(false)
          .describe('Whether somebody else may have a key: all keys are replaced, and every token ends.'),
      })
      .default({ compromised: false }),
  }),
  run: ({ house }, { body }) => house.keys.rotate({ isCompromised: body.compromised }),
});
