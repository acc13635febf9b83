import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  configFolder,
  configurationOf,
  errorsOf,
  loadGiven,
  warningsOf,
} from '../../../test/helpers/config-folder.ts';

describe('secrets', () => {
  const hook = (token: string) =>
    `targets:\n  - { id: h, type: webhook, url: 'http://h/', authType: token, token: ${token} }`;

  it('come from the environment and from files, whose last line break is dropped', () => {
    const folder = configFolder({ token: 'from-a-file\n' });
    const settings = [
      'pipelines:',
      '  - { id: a, engine: rsyslog, push: true, token: "${env:TOKEN}" }',
      `  - { id: b, engine: rsyslog, push: true, token: "\${file:${join(folder, 'token')}}" }`,
    ].join('\n');
    const { settings: read, warnings } = configurationOf({
      settings,
      environment: { TOKEN: 'from-outside' },
    });
    const revealed = read.pipelines.map(pipeline => pipeline.token?.reveal());
    expect(revealed).toEqual(['from-outside', 'from-a-file']);
    expect(warnings).toEqual([]);
  });

  it('come from the store of a server, and are only warned of where there is none', () => {
    const notifications = hook("'${secret:hook_token}'");
    const { targets, warnings } = configurationOf({ notifications, secrets: { hook_token: 'stored' } });
    expect(Reflect.get(targets[0]?.settings ?? {}, 'token').reveal()).toBe('stored');
    expect(warnings).toEqual([]);
    expect(warningsOf({ notifications })).toEqual([
      expect.stringMatching(/^notifications.yml:2:\d+: \$\{secret:hook_token\} is not looked up here/),
    ]);
  });

  it('of the store may stand where a text must have a form that their name has not', () => {
    const notifications = "targets: [{ id: h, type: webhook, url: '${secret:place}' }]";
    expect(errorsOf({ notifications })).toEqual([]);
    expect(errorsOf({ notifications, secrets: { place: 'http://h/' } })).toEqual([]);
    expect(errorsOf({ notifications, secrets: { place: 'nowhere' } })).toEqual([
      expect.stringContaining('not the value of ${secret:place}'),
    ]);
  });

  it('list the files they came from, so that these are watched, too', () => {
    const { files } = loadGiven({ notifications: hook("'${file:/nowhere/at/all}'") });
    expect(files).toContain('/nowhere/at/all');
  });

  it('may be numbers where the setting is one', () => {
    const given = { settings: 'api: { port: "${env:PORT}" }', environment: { PORT: '8080' } };
    expect(configurationOf(given).settings.api.port).toBe(8080);
  });

  it.each([
    ['a variable that is not set', '${env:NOPE}', /\$\{env:NOPE\} is not set/],
    ['a variable that is empty', '${env:EMPTY}', /\$\{env:EMPTY\} is set but empty/],
    ['a variable without name', '${env:}', /names nothing/],
    ['a file that does not exist', '${file:/nope}', /\$\{file:\/nope\} names a file that does not exist/],
    ['a folder', '${file:/}', /names a file that is a folder/],
    ['a device', '${file:/dev/zero}', /is not a regular file/],
    ['a relative path', '${file:secret}', /by a path that begins with \//],
    ['a secret without name', '${secret:}', /names nothing/],
    [
      'a secret that is not stored',
      '${secret:nope}',
      /\$\{secret:nope\} is no stored secret; set it by "headgate secrets set nope" or PUT \/api\/v1\/system\/secrets\/nope/,
    ],
  ])('are refused at their place when they name %s', (_, reference, expected) => {
    const found = errorsOf({
      notifications: hook(`'${reference}'`),
      environment: { EMPTY: '' },
      secrets: {},
    });
    expect(found).toEqual([expect.stringMatching(expected)]);
    expect(found[0]).toMatch(/^notifications.yml:2:\d+: .*\(targets\[0\]\.token\)$/);
  });

  it('are shown by their reference when what they stand for is wrong', () => {
    const found = errorsOf({ settings: 'api: { port: "${env:PORT}" }', environment: { PORT: 'hunter2' } });
    expect(found).toEqual([expect.stringContaining('not the value of ${env:PORT}')]);
    expect(found.join()).not.toContain('hunter2');
  });

  it('are masked in errors, warned of in clear text, and work', () => {
    const given = { notifications: hook('hunter2-hunter2') };
    expect(configurationOf(given).targets).toHaveLength(1);
    expect(warningsOf(given)).toEqual([
      expect.stringMatching(/^notifications.yml:2:\d+: this secret is readable/),
    ]);
    const short = errorsOf({
      settings: 'pipelines: [{ id: a, engine: rsyslog, push: true, token: hunter2 }]',
    });
    expect(short.join()).toContain("'********'");
    const number = errorsOf({
      settings: 'pipelines: [{ id: a, engine: rsyslog, push: true, token: 1234567890 }]',
    });
    expect([...short, ...number].join()).not.toMatch(/hunter2|1234567890/);
  });

  it('stand in the address of a database only where it has a password', () => {
    const clear = (url: string) =>
      warningsOf({ settings: `storage: { url: "${url}" }`, environment: { DB: 'postgres://u:hunter2@h/d' } });
    expect(clear('sqlite:gate.db')).toEqual([]);
    expect(clear('postgres://u@h:5432/d?sslmode=require')).toEqual([]);
    expect(clear('${env:DB}')).toEqual([]);
    expect(clear('postgres://u:hunter2@h/d')).toEqual([
      expect.stringMatching(/^headgate.yml:1:\d+: this secret is readable.*\(storage\.url\)$/),
    ]);
  });

  it('leaves every other $ alone: in templates, in notifications, in the middle of a text', () => {
    const { targets, notifications } = configurationOf({
      notifications: [
        "targets: [{ id: b, type: bulletin_message, message: '${_raw}', description: 'a ${env:X}' }]",
        "notifications: [{ id: a, condition: no-data, description: '${env:HOME}', conf: { name: x } }]",
      ].join('\n'),
      environment: { HOME: '/root', _raw: 'no' },
    });
    expect(JSON.stringify(targets[0]?.settings)).toContain('${_raw}');
    expect(targets[0]?.settings.description).toBe('a ${env:X}');
    expect(notifications[0]?.settings.description).toBe('${env:HOME}');
  });
});
