import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Sends messages by a bot of Telegram. */
export const telegram: Preset = {
  name: 'telegram',
  service: 'Telegram',
  page: 'https://core.telegram.org/bots/api#sendmessage',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{
      chat_id: __options.chat_id,
      text: truncate(${MESSAGE}, 4096),
      link_preview_options: { is_disabled: true },
      ...(__options.message_thread_id ? { message_thread_id: Number(__options.message_thread_id) } : {})
    }`,
    pacing: '20/minute',
    successExpression: 'byStatus === true ? json.ok === true : byStatus',
  },
  options: {
    chat_id: { description: 'Id of the chat, or `@name` of a channel.', isRequired: true },
    message_thread_id: { description: 'Id of the topic in a forum.' },
  },
  limits: 'The text is cut to 4,096 characters. 20 messages a minute, as a group takes.',
  success: '200 with `ok` true. 429 is tried again.',
  example: { url: '${secret:telegram_url}', options: { chat_id: '-1001234567890' } },
};
