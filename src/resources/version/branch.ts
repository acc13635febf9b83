import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { BRANCH } from './version.ts';

/** The one branch; versions follow each other and never part. */
export const getBranch = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: () => ({ branch: BRANCH }),
});
