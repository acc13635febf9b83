import * as z from 'zod';
import { withAliases } from '../lib/aliases.ts';
import { secretUrl } from '../lib/schemas.ts';
import { retrySettings } from './retry-settings.ts';
import { commonSettings } from './settings.ts';
import { defineUnsentTarget } from './target.ts';

/** Posts events to a channel by an incoming webhook of Slack's. */
export const slack = defineUnsentTarget({
  type: 'slack',
  description: 'Posts events to a Slack channel.',
  schema: withAliases(
    z.strictObject({
      ...commonSettings,
      type: z.literal('slack').describe('Kind of target.'),
      slackUrl: secretUrl
        .describe('Address of the incoming webhook; whoever knows it can post.')
        .meta({ aliases: ['url'], destination: true }),
      ...retrySettings,
    }),
  ),
});
