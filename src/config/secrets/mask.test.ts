import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { configurationOf } from '../../../test/helpers/config-folder.ts';
import { cpuMsOf } from '../../../test/helpers/cpu-time.ts';
import type { FileTexts } from '../configuration.ts';
import { maskedTexts, replaceAll } from './mask.ts';

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

/** What `replaceAll` answers, by looking for each of the values at each place. */
function replacedOneByOne(text: string, values: readonly string[], replacement: string): string {
  const found = values.flatMap(value =>
    [...text].flatMap((_, start) =>
      value !== '' && text.startsWith(value, start) ? [{ start, end: start + value.length }] : [],
    ),
  );
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  let result = '';
  let end = 0;
  for (const one of found) {
    if (one.start >= end) result += text.slice(end, one.start) + replacement;
    end = Math.max(end, one.end);
  }
  return result + text.slice(end);
}

test('values that overlap, begin or end alike are found as if each was looked for by itself', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 60 });
  const values = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(text, values, (whole, few) => {
      expect(replaceAll(whole, few, '*')).toBe(replacedOneByOne(whole, few, '*'));
    }),
    { numRuns: 2000 },
  );
  expect(replaceAll('the long-secret-1 and long-secret', ['long-secret', 'long-secret-1'], '*')).toBe(
    'the * and *',
  );
});

test.each([
  [
    'secrets that begin alike',
    (count: number) => Array.from({ length: count }, (_, at) => `${'a'.repeat(20)}${at}`),
  ],
  [
    'secrets that end alike',
    (count: number) => Array.from({ length: count }, (_, at) => `${at}${'a'.repeat(20)}`),
  ],
  [
    'secrets that begin differently',
    (count: number) => Array.from({ length: count }, (_, at) => `${at}`.repeat(5)),
  ],
])('many %s in a long text take time by the length of both', async (_, make) => {
  const work = (count: number) => () => {
    const secrets = make(count);
    replaceAll(`${'a'.repeat(10 * count)}${secrets.join(' ')}`, secrets, '*');
  };
  work(500)();
  const few = await cpuMsOf(work(500));
  const many = await cpuMsOf(work(4000));
  // Eight times as much; a cost of secrets times length would be sixty-four times.
  expect(many).toBeLessThan(30 * Math.max(few, 10));
});
