import { describe, expect, it } from 'vitest';
import { configurationOf } from '../../../test/helpers/config-folder.ts';
import { AppError } from '../../lib/errors.ts';
import type { FileTexts } from '../configuration.ts';
import { applySecretRulesToTexts } from './texts.ts';

const TOKEN = 'hunter2-hunter2';
const MASK = '"********"';

const nowOf = (texts: FileTexts) =>
  configurationOf({
    settings: texts['headgate.yml'] ?? '',
    notifications: texts['notifications.yml'] ?? '',
    inputs: texts['inputs.yml'] ?? '',
    environment: { T: 'from-outside' },
    secrets: { hook: 'stored', other: 'stored too' },
  });

const notifications = (...lines: readonly string[]): FileTexts => ({
  'notifications.yml': `${lines.join('\n')}\n`,
});

const OPEN = '  - id: hook\n    type: webhook\n    url: http://h.example/';
const HOOK = `${OPEN}\n    authType: token`;

const imported = (texts: FileTexts, now: FileTexts) => applySecretRulesToTexts(texts, nowOf(now), true);

function refusal(texts: FileTexts, now: FileTexts) {
  try {
    imported(texts, now);
  } catch (error) {
    if (error instanceof AppError)
      return `${error.code} ${error.problems?.map(({ path }) => path).join(', ')}`;
    throw error;
  }
  return undefined;
}

const AT = 'notifications.yml targets[0].token';

describe('a masked secret in a text', () => {
  const old = notifications('targets:', HOOK, `    token: ${MASK}  # mine`);

  it.each([
    ['a text', TOKEN],
    ['a reference', "'${secret:hook}'"],
    ['a reference to the environment', "'${env:T}'"],
  ])('becomes what its target holds now, wherever that stands: %s', (_, token) => {
    const now = notifications(
      'targets:',
      HOOK.replace('hook', 'first'),
      `    token: ${TOKEN}`,
      HOOK,
      `    token: ${token}`,
    );
    expect(imported(old, now)).toEqual({
      texts: notifications('targets:', HOOK, `    token: ${token}  # mine`),
      secrets: [],
    });
  });

  it('is found by the name of its header', () => {
    const header = (name: string, value: string) => `      - { name: ${name}, value: ${value} }`;
    const then = notifications('targets:', OPEN, '    extraHttpHeaders:', header('B', MASK));
    const headers = [header('A', 'one-secret'), header('B', 'two-secret')];
    const now = notifications('targets:', OPEN, '    extraHttpHeaders:', ...headers);
    expect(imported(then, now).texts['notifications.yml']).toContain(header('B', 'two-secret'));
  });

  it('is refused where nothing is stored, and where it would become a value', () => {
    const none = notifications('targets: []');
    expect(refusal(old, none)).toBe(`unprocessable ${AT}`);
    const other = notifications('targets:', OPEN, '    description: with ********');
    expect(refusal(other, none)).toBe('unprocessable notifications.yml targets[0].description');
    expect(refusal(notifications('# ********', 'targets: []'), none)).toBeUndefined();
  });

  it.each([
    ['another address', 'http://thief.example/', ''],
    ['no check of certificates', 'http://h.example/', '\n    rejectUnauthorized: false'],
  ])('does not go to %s', (_, url, line) => {
    const now = notifications('targets:', HOOK, `    token: ${TOKEN}`);
    for (const token of [MASK, "'${secret:hook}'"]) {
      const held = token === MASK ? now : notifications('targets:', HOOK, `    token: ${token}`);
      const moved = `${HOOK.replace('http://h.example/', url)}${line}`;
      expect(refusal(notifications('targets:', moved, `    token: ${token}`), held)).toBe(
        `unprocessable ${AT}`,
      );
    }
  });

  it('belongs to no target of another type', () => {
    const now = notifications('targets:', HOOK, `    token: ${TOKEN}`);
    const mail =
      '  - { id: hook, type: smtp, host: thief.example, port: 25, from: a@b.example, username: u, password: "********" }';
    expect(refusal(notifications('targets:', mail), now)).toBe(
      'unprocessable notifications.yml targets[0].password',
    );
  });

  it('is shared by no anchor', () => {
    const two = [
      OPEN.replace('hook', 'a'),
      '    authType: token',
      `    token: ${TOKEN}`,
      HOOK,
      '    token: another-one',
    ];
    const now = notifications('targets:', ...two);
    const [first = ''] = two;
    const sly = notifications(
      'targets:',
      first,
      '    authType: token',
      `    token: &t ${MASK}`,
      HOOK,
      '    token: *t',
    );
    expect(refusal(sly, now)).toBe('unprocessable notifications.yml targets[1]');
    const shown = notifications(
      'targets:',
      first,
      '    authType: token',
      `    token: &t ${MASK}`,
      OPEN,
      '    description: *t',
    );
    expect(refusal(shown, now)).toBe('unprocessable notifications.yml targets[1]');
  });

  it('is not kept where nothing but aliases would read it', () => {
    const now = notifications(`x-spare: { password: ${TOKEN} }`, 'targets:', HOOK, '    token: another-one');
    const sent = now['notifications.yml']?.replace(TOKEN, MASK) ?? '';
    expect(refusal({ 'notifications.yml': sent }, now)).toBe(
      'unprocessable notifications.yml x-spare.password',
    );
  });

  it('comes back as it was where an anchor stood before', () => {
    const now = notifications(
      'targets:',
      HOOK,
      `    token: &t ${TOKEN}`,
      HOOK.replace('hook', 'two'),
      '    token: *t',
    );
    const text = now['notifications.yml']?.replace(TOKEN, MASK) ?? '';
    expect(imported({ 'notifications.yml': text }, now).texts).toEqual(now);
  });
});

describe('a reference in a text', () => {
  it.each(['${env:T}', '${file:/etc/passwd}'])(
    'to the surroundings stays only where it stands already: %s',
    text => {
      const one = notifications('targets:', OPEN, `    description: '${text}'`);
      const now = notifications('targets:', OPEN, `    description: '\${env:T}'`);
      expect(refusal(one, notifications('targets:', OPEN))).toBe(
        'invalid-request notifications.yml targets[0].description',
      );
      expect(refusal(one, now) === undefined).toBe(text === '${env:T}');
      const settings = { 'headgate.yml': `instance: { name: '${text}' }\n` };
      expect(refusal(settings, {})).toBe('invalid-request headgate.yml instance.name');
    },
  );

  it('to a stored secret is for who may change settings, as an import is', () => {
    const text = notifications('targets:', HOOK, "    token: '${secret:other}'");
    expect(imported(text, notifications('targets:', OPEN)).texts).toEqual(text);
    expect(() => applySecretRulesToTexts(text, nowOf({}), false)).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
  });
});

describe('a secret in clear in a text', () => {
  it('goes to the store, and its reference into the text, unless it stands there already', () => {
    const text = notifications('targets:', HOOK, `    token: ${TOKEN} # mine`);
    expect(imported(text, notifications('targets: []'))).toEqual({
      texts: notifications('targets:', HOOK, "    token: '${secret:target_hook_token}' # mine"),
      secrets: [{ name: 'target_hook_token', value: TOKEN }],
    });
    expect(imported(text, text)).toEqual({ texts: text, secrets: [] });
  });

  it('of an input goes by its name', () => {
    const text = { 'inputs.yml': `inputs:\n  - { id: in1, type: http, authToken: ${TOKEN}, port: 10080 }\n` };
    expect(imported(text, {})).toMatchObject({
      texts: { 'inputs.yml': text['inputs.yml'].replace(TOKEN, "'${secret:input_in1_authToken}'") },
      secrets: [{ name: 'input_in1_authToken', value: TOKEN }],
    });
  });
});
