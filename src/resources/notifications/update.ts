import { itemUpdate } from '../config/item-body.ts';
import { updateItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { settingsOf } from './get.ts';
import { notificationNoun } from './noun.ts';

/** An edit of condition or conf closes its open incidents; any other one changes later messages only. */
export const updateNotification = defineVerb({
  permission: 'update:notifications',
  input: itemUpdate,
  run: async (call, input) => settingsOf(await updateItem(call, notificationNoun, input), input.id),
});
