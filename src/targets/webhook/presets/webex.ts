import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Sends messages by a bot of Webex to a room. */
export const webex: Preset = {
  name: 'webex',
  service: 'Webex',
  page: 'https://developer.webex.com/docs/api/v1/messages/create-a-message',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{ roomId: __options.room_id, text: truncateBytes(${MESSAGE}, 7439) }`,
    successExpression: "status === 200 ? typeof json.id === 'string' : byStatus",
  },
  options: { room_id: { description: 'Id of the room.', isRequired: true } },
  limits: 'The text is cut to 7,439 bytes.',
  success: '200 with the `id` of the message. 429 is tried again after its Retry-After.',
  example: {
    url: 'https://webexapis.com/v1/messages',
    authType: 'token',
    token: '${secret:webex_token}',
    options: { room_id: 'Y2lzY29zcGFyazovL3VzL1JPT00v' },
  },
};
