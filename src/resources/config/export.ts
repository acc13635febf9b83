import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** The texts of the configuration in force, by the names of their files; secrets that stand in them are masked. */
export const exportConfig = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: ({ house }) => house.configurationTexts(),
});
