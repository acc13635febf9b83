import * as z from 'zod';
import { grantsOf, RESOURCES } from '../../auth/permissions.ts';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** What the caller may do with each kind of resource; kinds without anything are left out. */
export const listPolicy = defineVerb({
  permission: 'any actor',
  input: z.object(pageQuery),
  run({ actor }, query) {
    const granted = grantsOf(actor);
    const rules = RESOURCES.map(object => ({
      object,
      actions: (['read', 'update'] as const).filter(action => granted.has(`${action}:${object}`)),
    }));
    return listedFrom(
      query,
      rules.filter(({ actions }) => actions.length > 0),
    );
  },
});
