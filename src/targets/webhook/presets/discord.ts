import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts messages by a webhook of a Discord channel. */
export const discord: Preset = {
  name: 'discord',
  service: 'Discord',
  page: 'https://discord.com/developers/docs/resources/webhook#execute-webhook',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{ content: truncate(${MESSAGE}, 2000), allowed_mentions: { parse: [] } }`,
    pacing: '30/minute',
    successExpression: 'byStatus',
  },
  limits: 'The text is cut to 2,000 characters. 30 messages a minute. Nobody is mentioned.',
  success: '204, or 200 with `?wait=true`. 429 is tried again after its Retry-After.',
  example: { url: '${secret:discord_url}' },
};
