import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { reference } from './noun.ts';

/** Answers what it removed. */
export const removeIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({ id: reference }),
  run: ({ house }, { id }) => house.ingestTokens.remove(id),
});
