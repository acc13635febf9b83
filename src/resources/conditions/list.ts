import * as z from 'zod';
import { conditions } from '../../conditions/index.ts';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

export const listConditions = defineVerb({
  permission: 'read:notifications',
  input: z.object({ ...pageQuery, category: z.string().optional() }),
  run: (_call, query) =>
    listedFrom(
      query,
      conditions.filter(({ category }) => query.category === undefined || category === query.category),
    ),
});
