import * as z from 'zod';
import type { ComponentKind } from '../../pipelines/component.ts';
import { itemBody } from '../config/item-body.ts';
import { createItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { describedOf } from './get.ts';
import { componentNoun } from './noun.ts';

/** Declares a component, whether or not it was seen already. */
function createComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `update:${kind}s`,
    input: z.object({ id: z.string().optional(), body: itemBody }),
    async run(call, input) {
      const { components } = call.house;
      const { configuration: now, id } = await createItem(call, componentNoun(kind, components), input);
      return describedOf({ components, now }, kind, id);
    },
  });
}

export const createInput = createComponent('input');
export const createOutput = createComponent('output');
