import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { reference } from './noun.ts';

export const getIngestToken = defineVerb({
  permission: 'read:settings',
  input: z.object({ id: reference }),
  run: ({ house }, { id }) => house.ingestTokens.get(id),
});
