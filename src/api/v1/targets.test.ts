import { expect, test } from 'vitest';
import { type PlainMap, plainCopy } from '../../config/plain.ts';
import { findTargetType } from '../../targets/index.ts';
import { sentTarget, wireTarget } from './targets.ts';

function settingsOf(raw: { readonly type: string }): PlainMap {
  const target = findTargetType(raw.type)?.configure({ id: 't', ...raw });
  if (target === undefined) throw new Error(`no type ${raw.type}`);
  return plainCopy(target.settings);
}

const shown = (raw: { readonly type: string }): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(
      wireTarget({
        settings: settingsOf(raw),

        failure: undefined,
        heldBecause: undefined,
      }),
    ),
  );

const slack = { type: 'slack', slackUrl: 'https://hooks.slack.com/services/hunter2' };
const smtp = {
  type: 'smtp',
  host: 'mail.example',
  port: 587,
  smtpUsername: 'u',
  smtpPassword: 'hunter2',
  from: 'h@shop.example',
};

test.each([
  [slack, { url: 'https://hooks.slack.com/********', slackUrl: 'https://hooks.slack.com/********' }],
  [smtp, { username: 'u', smtpUsername: 'u', password: '********', smtpPassword: '********' }],
  [
    { type: 'router', rules: [{ filter: 'true', output: 'o' }] },
    {
      rules: [{ filter: 'true', output: 'o', final: true }],
      routes: [{ filter: 'true', output: 'o', final: true }],
    },
  ],
  [
    {
      type: 'sns',
      region: 'eu-west-1',
      destinationType: 'topic',
      topicArn: 'a',
      messageGroupId: '',
      allowList: ['+1*'],
    },
    { allowlist: ['+1*'], allowList: ['+1*'] },
  ],
])('%j is answered under every name its clients read, secrets masked', (raw, names) => {
  expect(shown(raw)).toMatchObject(names);
  expect(JSON.stringify(shown(raw))).not.toContain('hunter2');
});

test('a webhook has the names it always had', () => {
  const raw = { type: 'webhook', url: 'https://hooks.example/x', customSourceExpression: '_raw' };
  expect(shown(raw)).toMatchObject({ url: raw.url, srcExpression: '_raw' });
  expect(shown(raw)).not.toHaveProperty('customSourceExpression');
});

test('what was read and sent back means what it says under its own name', () => {
  expect(sentTarget(shown(smtp), settingsOf(smtp))).toEqual(
    Object.fromEntries(
      Object.entries(shown(smtp)).filter(([key]) => !['username', 'password'].includes(key)),
    ),
  );
});

test.each([
  ['the other name', { username: 'new' }, { smtpUsername: 'new' }],
  ['its own name', { smtpUsername: 'new' }, { smtpUsername: 'new' }],
  ['both names alike', { username: 'new', smtpUsername: 'new' }, { smtpUsername: 'new' }],
  ['both names differently', { username: 'a', smtpUsername: 'b' }, { username: 'a', smtpUsername: 'b' }],
])('a setting that was changed under %s is the changed one', (_, change, expected) => {
  const sent = sentTarget({ ...shown(smtp), ...change }, settingsOf(smtp));
  expect(sent).toMatchObject(expected);
  expect(Object.keys(sent).includes('username')).toBe('username' in expected);
});

test('a part of a target, a new one and one of no known type are taken as they are', () => {
  const url = 'https://x.example/y';
  expect(sentTarget({ url }, settingsOf(slack))).toEqual({ slackUrl: url });
  expect(sentTarget({ id: 'n', type: 'slack', url }, undefined)).toEqual({
    id: 'n',
    type: 'slack',
    slackUrl: url,
  });
  for (const type of ['constructor', 7]) expect(sentTarget({ type, url }, undefined)).toEqual({ type, url });
});
