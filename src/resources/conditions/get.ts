import * as z from 'zod';
import { findCondition } from '../../conditions/index.ts';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

export const getCondition = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run(_call, { id }) {
    const condition = findCondition(id);
    if (condition === undefined) throw notFound('condition', id);
    return condition;
  },
});
