import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { checkThread } from '../../test/helpers/held-configuration.ts';
import { until } from '../../test/helpers/until.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import type { Configuration } from './configuration.ts';
import { type ConfigurationHolder, createConfigurationHolder } from './holder.ts';
import { filesSource } from './source/files.ts';

const named = (name: string) => `instance: { name: ${name} }\n`;
const BAD = 'instance: { nam: x }\n';

interface Holding {
  readonly holder: ConfigurationHolder;
  readonly folder: string;
  readonly write: (text: string) => void;
  readonly log: readonly string[];
}

function hold(
  text: string,
  clock: Clock = testClock(),
  files: Readonly<Record<string, string>> = {},
): Holding {
  const folder = configFolder({ 'headgate.yml': text, ...files });
  const log: string[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger: Logger = { ...silentLogger, info: note('info'), warn: note('warn'), error: note('error') };
  const holder = createConfigurationHolder({
    thread: checkThread(clock),
    source: filesSource({ folder, environment: {}, flags: {}, clock }),
    clock,
    logger,
  });
  onTestFinished(holder.stop);
  holder.load();
  return { holder, folder, log, write: next => writeFileSync(join(folder, 'headgate.yml'), next) };
}

const nameOf = (configuration: Configuration): string => configuration.settings.instance.name;

/** The name of the instance in the next configuration that is taken over. */
const nextName = (holder: ConfigurationHolder): Promise<string> =>
  new Promise(resolve => {
    const end = holder.subscribe(configuration => {
      end();
      resolve(nameOf(configuration));
    });
  });

describe('the active configuration', () => {
  it('is replaced by a reload, and listeners are notified', async () => {
    const { holder, write } = hold(named('one'));
    const next = nextName(holder);
    write(named('two'));
    expect((await holder.reload()).ok).toBe(true);
    expect(await next).toBe('two');
    expect(nameOf(holder.get())).toBe('two');
  });

  it('stays when the file is wrong, and the status says why until it is mended', async () => {
    const { holder, write } = hold(named('one'));
    const told: string[] = [];
    holder.subscribe(configuration => told.push(nameOf(configuration)));
    const before = holder.get();
    write(BAD);
    expect((await holder.reload()).ok).toBe(false);
    expect(holder.get()).toBe(before);
    expect(told).toEqual([]);
    expect(holder.status()).toMatchObject({
      state: 'error',
      loadedAt: before.loadedAt,
      errors: [{ line: 1, column: 13, path: 'instance.nam' }],
    });
    write(named('two'));
    await holder.reload();
    expect(holder.status()).toMatchObject({ state: 'ok', errors: [] });
    expect(told).toEqual(['two']);
  });

  it('is not there before a load went well', () => {
    const { holder } = hold(BAD);
    expect(holder.status()).toMatchObject({ state: 'error', loadedAt: null });
    expect(() => holder.get()).toThrow('before it was loaded');
  });

  it('reaches every listener though one of them fails, and none that has left', async () => {
    const { holder, log } = hold(named('one'));
    const told: string[] = [];
    holder.subscribe(() => {
      throw new Error('broken part');
    });
    holder.subscribe(() => void told.push('stays'));
    holder.subscribe(() => void told.push('leaves'))();
    await holder.reload();
    expect(told).toEqual(['stays']);
    expect(log.join()).toContain('broken part');
  });

  it('logs the same errors once until they change', async () => {
    const { holder, write, log } = hold(named('one'));
    const refusals = () => log.filter(line => line.startsWith('error configuration refused')).length;
    write(BAD);
    await holder.reload();
    await holder.reload();
    expect(refusals()).toBe(1);
    write(`${BAD}apis: {}\n`);
    await holder.reload();
    expect(refusals()).toBe(2);
    write(named('one'));
    await holder.reload();
    write(`${BAD}apis: {}\n`);
    await holder.reload();
    expect(refusals()).toBe(3);
  });

  it('says which changes wait for a restart, for as long as they wait', async () => {
    const { holder, write } = hold('api: { port: 9000 }\n');
    write('api:\n  port: 9001\nstorage: { url: sqlite:other.db }\n');
    const result = await holder.reload();
    const paths = (problems: readonly { readonly path: string }[]) => problems.map(problem => problem.path);
    expect(result.ok).toBe(true);
    expect(paths(result.warnings)).toEqual(['api.port', 'storage.url']);
    expect(result.warnings[0]).toMatchObject({
      line: 2,
      column: 9,
      message: 'takes effect after a restart; until then it is 9000',
    });
    await holder.reload();
    expect(paths(holder.status().warnings)).toEqual(['api.port', 'storage.url']);
    expect(paths(holder.get().warnings)).toEqual(['api.port', 'storage.url']);
    write('api: { authTokenTTL: 60 }\n');
    await holder.reload();
    expect(holder.status().warnings).toEqual([]);
  });

  it('says that other quotas of workspaces wait for a restart', async () => {
    const hosted = (quotas: string) =>
      `hosted: { cloudDomain: example.com, authUrl: 'https://login.example.com', audience: [a], quotas: ${quotas} }\n`;
    const { holder, write } = hold(hosted('{}'));
    write(hosted('{ deliveriesPerMinute: 5 }'));
    const { warnings } = await holder.reload();
    expect(warnings.map(({ path }) => path)).toContain('hosted.quotas');
  });
});

describe('watching', () => {
  it('takes up a file that was written in place', async () => {
    const { holder, write } = hold(named('one'), systemClock);
    holder.watch();
    const next = nextName(holder);
    write(named('two'));
    expect(await next).toBe('two');
  });

  it('takes up files that editors put in place of the old one, again and again', async () => {
    const { holder, folder } = hold(named('start'), systemClock);
    holder.watch();
    for (const name of ['one', 'two', 'three']) {
      const next = nextName(holder);
      writeFileSync(join(folder, '.headgate.yml.swp'), named(name));
      renameSync(join(folder, '.headgate.yml.swp'), join(folder, 'headgate.yml'));
      expect(await next).toBe(name);
    }
  });

  it('takes up a mounted volume whose link to the present version is swapped', async () => {
    const folder = configFolder();
    const version = (number: number) => {
      mkdirSync(join(folder, `..v${number}`));
      writeFileSync(join(folder, `..v${number}`, 'headgate.yml'), named(`v${number}`));
      symlinkSync(`..v${number}`, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    version(1);
    symlinkSync('..data/headgate.yml', join(folder, 'headgate.yml'));
    const holder = createConfigurationHolder({
      thread: checkThread(testClock()),
      source: filesSource({ folder, environment: {}, flags: {}, clock: systemClock }),
      clock: systemClock,
      logger: silentLogger,
    });
    onTestFinished(holder.stop);
    holder.load();
    holder.watch();
    expect(nameOf(holder.get())).toBe('v1');
    for (const number of [2, 3]) {
      const next = nextName(holder);
      version(number);
      expect(await next).toBe(`v${number}`);
    }
  });

  it('keeps what is active when a file with errors comes and when the file goes', async () => {
    const { holder, folder, write } = hold(named('one'), systemClock);
    holder.watch();
    rmSync(join(folder, 'headgate.yml'));
    await until(() => holder.status().state === 'error', 'the loss');
    expect(holder.status().errors[0]?.message).toContain('is gone');
    write(BAD);
    await until(() => !holder.status().errors[0]?.message.includes('is gone'), 'the bad file');
    expect(nameOf(holder.get())).toBe('one');
    const mended = nextName(holder);
    write(named('two'));
    expect(await mended).toBe('two');
  });

  it('looks at once when the system reports a change', async () => {
    const delays: number[] = [];
    const clock: Clock = {
      ...testClock(),
      after: ms => {
        delays.push(ms);
        return () => {};
      },
    };
    const { holder, write } = hold(named('one'), clock);
    holder.watch();
    expect(delays).toEqual([3000]);
    write(named('two'));
    await until(() => delays.length > 1, 'a look');
    expect(delays).toEqual([3000, 200]);
  });

  it('finds within seconds what the system does not report, once the file has settled', async () => {
    const clock = testClock();
    const elsewhere = configFolder({ real: named('one') });
    const { holder, folder } = hold(named('unused'), clock);
    rmSync(join(folder, 'headgate.yml'));
    symlinkSync(join(elsewhere, 'real'), join(folder, 'headgate.yml'));
    await holder.reload();
    holder.watch();
    writeFileSync(join(elsewhere, 'real'), named('half'));
    await clock.advance(3000);
    writeFileSync(join(elsewhere, 'real'), named('whole'));
    await clock.advance(200);
    expect(nameOf(holder.get())).toBe('one');
    await clock.advance(200);
    expect(nameOf(holder.get())).toBe('whole');
  });

  it('sees a change of a file that a secret comes from', async () => {
    const clock = testClock();
    const secrets = configFolder({ token: 'first token' });
    const token = `\${file:${join(secrets, 'token')}}`;
    const { holder } = hold(`pipelines: [{ id: a, engine: rsyslog, push: true, token: '${token}' }]`, clock);
    const revealed = () => holder.get().settings.pipelines[0]?.token?.reveal();
    holder.watch();
    expect(revealed()).toBe('first token');
    writeFileSync(join(secrets, 'token'), 'the second token');
    await clock.advance(3200);
    await until(() => revealed() === 'the second token', 'the second token');
  });

  it('loads nothing while nothing changes, and nothing after it was stopped', async () => {
    const clock = testClock();
    const { holder, write, log } = hold(named('one'), clock);
    const loads = () => log.filter(line => line.startsWith('info configuration loaded')).length;
    holder.watch();
    await clock.advance(60_000);
    expect(loads()).toBe(1);
    await holder.stop();
    write(named('two'));
    await clock.advance(60_000);
    expect(loads()).toBe(1);
  });
});
