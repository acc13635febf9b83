import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts messages by an incoming webhook of Rocket.Chat. */
export const rocketchat: Preset = {
  name: 'rocketchat',
  service: 'Rocket.Chat',
  page: 'https://docs.rocket.chat/docs/integrations',
  settings: {
    ...ONE_OBJECT,
    // A text may mention a channel by `@`.
    srcExpression: `{ text: truncate(truncate(${MESSAGE}, 5000).replaceAll('@', '@\u200b'), 5000) }`,
    successExpression: 'byStatus === true ? json.success === true : byStatus',
  },
  limits: 'The text is cut to 5,000 characters. Nobody is mentioned.',
  success: '200 with `success` true. 429 is tried again.',
  example: { url: '${secret:rocketchat_url}' },
};
