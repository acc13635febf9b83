import { createHmac } from 'node:crypto';
import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts texts by a custom bot of a Feishu or Lark group. */
export const feishu: Preset = {
  name: 'feishu',
  service: 'Feishu, Lark',
  page: 'https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot',
  settings: {
    ...ONE_OBJECT,
    // A text may mention everybody by a tag.
    srcExpression: `{ msg_type: 'text', content: { text: truncateBytes(${MESSAGE}, 8000).replaceAll('<at', '< at') } }`,
    pacing: '100/minute',
    successExpression:
      "status !== 200 ? byStatus : json.code === 0 || json.StatusCode === 0 ? true : json.code === 11232 ? 'later' : false",
  },
  secretOptions: {
    secret: {
      description:
        'Secret of the bot, where its security setting is the signature; requests are signed by it.',
    },
  },
  signing: {
    secretOption: 'secret',
    sign(secret, now) {
      const timestamp = String(Math.floor(now / 1000));
      // The service signs nothing by a key of both.
      const sign = createHmac('sha256', `${timestamp}\n${secret}`).digest('base64');
      return { members: { timestamp, sign } };
    },
  },
  limits: 'A request of 20 KB: the text is cut to 8,000 bytes. 100 messages a minute.',
  success:
    '200 with `code` or `StatusCode` 0. `code` 11232, too fast, is tried again; 19021 refuses a signature, or a clock that is an hour off.',
  example: { url: '${secret:feishu_url}' },
};
