import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { textsSchema } from './texts.ts';

/** Says of a text that is being edited what `headgate check` would say of the file. Changes nothing. */
export const checkConfig = defineVerb({
  permission: 'read:notifications',
  input: z.object({ body: z.strictObject({ files: textsSchema }) }),
  run: ({ house }, { body }) => house.checkTexts(body.files),
});
