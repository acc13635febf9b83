import { bySeverity, ONE_OBJECT, type Preset, TEXT, TITLE } from './preset.ts';

/** Sends messages by an application of Gotify. */
export const gotify: Preset = {
  name: 'gotify',
  service: 'Gotify',
  page: 'https://gotify.net/docs/pushmsg',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{
      title: truncate(${TITLE}, 250),
      message: truncate(${TEXT}, 16000),
      priority: status === 'OK' ? 2 : ${bySeverity('10', '8', '5', '3')}
    }`,
    successExpression: "status === 200 ? typeof json.id === 'number' : byStatus",
  },
  limits: 'The message is cut to 16,000 characters.',
  success: '200 with the `id` of the message.',
  example: {
    url: 'https://gotify.example/message',
    extraHttpHeaders: [{ name: 'X-Gotify-Key', value: '${secret:gotify_token}' }],
  },
};
