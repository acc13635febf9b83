import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import type { ComponentKind } from '../../pipelines/component.ts';
import { defineVerb } from '../verb.ts';
import { describer } from './described.ts';

const input = z.object({ id: z.string().max(512) });

function getComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input,
    run({ house }, { id }) {
      const component = house.components.all().find(one => one.kind === kind && one.id === id);
      if (component === undefined) throw notFound(kind, id);
      return describer(house)(component);
    },
  });
}

export const getInput = getComponent('input');
export const getOutput = getComponent('output');
