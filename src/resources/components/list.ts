import * as z from 'zod';
import type { ComponentKind } from '../../pipelines/component.ts';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';
import { describer } from './described.ts';
import { knownComponents, sightOf } from './known.ts';

const input = z.object({ ...pageQuery, type: z.string().optional() });

function listComponents(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input,
    run({ house, group }, query) {
      const sight = sightOf(house);
      const wanted = knownComponents(sight, kind).filter(
        known =>
          (query.type === undefined || known.type === query.type) &&
          (group === undefined || known.group === group),
      );
      const page = listedFrom(query, wanted);
      return { ...page, items: page.items.map(describer(sight)) };
    },
  });
}

export const listInputs = listComponents('input');
export const listOutputs = listComponents('output');
