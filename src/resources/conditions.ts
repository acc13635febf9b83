import * as z from 'zod';
import { conditions, findCondition } from '../conditions/index.ts';
import { notFound } from '../lib/errors.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

export const listConditions = defineVerb({
  permission: 'read:notifications',
  input: z.object({ ...pageQuery, category: z.string().optional() }),
  run: (_call, query) =>
    listPageOf(
      query,
      conditions.filter(({ category }) => query.category === undefined || category === query.category),
    ),
});

export const getCondition = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run(_call, { id }) {
    const condition = findCondition(id);
    if (condition === undefined) throw notFound('condition', id);
    return condition;
  },
});
