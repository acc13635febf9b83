import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { commitQuery, versionOf } from './version.ts';

const error = 'must be a whole number, 0 for no limit';

/** A version with what it changed; `filename` leaves one file of it. The limit is for who shows it. */
export const showVersion = defineVerb({
  permission: 'read:settings',
  input: z.object({
    commit: commitQuery,
    filename: z.string().max(256).optional(),
    diffLineLimit: z.coerce.number({ error }).int({ error }).min(0, { error }).default(1000),
  }),
  async run({ house }, { commit, filename, diffLineLimit }) {
    const { facts, changes } = await versionOf(house.stores.versions, commit);
    const asked = filename === undefined ? changes : changes.filter(({ name }) => name === filename);
    return { version: { facts, changes: asked }, lineLimit: diffLineLimit };
  },
});
