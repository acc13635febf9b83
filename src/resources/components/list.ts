import * as z from 'zod';
import type { ComponentKind } from '../../pipelines/component.ts';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';
import { describer } from './described.ts';

const input = z.object({ ...pageQuery, type: z.string().optional() });

function listComponents(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input,
    run({ house }, query) {
      const wanted = house.components
        .all()
        .filter(
          component => component.kind === kind && (query.type === undefined || component.type === query.type),
        );
      const page = listedFrom(query, wanted);
      return { ...page, items: page.items.map(describer(house)) };
    },
  });
}

export const listInputs = listComponents('input');
export const listOutputs = listComponents('output');
