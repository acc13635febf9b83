import { load as loadYaml } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { checkConfiguration, checkJson, checkLines, effectiveText } from './check-files.ts';

const check = (files: Readonly<Record<string, string>>) =>
  checkConfiguration(
    { folder: configFolder(files), environment: { T: 'hunter2-hunter2' }, flags: {} },
    { now: () => 0 },
  );

describe('check', () => {
  it('says what a good configuration holds', () => {
    const good = check({
      'headgate.yml': 'pipelines: [{ id: s, engine: rsyslog, push: true, token: "${env:T}" }]',
      'notifications.yml': 'targets: [{ id: a, type: bulletin_message }, { id: b, type: notifications_log }]',
    });
    expect(checkLines(good)).toEqual(['ok: 1 pipeline, 2 targets, 0 notifications, 0 warnings']);
    expect(JSON.parse(checkJson(good))).toEqual({ ok: true, errors: [], warnings: [] });
  });

  it('lists errors before warnings and counts both', () => {
    const bad = check({
      'headgate.yml':
        'api: { prot: 1 }\npipelines: [{ id: s, engine: rsyslog, push: true, token: in-clear-text }]',
    });
    expect(checkLines(bad)).toEqual([
      expect.stringMatching(/^error: .*headgate\.yml:1:8: unknown key 'prot'.* \(api\.prot\)$/),
      expect.stringMatching(/^warning: .*headgate\.yml:2:\d+: this secret is readable/),
      '1 error, 1 warning',
    ]);
    expect(JSON.parse(checkJson(bad))).toMatchObject({
      ok: false,
      errors: [{ line: 1, column: 8, path: 'api.prot' }],
      warnings: [{ line: 2, path: 'pipelines[0].token' }],
    });
  });

  it('shows the effective configuration with every default and no secret', () => {
    const { configuration } = check({
      'headgate.yml':
        'pipelines: [{ id: s, engine: rsyslog, push: true, token: "${env:T}" }]\n' +
        'storage: { url: "postgres://gate:hunter2@db/gates" }',
      'notifications.yml': 'notifications: [{ id: a, condition: no-data, conf: { name: x } }]',
    });
    if (configuration === undefined) throw new Error('the configuration was refused');
    const yaml = effectiveText(configuration, 'yaml');
    expect(yaml).not.toContain('hunter2');
    expect(loadYaml(yaml)).toEqual(JSON.parse(effectiveText(configuration, 'json')));
    expect(loadYaml(yaml)).toMatchObject({
      'headgate.yml': {
        api: { port: 9000, loginRateLimit: '2/second' },
        storage: { url: 'postgres://gate:********@db/gates' },
        pipelines: [{ id: 's', token: '********' }],
        delivery: { retrySchedule: expect.arrayContaining(['0s', '8h']) },
      },
      'notifications.yml': {
        targets: [],
        notifications: [{ id: 'a', for: '0s', conf: { timeWindow: '60s' } }],
      },
    });
  });
});
