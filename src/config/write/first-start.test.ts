import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFolder } from '../../../test/helpers/config-folder.ts';
import { conditions } from '../../conditions/index.ts';
import { loadConfiguration } from '../load.ts';
import { writeFirstFiles } from './first-start.ts';

const load = (folder: string, environment = {}) =>
  loadConfiguration({ folder, environment, flags: {} }, { now: () => 0 });

const NOTHING = { environment: {}, flags: {} };

describe('the first start', () => {
  it('writes files that hold comments only', async () => {
    const folder = join(configFolder(), 'new', 'config');
    await writeFirstFiles(folder, NOTHING);
    expect(readdirSync(folder).sort()).toEqual(['headgate.yml', 'notifications.yml']);
    for (const name of readdirSync(folder)) {
      const lines = readFileSync(join(folder, name), 'utf8').split('\n');
      expect(lines.filter(line => line !== '' && !line.startsWith('#'))).toEqual([]);
    }
    expect(load(folder)).toMatchObject({ ok: true, warnings: [] });
  });

  it('writes examples that are right once their marks are taken away', async () => {
    const folder = configFolder();
    await writeFirstFiles(folder, NOTHING);
    for (const name of readdirSync(folder)) {
      const text = readFileSync(join(folder, name), 'utf8');
      const setting = /^# ( *(?:- (?:\{ )?)?[a-zA-Z_]+:(?: .*)?)$/gm;
      writeFileSync(join(folder, name), text.replace(setting, '$1'));
    }
    const result = load(folder, {
      SYSLOG_TOKEN: 'long enough',
      OPS_HOOK_TOKEN: 'x',
      METRICS_TOKEN: 'long enough too',
      SSO_SECRET: 'x',
      HEARTBEAT_URL: 'https://watch.example/ping',
    });
    expect(result.ok ? [] : result.problems).toEqual([]);
    expect(result.warnings).toEqual([]);
    expect(result.ok && result.configuration.settings.pipelines.map(({ id }) => id)).toEqual([
      'edge',
      'syslog',
    ]);
    const shown = result.ok
      ? result.configuration.notifications.map(({ rule }) => rule.condition.id).sort()
      : [];
    expect(shown).toEqual(conditions.map(({ id }) => id).sort());
  });

  it.each([
    [{}, {}, 'http://localhost:9000'],
    [{ HEADGATE_API_PORT: '9100' }, {}, 'http://localhost:9100'],
    [{ HEADGATE_API_PORT: '9100' }, { 'api.port': 0 }, 'http://localhost:9000'],
    [{ HEADGATE_INSTANCE_EXTERNAL_URL: 'https://gate.example/' }, {}, 'https://gate.example'],
  ])('names the schema of each file to editors, by %o and %o', async (environment, flags, server) => {
    const folder = configFolder();
    await writeFirstFiles(folder, { environment, flags });
    for (const name of ['headgate', 'notifications'])
      expect(readFileSync(join(folder, `${name}.yml`), 'utf8').split('\n')[0]).toBe(
        `# yaml-language-server: $schema=${server}/schemas/${name}.json`,
      );
  });

  it('leaves files alone that are there', async () => {
    const folder = configFolder({ 'headgate.yml': 'api: { port: 1 }' });
    await writeFirstFiles(folder, NOTHING);
    expect(readFileSync(join(folder, 'headgate.yml'), 'utf8')).toBe('api: { port: 1 }');
    expect(readdirSync(folder)).toContain('notifications.yml');
  });

  it('says nothing where it cannot write', async () => {
    const folder = configFolder({ file: '' });
    await expect(writeFirstFiles(join(folder, 'file', 'config'), NOTHING)).resolves.toBeUndefined();
  });
});
