import * as z from 'zod';
import { unmaskedTexts } from '../../config/unmask-texts.ts';
import { defineVerb } from '../verb.ts';
import { textsSchema } from './texts.ts';

/**
 * Puts texts in the place of those of their names, masked secrets standing for what is there now; what is not named
 * stays. All of it takes effect or nothing. Throws as `house.save` does, and `unprocessable` for a mask of nothing.
 */
export const importConfig = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.strictObject({ files: textsSchema, message: z.string().max(4096).optional() }),
  }),
  async run({ actor, house }, { body: { files, message } }) {
    await house.save({
      author: actor.name,
      door: 'api',
      ...(message !== undefined && { message }),
      texts: now => unmaskedTexts(files, now.raw),
    });
    return house.configurationTexts();
  },
});
