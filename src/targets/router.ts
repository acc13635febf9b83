import * as z from 'zod';
import { withAliases } from '../lib/aliases.ts';
import { identifier } from '../lib/schemas.ts';
import { commonSettings } from './settings.ts';
import { defineUnsentTarget } from './target.ts';

const route = z.strictObject({
  filter: z
    .string()
    .min(1)
    .max(65_536)
    .describe('Expression over the event; the route is taken when it is true.'),
  output: identifier.describe('Id of the target that gets the event.'),
  description: z.string().max(4096).optional().describe('What the route is for.'),
  final: z.boolean().default(true).describe('Whether routes below a taken one are left out.'),
});

/** Hands events on to other targets by rules, in their order. */
export const router = defineUnsentTarget({
  type: 'router',
  description: 'Hands events on to other targets by rules.',
  schema: withAliases(
    z.strictObject({
      ...commonSettings,
      type: z.literal('router').describe('Kind of target.'),
      routes: z
        .array(route)
        .min(1)
        .max(1000)
        .describe('The rules, tried in their order.')
        .meta({ aliases: ['rules'], template: true }),
    }),
  ),
});
