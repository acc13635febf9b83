import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

export const getTarget = defineVerb({
  permission: 'read:targets',
  input: z.object({ id: z.string().max(512) }),
  run({ house }, { id }) {
    const target = house.configuration().targets.find(one => one.settings.id === id);
    if (target === undefined) throw notFound('target', id);
    return target.settings;
  },
});
