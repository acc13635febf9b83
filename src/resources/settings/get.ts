import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** Effective settings; secrets serialise as masks. */
export const getSettings = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: ({ house }) => house.configuration().settings,
});
