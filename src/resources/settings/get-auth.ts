import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { viewAuthSettings } from './view.ts';

/** How people sign in, with every default; secrets serialise as masks. */
export const getAuthSettings = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: ({ house }) => viewAuthSettings(house.configuration()),
});
