import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test, vi } from 'vitest';
import { runCli } from '../src/cli/root.ts';
import { checkConfiguration } from '../src/config/check-files.ts';
import { importAlertmanager } from '../src/config/import/alertmanager.ts';
import { importCribl } from '../src/config/import/cribl.ts';
import { systemClock } from '../src/lib/clock.ts';
import { reasonOf } from '../src/lib/errors.ts';
import { alarm } from './helpers/any-event.ts';
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
          'notifications.yml:8:24: left out: targets.ops_hook.formatPayloadCode: Headgate has no such setting',
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

const alertmanager = (text: string) =>
  importAlertmanager(join(folderOf({ 'alertmanager.yml': text }), 'alertmanager.yml'));

const ALERTMANAGER = `global:
  smtp_smarthost: 'mail.example:587'
  smtp_from: 'alerts@company.example'
  smtp_auth_username: alerts
  smtp_auth_password: clear-mail
  slack_api_url: https://hooks.slack.example/services/T0/B0/clear
  opsgenie_api_key: clear-opsgenie
  resolve_timeout: 5m
templates: ['/etc/alertmanager/*.tmpl']
route:
  receiver: ops
  group_by: [alertname, severity]
  group_wait: 45s
  repeat_interval: 1w
  routes:
    - { matchers: [severity="critical"], receiver: pager, continue: true, group_wait: 10s }
    - matchers: [team="office"]
      receiver: chat
      active_time_intervals: [hours]
    - matchers: [team="quiet"]
      receiver: chat
      mute_time_intervals: [nights]
    - { matchers: [team="summer"], receiver: chat, mute_time_intervals: [summer] }
receivers:
  - name: ops
    email_configs: [{ to: 'ops@company.example', headers: { Subject: '{{ .x }}' } }]
  - name: pager
    pagerduty_configs: [{ routing_key: 0123456789abcdef0123456789abcdef, severity: '{{ .x }}' }]
    slack_configs: [{ channel: '#ops', send_resolved: false }]
  - name: chat
    webhook_configs:
      - { url: https://hooks.example/db, http_config: { authorization: { type: GenieKey, credentials: clear-a } } }
      - { url_file: /etc/url, http_config: { basic_auth: { username: u, password: clear-b } } }
    telegram_configs: [{ bot_token: clear-bot, chat_id: -100123 }]
    discord_configs: [{ webhook_url: https://discord.example/api/webhooks/1/clear }]
    msteams_configs: [{ webhook_url: https://teams.example/clear }]
    mattermost_configs: [{ webhook_url: https://chat.example/clear }]
    webex_configs: [{ room_id: R, http_config: { authorization: { credentials: clear-webex } } }]
    victorops_configs: [{ api_key: clear-vo, routing_key: team }]
    opsgenie_configs: [{ responders: [{ name: x, type: team }] }]
    sns_configs:
      - { topic_arn: 'arn:aws:sns:eu-central-1:123456789012:a', sigv4: { access_key: AKIAABCDEFGHIJKLMNOP, secret_key: clear-aws } }
      - { phone_number: '+491701234567', sigv4: { region: eu-central-1 } }
    pushover_configs: [{ token: clear-po, user_key: clear-user }]
    jira_configs: [{ api_url: 'https://c.atlassian.net', project: OPS, http_config: { basic_auth: { username: a, password: clear-jira } } }]
    incidentio_configs: [{ url: 'https://api.incident.io/v2/alert_events/http/S', alert_source_token: clear-io }]
    wechat_configs: [{ corp_id: x, api_secret: clear-wechat }]
inhibit_rules:
  - { source_matchers: [severity="critical"], target_matchers: [severity=~"warning|info"], equal: [alertname] }
  - { source_match: { alertname: Down }, target_match_re: { alertname: '.+' } }
time_intervals:
  - name: hours
    time_intervals:
      - { times: [{ start_time: '09:00', end_time: '17:00' }], weekdays: ['monday:friday'], location: Europe/Berlin }
  - name: summer
    time_intervals: [{ months: ['june:august'], years: ['2024'] }]
mute_time_intervals:
  - name: nights
    time_intervals:
      - { times: [{ start_time: '22:00', end_time: '24:00' }, { start_time: '00:00', end_time: '06:00' }] }
      - { weekdays: [saturday, sunday] }
`;

type Labels = Readonly<Record<string, string>>;

interface Route {
  readonly receiver: string;
  readonly match: Labels;
  readonly continue: boolean;
  readonly routes: readonly Route[];
}

/** The receivers that Alertmanager notifies, by its documentation: depth first, up to a match without `continue`. */
function receiversOf(route: Route, labels: Labels): string[] {
  const found: string[] = [];
  for (const child of route.routes) {
    if (!fits(child, labels)) continue;
    found.push(...receiversOf(child, labels));
    if (!child.continue) break;
  }
  return found.length > 0 ? found : [route.receiver];
}

const fits = ({ match }: Route, labels: Labels): boolean =>
  Object.entries(match).every(([name, value]) => (labels[name] ?? '') === value);

describe('import alertmanager', () => {
  it('makes targets of receivers, a router of routes, inhibitions of inhibition rules', () => {
    const { files, lines } = alertmanager(ALERTMANAGER);
    expect(errorsOf(files)).toEqual([]);
    const text = files['notifications.yml'] ?? '';
    expect(text).not.toMatch(/clear|0123456789abcdef|AKIA/);
    expect(text).toContain('groupWait: 45s\n    repeatInterval: 7d');
    expect(text).toMatch(/groupBy:\n {6}- alertname\n {6}- label_severity/);
    expect(text).toContain(
      'filter: label_severity == "critical"\n        output: pager_all\n        final: false',
    );
    expect(text).toMatch(/times:\n {14}- 06:00-22:00\n {12}weekdays:\n {14}- monday\n/);
    expect(text).toMatch(/emailRecipient:\n {12}to: ops@company\.example/);
    expect(lines).toEqual(
      expect.arrayContaining(
        [
          'alertmanager.yml:9:12: left out: templates: Headgate writes its messages itself; see srcExpression of a webhook and subject and body of mail',
          'alertmanager.yml:8:20: left out: global.resolve_timeout: nothing here uses it',
          'alertmanager.yml:16:84: left out: group_wait of a route: that of the first route counts for all',
          "alertmanager.yml:10:1: changed: the label 'severity' is the field label_severity: send it by that name",
          'secret to store: headgate secrets set chat_victorops_url',
        ].map(line => expect.stringContaining(line.replace(/^alertmanager\.yml:\d+:\d+: /, ''))),
      ),
    );
    expect(
      lines.filter(line => /^alertmanager\.yml:\d+:\d+: (?:left out|changed|understood)/.test(line)).length,
    ).toBe(lines.filter(line => !/^secret to store|^\d+ understood/.test(line)).length);
    expect(lines.at(-1)).toMatch(/^2\d understood/);
  });

  const labels = fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('', '1', 'x "y"\\'), {
    maxKeys: 2,
  });
  const receiver = fc.constantFrom('r1', 'r2', 'r3', 'nobody');
  const { tree } = fc.letrec<{ tree: Route }>(tie => ({
    tree: fc.record({
      receiver,
      match: labels,
      continue: fc.boolean(),
      routes: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie('tree'), { maxLength: 3 })),
    }),
  }));
  test('an alert goes where Alertmanager sends it', () => {
    fc.assert(
      fc.property(tree, fc.array(labels, { minLength: 1, maxLength: 6 }), (route, alerts) => {
        const { files } = alertmanager(
          JSON.stringify({
            route: { receiver: route.receiver, routes: route.routes },
            receivers: [
              ...['r1', 'r2', 'r3'].map(name => ({
                name,
                webhook_configs: [{ url: `https://${name}.example/` }],
              })),
              { name: 'nobody' },
            ],
          }),
        );
        const check = checkConfiguration(
          { folder: configFolder(files), environment: {}, flags: {} },
          systemClock,
        );
        expect(check.errors).toEqual([]);
        const router = check.configuration?.targets.find(
          ({ settings }) => settings.id === 'alertmanager_routes',
        );
        for (const alert of alerts) {
          const event = { ...alarm, ...alert };
          const taken = router?.routes?.(event, reason => expect.fail(reason)) ?? [];
          const expected = receiversOf(route, alert).filter(name => name !== 'nobody');
          expect(new Set(taken.map(({ output }) => output))).toEqual(new Set(expected));
        }
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['is no YAML', 'route: [', /alertmanager\.yml:\d+:\d+: YAML/],
    ['has no route', 'receivers: []\n', /alertmanager\.yml:1:1: must be a map of settings, not nothing/],
    [
      'names a receiver that is not there',
      'route: { receiver: gone }\n',
      /:1:20: there is no receiver 'gone'/,
    ],
    [
      'has a matcher that is none',
      'receivers: [{ name: a }]\nroute: { receiver: a, routes: [{ matchers: [team] }] }\n',
      /:2:45: must be a matcher such as severity="critical", not 'team'/,
    ],
    [
      'has very many routes side by side',
      `receivers: [{ name: a }]\nroute: { receiver: a, routes: [${'{},'.repeat(3000)}] }\n`,
      /more than 2000 routes side by side/,
    ],
    ['has 10 MB of items', `receivers: [${'1,'.repeat(5_000_000)}1]\n`, /:1:1: /],
  ])('names the place in a file that %s', (_, text, message) => {
    expect(() => alertmanager(text)).toThrow(message);
  });

  it('names a file that is missing', () => {
    expect(() => importAlertmanager(join(configFolder(), 'gone.yml'))).toThrow(/there is no file/);
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

  it('converts the file of an Alertmanager', async () => {
    const folder = folderOf({ 'alertmanager.yml': ALERTMANAGER });
    const { code, out, err } = await run('import', 'alertmanager', join(folder, 'alertmanager.yml'));
    expect(code).toBe(0);
    expect(errorsOf({ 'notifications.yml': out })).toEqual([]);
    expect(`${out}${err}`).not.toMatch(/clear/);
  });

  it('fails where there is nothing to read', async () => {
    expect(await run('import', 'cribl', configFolder())).toMatchObject({ code: 1, out: '' });
  });
});
