import * as z from 'zod';
import { duration } from '../../lib/schemas.ts';
import { defineVerb } from '../verb.ts';
import { reference } from './noun.ts';

/** Answers another secret; the present one counts for a while, so that senders can change over. */
export const rotateIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({
    id: reference,
    body: z
      .strictObject({
        grace: duration({ max: '7d' })
          .prefault('24h')
          .describe('How long the secret before counts beside the new one; 0s ends it at once.'),
      })
      .prefault({}),
  }),
  run: ({ house }, { id, body }) => house.ingestTokens.rotate(id, body.grace.ms),
});
