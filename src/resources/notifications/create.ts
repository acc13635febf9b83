import * as z from 'zod';
import { itemBody } from '../config/item-body.ts';
import { createItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { settingsOf } from './get.ts';
import { notificationNoun } from './noun.ts';

export const createNotification = defineVerb({
  permission: 'update:notifications',
  input: z.object({ id: z.string().optional(), body: itemBody }),
  async run(call, input) {
    const { configuration, id } = await createItem(call, notificationNoun, input);
    return settingsOf(configuration, id);
  },
});
