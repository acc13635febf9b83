import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts messages by an incoming webhook of Mattermost. */
export const mattermost: Preset = {
  name: 'mattermost',
  service: 'Mattermost',
  page: 'https://developers.mattermost.com/integrate/webhooks/incoming/',
  settings: {
    ...ONE_OBJECT,
    // A text may mention a channel by `@`.
    srcExpression: `{ text: truncate(truncate(${MESSAGE}, 16383).replaceAll('@', '@\u200b'), 16383) }`,
    successExpression: "status === 200 ? body.trim() === 'ok' : byStatus",
  },
  limits: 'The text is cut to 16,383 characters. Nobody is mentioned.',
  success: '200 with the body `ok`.',
  example: { url: '${secret:mattermost_url}' },
};
