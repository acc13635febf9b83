import { MESSAGE, type Preset } from './preset.ts';

/** Sends messages by a bot of Zulip to a topic of a channel. */
export const zulip: Preset = {
  name: 'zulip',
  service: 'Zulip',
  page: 'https://zulip.com/api/send-message',
  settings: {
    format: 'custom',
    customContentType: 'application/x-www-form-urlencoded',
    maxPayloadEvents: 1,
    // A text may mention everybody by `@**all**`.
    srcExpression: `'type=stream&to=' + encodeURIComponent(__options.channel) +
      '&topic=' + encodeURIComponent(truncate(__options.topic || cribl_notification, 60)) +
      '&content=' + encodeURIComponent(truncate(truncate(${MESSAGE}, 5000).replaceAll('@', '@\u200b'), 5000))`,
    pacing: '100/minute',
    successExpression: "byStatus === true ? json.result === 'success' : byStatus",
  },
  options: {
    channel: { description: 'Name of the channel.', isRequired: true },
    topic: { description: 'The topic; by default the id of the notification.' },
  },
  limits: 'A message of 10,000 characters: the text is cut to 5,000, the topic to 60. 100 messages a minute.',
  success: '200 with `result` success. 429 is tried again after its Retry-After.',
  example: {
    url: 'https://company.zulipchat.com/api/v1/messages',
    authType: 'basic',
    username: 'headgate-bot@company.zulipchat.com',
    password: '${secret:zulip_key}',
    options: { channel: 'operations' },
  },
};
