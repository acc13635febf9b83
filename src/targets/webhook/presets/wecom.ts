import { MESSAGE, ONE_OBJECT, type Preset } from './preset.ts';

/** Posts texts by a robot of a WeCom group. */
export const wecom: Preset = {
  name: 'wecom',
  service: 'WeCom',
  page: 'https://developer.work.weixin.qq.com/document/path/91770',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{ msgtype: 'text', text: { content: truncateBytes(${MESSAGE}, 2048) } }`,
    pacing: '20/minute',
    successExpression:
      "status !== 200 ? byStatus : json.errcode === 0 ? true : json.errcode === 45009 || json.errcode === -1 ? 'later' : false",
  },
  limits: 'The text is cut to 2,048 bytes. 20 messages a minute.',
  success: '200 with `errcode` 0. `errcode` 45009, too fast, and -1, busy, are tried again.',
  example: { url: '${secret:wecom_url}' },
};
