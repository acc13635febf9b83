import * as z from 'zod';
import { ALGORITHMS } from '../../auth/keys.ts';
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
        algorithm: z
          .enum(ALGORITHMS)
          .optional()
          .describe(
            'How it signs; without it as `auth.signingAlgorithm` says, which counts for the one after it.',
          ),
      })
      .default({ compromised: false }),
  }),
  run: ({ house }, { body: { compromised, algorithm } }) =>
    house.keys.rotate({ isCompromised: compromised, algorithm }),
});
