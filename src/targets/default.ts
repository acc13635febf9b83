import * as z from 'zod';
import { identifier } from '../lib/schemas.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';

/** Names the target that gets what goes to ids nobody has. Ids are exchanged when the configuration is loaded. */
export const defaultTarget = defineTarget({
  type: 'default',
  description: 'Names the target that stands in for targets that do not exist.',
  schema: z.strictObject({
    ...commonSettings,
    type: z.literal('default').describe('Kind of target.'),
    defaultId: identifier.describe('Id of the target that gets the events.'),
  }),
  routes: (_, { defaultId }) => [defaultId],
  concurrency: () => 1,
  send: async () => ({ kind: 'refused', reason: 'a default target only names the target that stands in' }),
});
