import { itemUpdate } from '../config/item-body.ts';
import { updateItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { describedTarget } from './described.ts';
import { settingsOf } from './get.ts';
import { targetNoun } from './noun.ts';

/** Throws `unprocessable` when secrets would go to another destination than the one they were entered for. */
export const updateTarget = defineVerb({
  permission: 'update:targets',
  input: itemUpdate,
  run: async (call, input) =>
    describedTarget(call.house, settingsOf(await updateItem(call, targetNoun, input), input.id)),
});
