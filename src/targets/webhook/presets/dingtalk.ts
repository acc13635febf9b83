import { createHmac } from 'node:crypto';
import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts texts by a custom robot of a DingTalk group. */
export const dingtalk: Preset = {
  name: 'dingtalk',
  service: 'DingTalk',
  page: 'https://open.dingtalk.com/document/robots/custom-robot-access',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{ msgtype: 'text', text: { content: truncateBytes(${MESSAGE}, 8000) }, at: { isAtAll: false } }`,
    pacing: '20/minute',
    successExpression:
      "status !== 200 ? byStatus : json.errcode === 0 ? true : json.errcode === 130101 || json.errcode === -1 ? 'later' : false",
  },
  secretOptions: {
    secret: {
      description:
        'Secret of the robot, `SEC…`, where its security setting is the signature; requests are signed by it.',
    },
  },
  signing: {
    secretOption: 'secret',
    sign(secret, now) {
      const timestamp = String(Math.floor(now));
      const sign = createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64');
      return { query: { timestamp, sign } };
    },
  },
  limits: 'A message of 20,000 bytes: the text is cut to 8,000. 20 messages a minute.',
  success:
    '200 with `errcode` 0. `errcode` 130101, too fast, and -1, busy, are tried again; 310000 refuses a text without the keyword, or a signature.',
  example: { url: '${secret:dingtalk_url}' },
};
