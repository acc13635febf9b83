import { itemRemoval } from '../config/item-body.ts';
import { removeItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { describedTarget } from './described.ts';
import { settingsOf } from './get.ts';
import { targetNoun } from './noun.ts';
import { assertUnused } from './users.ts';

/** Answers what it removed. Refused with `conflict` while something sends to it. */
export const removeTarget = defineVerb({
  permission: 'update:targets',
  input: itemRemoval,
  async run(call, input) {
    const before = await removeItem(call, targetNoun, input, now => assertUnused(now, input.id));
    return describedTarget(call.house, settingsOf(before, input.id));
  },
});
