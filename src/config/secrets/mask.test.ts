import { describe, expect, it } from 'vitest';
import { configurationOf } from '../../../test/helpers/config-folder.ts';
import type { FileTexts } from '../configuration.ts';
import { maskedTexts } from './mask.ts';

const TOKEN = 'hunter2-hunter2';

const rawOf = (texts: FileTexts) =>
  configurationOf({
    ...(texts['headgate.yml'] !== undefined && { settings: texts['headgate.yml'] }),
    ...(texts['notifications.yml'] !== undefined && { notifications: texts['notifications.yml'] }),
    ...(texts['inputs.yml'] !== undefined && { inputs: texts['inputs.yml'] }),
    environment: { T: 'from-outside' },
    secrets: { hook: 'stored' },
  }).raw;

const notifications = (...lines: readonly string[]): FileTexts => ({
  'notifications.yml': `${lines.join('\n')}\n`,
});

const OPEN = '  - id: hook\n    type: webhook\n    url: http://h.example/';
const HOOK = `${OPEN}\n    authType: token`;

describe('a masked text', () => {
  it.each([
    ['plain', `token: ${TOKEN}  # mine`, 'token: "********"  # mine'],
    ['quoted', `token: '${TOKEN}'`, 'token: "********"'],
    ['in lines', `token: >-  # mine\n      ${TOKEN}\n    method: PUT`, 'token: "********"\n    method: PUT'],
    ['short', 'token: a', 'token: "********"'],
    [
      'in a list',
      `token: '\${secret:hook}'\n    extraHttpHeaders:\n      - { name: X-Key, value: ${TOKEN} }`,
      'token: \'${secret:hook}\'\n    extraHttpHeaders:\n      - { name: X-Key, value: "********" }',
    ],
  ])('has no secret that stands in it: %s', (_, secret, masked) => {
    const texts = notifications('targets:', HOOK, `    ${secret}`);
    expect(maskedTexts(texts, rawOf(texts))).toEqual(notifications('targets:', HOOK, `    ${masked}`));
  });

  it('has none in comments, in other texts and behind aliases either', () => {
    const texts = notifications(
      `# once ${TOKEN}`,
      'targets:',
      HOOK,
      `    token: &t ${TOKEN}`,
      `    description: with ${TOKEN}`,
      HOOK.replace('hook', 'other'),
      '    token: *t',
    );
    const masked = maskedTexts(texts, rawOf(texts))['notifications.yml'];
    expect(masked).not.toContain(TOKEN);
    expect(masked).toContain('# once ********');
  });

  it('has none in what its items share', () => {
    const texts = notifications(
      `x-hook: &hook { type: webhook, url: "http://h.example/", authType: token, token: ${TOKEN} }`,
      'x-spare: { password: unused-and-secret, user: ops, ref: "${secret:hook}" }',
      `x-token: &token ${TOKEN}x`,
      'targets:',
      '  one: *hook',
      HOOK.replace('  - id: hook', '  two:'),
      '    token: *token',
    );
    expect(maskedTexts(texts, rawOf(texts))['notifications.yml']).toBe(
      texts['notifications.yml']
        ?.replace(`${TOKEN} }`, '"********" }')
        .replace('unused-and-secret', '"********"')
        .replace(`${TOKEN}x`, '"********"'),
    );
  });

  it('keeps references, and everything else as it is', () => {
    const texts = notifications(
      'targets:',
      HOOK,
      "    token: '${env:T}'  # b",
      HOOK.replace('hook', 'two'),
      '    token: ${secret:hook}',
    );
    expect(maskedTexts(texts, rawOf(texts))).toEqual(texts);
  });

  it('has no tokens of pipelines', () => {
    const texts = {
      'headgate.yml': `pipelines:\n  - { id: a, engine: rsyslog, push: true, token: ${TOKEN} }\n`,
    };
    expect(maskedTexts(texts, rawOf(texts))['headgate.yml']).toContain('token: "********" }');
  });

  it('is found by the id of its target, in maps as well', () => {
    const texts = notifications(
      'targets:',
      '  open: { type: bulletin_message }',
      `  "hook": { type: webhook, url: 'http://h/', authType: token, token: ${TOKEN} }`,
    );
    expect(maskedTexts(texts, rawOf(texts))['notifications.yml']).toContain('token: "********" }');
  });
});
