import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

export const getIncident = defineVerb({
  permission: 'read:incidents',
  input: z.object({ id: z.string().max(512) }),
  async run({ house }, { id }) {
    const incident = await house.stores.incidents.get(id);
    if (incident === undefined) throw notFound('incident', id);
    return incident;
  },
});
