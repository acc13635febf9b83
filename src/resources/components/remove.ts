import { AppError } from '../../lib/errors.ts';
import type { ComponentKind } from '../../pipelines/component.ts';
import { itemRemoval } from '../config/item-body.ts';
import { removeItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { describedOf } from './get.ts';
import { findComponent } from './known.ts';
import { componentNoun } from './noun.ts';

/** Answers the declaration it removed; what a pipeline has stays to be seen. */
function removeComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `update:${kind}s`,
    input: itemRemoval,
    async run(call, input) {
      const { components } = call.house;
      const before = await removeItem(call, componentNoun(kind, components), input, now => {
        const known = findComponent({ components, now }, kind, input.id);
        if (known?.component !== undefined && known.declared === undefined)
          throw new AppError(
            'conflict',
            `${kind} '${input.id}' is declared in no file; it is there as long as pipeline '${known.component.pipeline}' has it`,
          );
      });
      return describedOf({ components, now: before }, kind, input.id);
    },
  });
}

export const removeInput = removeComponent('input');
export const removeOutput = removeComponent('output');
