import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';
import { placeOf } from './version.ts';

/** How many versions there are, or how many came after the one of that id. */
export const countVersions = defineVerb({
  permission: 'read:settings',
  input: z.object({ ID: z.string().max(64).optional() }),
  async run({ house }, { ID }) {
    const { versions } = house.stores;
    if (ID === undefined) return { count: await versions.count() };
    const count = await placeOf(versions, ID);
    if (count === -1) throw notFound('version', ID);
    return { count };
  },
});
