import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { versionOf } from './version.ts';

/** Answers the newest version: whatever takes effect is one at once, so that nothing is ever left to commit. */
export const commitVersion = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z
      .object({
        message: z.string().max(4096).optional(),
        effective: z.boolean().optional(),
        files: z.array(z.string().max(1024)).max(1000).optional(),
      })
      .optional(),
  }),
  run: ({ house }) => versionOf(house.stores.versions, undefined),
});
