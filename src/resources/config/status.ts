import * as z from 'zod';
import { defineVerb } from '../verb.ts';

export const getConfigStatus = defineVerb({
  permission: 'read:notifications',
  input: z.object({}),
  run: ({ house }) => house.configurationStatus(),
});
