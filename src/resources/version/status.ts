import { basename } from 'node:path';
import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** Files that are not in force as they are on disk, because of errors in them. All else is a version already. */
export const getVersionStatus = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run({ house }) {
    const { errors } = house.configurationStatus();
    return { broken: [...new Set(errors.map(({ file }) => basename(file)))] };
  },
});
