import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts texts by a webhook of a Google Chat space. */
export const googleChat: Preset = {
  name: 'google_chat',
  service: 'Google Chat',
  page: 'https://developers.google.com/workspace/chat/quickstart/webhooks',
  settings: {
    ...ONE_OBJECT,
    customContentType: 'application/json; charset=UTF-8',
    // A text may mention everybody by a tag.
    srcExpression: `{ text: truncateBytes(truncateBytes(${MESSAGE}, 15000).replaceAll('<users/', '< users/'), 15000) }`,
    pacing: '1/second',
    successExpression: "status === 200 ? typeof json.name === 'string' : byStatus",
  },
  limits: 'A message of 32,000 bytes: the text is cut to 15,000. 1 message a second.',
  success: '200 with the `name` of the message. 429 is tried again.',
  example: { url: '${secret:google_chat_url}' },
};
