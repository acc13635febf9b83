import type { ComponentKind } from '../../pipelines/component.ts';
import { itemUpdate } from '../config/item-body.ts';
import { updateItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { describedOf } from './get.ts';
import { componentNoun } from './noun.ts';

/** Changes what the configuration says of a component; of one that was only seen it then says something. */
function updateComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `update:${kind}s`,
    input: itemUpdate,
    async run(call, input) {
      const { components } = call.house;
      const now = await updateItem(call, componentNoun(kind, components), input);
      return describedOf({ components, now }, kind, input.id);
    },
  });
}

export const updateInput = updateComponent('input');
export const updateOutput = updateComponent('output');
