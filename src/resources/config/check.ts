import * as z from 'zod';
import { FILES } from '../../config/load.ts';
import { defineVerb } from '../verb.ts';

/** Texts of files by name; what is not named counts as it stands on disk. */
const files = z.partialRecord(z.enum(FILES), z.string(), {
  error: issue =>
    issue.code === 'invalid_type'
      ? `must map names of files (${FILES.join(', ')}) to their texts`
      : undefined,
});

/** Says of a text that is being edited what `headgate check` would say of the file. Changes nothing. */
export const checkConfig = defineVerb({
  permission: 'read:notifications',
  input: z.object({ body: z.strictObject({ files }) }),
  run: ({ house }, { body }) => house.checkTexts(body.files),
});
