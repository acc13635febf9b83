import { itemRemoval } from '../config/item-body.ts';
import { removeItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { settingsOf } from './get.ts';
import { notificationNoun } from './noun.ts';

/** Answers what it removed; its open incidents close. */
export const removeNotification = defineVerb({
  permission: 'update:notifications',
  input: itemRemoval,
  run: async (call, input) => settingsOf(await removeItem(call, notificationNoun, input), input.id),
});
