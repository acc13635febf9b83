import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test, vi } from 'vitest';
import { runCli } from '../src/cli/root.ts';
import { checkConfiguration } from '../src/config/check-files.ts';
import { importCribl } from '../src/config/import/cribl.ts';
import { systemClock } from '../src/lib/clock.ts';
import { reasonOf } from '../src/lib/errors.ts';
import { configFolder } from './helpers/config-folder.ts';

/** A folder with files at these paths. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = configFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const errorsOf = (files: Readonly<Record<string, string>>) =>
  checkConfiguration({ folder: configFolder(files), environment: {}, flags: {} }, systemClock).errors;

const cribl = (files: Readonly<Record<string, string>>) => importCribl(folderOf(files));

const MAP_DIALECT = `targets:
  default: { type: default, defaultId: ops_hook }
  ops_hook:
    type: webhook
    url: https://hooks.example/ops
    authType: token
    token: clear-token
    formatPayloadCode: code
    status: { health: Green }
  chat: { type: slack, url: 'https://hooks.slack.example/services/T0/B0/clear' }
  mail: { type: smtp, host: mail.example, port: 587, from: a@b.example }
  pager: { type: pager_duty, routingKey: 0123456789abcdef0123456789abcdef, severity: warn }
  team:
    type: router
    rules: [{ filter: "severity == 'fatal'", output: pager }, { filter: '((', output: chat }]
  queue: { type: kafka }
notifications:
  silent:
    condition: no-data
    targets: [ops_hook, system_notifications]
    conf: { name: 'syslog:in_syslog', timeWindow: 60s }
    targetConfigs: [{ id: mail, conf: { emailRecipient: { to: 'a@b.example', ccEnabled: true } } }]
  loud: { condition: high-volume, disabled: 'yes', conf: { name: 'syslog:in_syslog', dataVolume: 1G } }
  odd: { condition: blocked }
`;

const LIST_DIALECT = `targets:
  - { id: chat, type: slack, slackUrl: 'https://hooks.slack.example/services/T0/B0/clear' }
  - id: text
    type: sns
    region: eu-central-1
    destinationType: phoneNumber
    phoneNumber: '+491701234567'
    allowlist: ['+49*']
    topicArn: ''
    messageGroupId: ''
    signatureVersion: v2
notifications:
  id: full
  condition: persistent-queue-usage
  targets: [chat]
  conf: { name: 's3:out', usageThreshold: 90 }
`;

describe('import cribl', () => {
  it('reads maps by id, other names of settings, and what every Cribl has', () => {
    const { files, lines } = cribl({ 'notifications.yml': MAP_DIALECT });
    expect(errorsOf(files)).toEqual([]);
    expect(files['notifications.yml']).toContain('slackUrl: ${secret:chat_slackUrl}');
    expect(files['notifications.yml']).not.toMatch(/clear|0123456789abcdef/);
    expect(lines).toEqual(
      expect.arrayContaining([
        'notifications.yml:3:3: understood in part: targets.ops_hook',
        'notifications.yml:7:12: changed: targets.ops_hook.token is ${secret:ops_hook_token}',
        expect.stringContaining(
          'notifications.yml:8:24: left out: targets.ops_hook.formatPayloadCode: unknown key',
        ),
        'notifications.yml:10:29: changed: targets.chat.url is called slackUrl',
        "notifications.yml:16:18: left out: targets.queue: Headgate has no targets of type 'kafka'",
        "notifications.yml:24:21: left out: notifications.odd: Headgate has no condition 'blocked'",
        'notifications.yml:18:3: understood in part: notifications.silent',
        'secret to store: headgate secrets set pager_routingKey',
      ]),
    );
    expect(files['notifications.yml']).toContain('type: bulletin_message');
  });

  it('leaves what was switched off in an unknown way switched off', () => {
    const { files } = cribl({ 'notifications.yml': MAP_DIALECT });
    expect(files['notifications.yml']).toMatch(/id: loud\n {4}condition: high-volume\n {4}disabled: true/);
  });

  it('reads lists, and an item that stands by itself', () => {
    const { files, lines } = cribl({ 'notifications.yml': LIST_DIALECT });
    expect(errorsOf(files)).toEqual([]);
    expect(files['notifications.yml']).toMatch(/id: full/);
    expect(files['notifications.yml']).toMatch(/allowList:\n {6}- \+49\*/);
    expect(lines.join('\n')).toContain('targets.text: signatureVersion is v4');
  });

  it('reads the groups of a leader', () => {
    const inputs = 'inputs:\n  in_syslog: { type: syslog, authToken: clear-key }\n';
    const { files, lines } = cribl({
      'local/cribl/outputs.yml':
        'outputs:\n  - { id: s3, type: s3 }\n  - { id: s3, type: s3 }\n  - none\n  - { type: s3 }\n',
      'groups/edge/local/cribl/inputs.yml': inputs,
      'groups/core/inputs.yml': inputs.replace('in_syslog', 'in_core'),
    });
    expect(errorsOf(files)).toEqual([]);
    expect(files['inputs.yml']).toMatch(/in_core[\s\S]*group: core[\s\S]*in_syslog[\s\S]*group: edge/);
    expect(files['inputs.yml']).not.toContain('clear-key');
    expect(lines).toEqual(
      expect.arrayContaining([
        'local/cribl/outputs.yml:3:5: left out: outputs.s3: an earlier one has the same id; ids are unique',
        "local/cribl/outputs.yml:4:5: left out: outputs[2]: is no map of settings, but 'none'",
        'local/cribl/outputs.yml:5:5: left out: outputs[3]: has no id',
        'groups/edge/local/cribl/inputs.yml:2:3: understood: inputs.in_syslog',
      ]),
    );
  });

  test.each([
    ['is no YAML', 'targets: [', /notifications\.yml:\d+:\d+: YAML/],
    ['is a list', '- a\n', /notifications\.yml:1:1: must be a map/],
    [
      'multiplies by aliases',
      `a: &a [${'x,'.repeat(99)}x]\n${[...'bcdefg'].map((key, index) => `${key}: &${key} [${`*${'abcdef'[index]},`.repeat(20)}]`).join('\n')}\ntargets: *g\n`,
      /notifications\.yml:\d+:\d+: /,
    ],
    ['has 10 MB of items', `targets: [${'1,'.repeat(5_000_000)}1]\n`, /notifications\.yml:1:1: /],
    ['is larger than any', `# ${'x'.repeat(17 * 1024 * 1024)}`, /notifications\.yml:1:1: is too large/],
  ])('names the place in a file that %s', (_, text, message) => {
    let said = '';
    try {
      cribl({ 'notifications.yml': text });
    } catch (error) {
      said = reasonOf(error);
    }
    expect(said).toMatch(message);
    expect(said.split('\n')).toHaveLength(1);
  });

  const KEYS = [
    'id',
    'url',
    'token',
    'routes',
    'rules',
    'targets',
    'conf',
    'disabled',
    'severity',
    'group',
    'port',
  ];
  const value = fc.oneof(
    fc.constantFrom(
      'top-secret',
      'no-data',
      'webhook',
      60,
      true,
      null,
      '${secret:}',
      '((',
      'https://a.example/',
    ),
    fc.array(fc.constantFrom<unknown>('a', 1, null, { filter: '((', output: 'a' }, { id: 'a' }), {
      maxLength: 3,
    }),
    fc.dictionary(fc.constantFrom('name', 'timeWindow', 'a b'), fc.constantFrom('a', '60s', 1)),
  );
  const item = fc.tuple(
    fc.constantFrom('webhook', 'slack', 'router', 'smtp', 'sns', 'pager_duty', 'default', 'bulletin_message'),
    fc.constantFrom('no-data', 'high-volume', 'search', 'monitor-alerts'),
    fc.dictionary(fc.constantFrom(...KEYS), value),
  );
  test('whatever is in the files, what comes of them passes the check and shows no token', () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), items => {
        const targets = items.map(([type, , rest], index) => ({ id: `t${index}`, ...rest, type }));
        const notifications = items.map(([, condition, rest], index) => ({
          id: `n${index}`,
          ...rest,
          condition,
        }));
        const inputs = items.map(([type, , rest]) => ({ type, ...rest }));
        const { files } = cribl({
          'notifications.yml': JSON.stringify({ targets, notifications }),
          'inputs.yml': JSON.stringify({ inputs }),
        });
        expect(errorsOf(files)).toEqual([]);
        expect(files['inputs.yml'] ?? '').not.toContain('token: top-secret');
        expect(files['notifications.yml'] ?? '').not.toContain('token: top-secret');
      }),
      { numRuns: 40 },
    );
  });
});

describe('the command', () => {
  async function run(...words: string[]) {
    const said = { out: '', err: '' };
    const listen = (stream: 'stdout' | 'stderr', name: keyof typeof said) =>
      vi.spyOn(process[stream], 'write').mockImplementation(text => {
        said[name] += String(text);
        return true;
      });
    const out = listen('stdout', 'out');
    const err = listen('stderr', 'err');
    try {
      return { code: await runCli(words), ...said };
    } finally {
      out.mockRestore();
      err.mockRestore();
    }
  }

  it('prints YAML and says the rest beside it; what was left out is no failure', async () => {
    const folder = folderOf({ 'notifications.yml': MAP_DIALECT });
    const { code, out, err } = await run('import', 'cribl', folder);
    expect(code).toBe(0);
    expect(errorsOf({ 'notifications.yml': out })).toEqual([]);
    expect(err).toMatch(/left out: targets\.queue/);
    expect(`${out}${err}`).not.toContain('clear-token');
  });

  it('writes files that are not there yet', async () => {
    const folder = folderOf({ 'notifications.yml': LIST_DIALECT });
    const out = configFolder();
    expect(await run('import', 'cribl', folder, '--out', out)).toMatchObject({ code: 0, out: '' });
    const again = await run('import', 'cribl', folder, '--out', out);
    expect(again).toMatchObject({ code: 1 });
    expect(again.err).toContain('is there already');
  });

  it('fails where there is nothing to read', async () => {
    expect(await run('import', 'cribl', configFolder())).toMatchObject({ code: 1, out: '' });
  });
});
