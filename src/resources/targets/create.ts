import * as z from 'zod';
import { itemBody } from '../config/item-body.ts';
import { createItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { describedTarget } from './described.ts';
import { settingsOf } from './get.ts';
import { targetNoun } from './noun.ts';

/** Secrets of the body go to the encrypted store, references to them into the file. */
export const createTarget = defineVerb({
  permission: 'update:targets',
  input: z.object({ id: z.string().optional(), body: itemBody }),
  async run(call, input) {
    const { configuration, id } = await createItem(call, targetNoun, input);
    return describedTarget(call.house, settingsOf(configuration, id));
  },
});
