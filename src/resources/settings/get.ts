import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { viewSettings } from './view.ts';

/** Effective settings; secrets serialise as masks. */
export const getSettings = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: ({ house }) => viewSettings(house.configuration()),
});
