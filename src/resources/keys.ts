import * as z from 'zod';
import { ALGORITHMS } from '../auth/tokens/algorithms.ts';
import { pageQuery, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

/** The keys that tokens are signed with, oldest first. */
export const listKeys = defineVerb({
  permission: 'read:settings',
  input: z.object(pageQuery),
  async run({ context }, query) {
    const keys = await context.keys.list();
    const { offset = 0, limit = keys.length } = query;
    return toListPage(query, { rows: keys.slice(offset, offset + limit), total: keys.length }, key => key);
  },
});

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
  run: ({ context }, { body: { compromised, algorithm } }) =>
    context.keys.rotate({ isCompromised: compromised, algorithm }),
});
