import { itemRemoval } from '../config/item-body.ts';
import { removeItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { settingsOf } from './get.ts';
import { targetNoun } from './noun.ts';
import { assertUnused } from './users.ts';

/** Answers what it removed. Refused with `conflict` while something sends to it. */
export const removeTarget = defineVerb({
  permission: 'update:targets',
  input: itemRemoval,
  run: async (call, input) =>
    settingsOf(await removeItem(call, targetNoun, input, now => assertUnused(now, input.id)), input.id),
});
