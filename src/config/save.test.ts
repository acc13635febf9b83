import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mountSmallDisk } from '../../test/acceptance/small-disk.ts';
import { testClock } from '../../test/helpers/clock.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import type { Change, Edit } from './change.ts';
import { type ConfigurationHolder, type ConfigurationOptions, createConfiguration } from './current.ts';
import type { SecretKeeper } from './write-texts.ts';

const FILE = `# who is told
targets:
  - id: hook
    type: webhook
    url: http://h.example/  # theirs
notifications: []
`;

const HOOK = { id: 'hook', type: 'webhook', url: 'http://h.example/' };

const change = (...edits: readonly Edit[]): Change => ({ author: 'alice', door: 'api', edits });
const target = (value: { readonly id: string; readonly [key: string]: unknown }): Edit => ({
  section: 'targets',
  id: value.id,
  value,
});
const description = (text: string): Change => change(target({ ...HOOK, description: text }));

interface Held {
  readonly holder: ConfigurationHolder;
  readonly folder: string;
  read(name?: string): string;
  write(text: string, name?: string): void;
}

function hold(
  files: Readonly<Record<string, string>> = { 'notifications.yml': FILE },
  extra: Partial<ConfigurationOptions> = {},
): Held {
  const folder = configFolder(files);
  return { ...inFolder(folder, extra), folder };
}

function inFolder(folder: string, extra: Partial<ConfigurationOptions> = {}): Omit<Held, 'folder'> {
  const holder = createConfiguration({
    folder,
    environment: {},
    flags: {},
    clock: testClock(),
    logger: silentLogger,
    ...extra,
  });
  onTestFinished(holder.stop);
  holder.load();
  return {
    holder,
    read: (name = 'notifications.yml') => readFileSync(join(folder, name), 'utf8'),
    write: (text, name = 'notifications.yml') => writeFileSync(join(folder, name), text),
  };
}

async function refusalOf(saving: Promise<unknown>): Promise<AppError> {
  const error = await saving.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw new Error(`expected a refusal, got ${String(error)}`);
}

describe('a saved change', () => {
  it('is in the file and in force before the call resolves, and nothing else changes', async () => {
    const { holder, read } = hold();
    const told: number[] = [];
    holder.subscribe(({ targets }) => told.push(targets.length));
    const saved = await holder.save(change(target({ id: 'bell', type: 'bulletin_message' })));
    expect(saved.targets.map(({ settings }) => settings.id)).toEqual(['hook', 'bell']);
    expect(holder.get()).toBe(saved);
    expect(told).toEqual([2]);
    expect(read()).toBe(FILE.replace('# theirs\n', '# theirs\n  - id: bell\n    type: bulletin_message\n'));
  });

  it('may touch several sections and files at once, which are made when missing', async () => {
    const { holder, read, folder } = hold();
    await holder.save(
      change(
        target({ id: 'bell', type: 'bulletin_message' }),
        {
          section: 'notifications',
          id: 'n',
          value: { id: 'n', condition: 'no-data', targets: ['bell'], conf: { name: 'a:b' } },
        },
        { section: 'inputs', id: 'app', value: { id: 'app', type: 'syslog', port: 514 } },
        { section: 'settings', id: '', value: { instance: { name: 'one' } } },
      ),
    );
    expect(read('inputs.yml')).toBe('inputs:\n  - id: app\n    type: syslog\n    port: 514\n');
    expect(read('headgate.yml')).toBe('instance:\n  name: one\n');
    expect(holder.get()).toMatchObject({
      settings: { instance: { name: 'one' } },
      inputs: [{ id: 'app' }],
      notifications: [{ id: 'n' }],
    });
    expect(readdirSync(folder).sort()).toEqual(['headgate.yml', 'inputs.yml', 'notifications.yml']);
  });

  it('writes nothing when nothing differs', async () => {
    const { holder, folder } = hold();
    const before = statSync(join(folder, 'notifications.yml')).ino;
    expect(await holder.save(change(target(HOOK)))).toBe(holder.get());
    expect(statSync(join(folder, 'notifications.yml')).ino).toBe(before);
  });

  it('is not loaded once more by the watcher, while a change of a person still is', async () => {
    const clock = testClock();
    const { holder, write } = hold(undefined, { clock });
    const told: (string | undefined)[] = [];
    holder.subscribe(({ targets }) => told.push(targets[0]?.settings.description));
    holder.watch();
    await holder.save(description('by program'));
    await clock.advance(10_000);
    expect(told).toEqual(['by program']);
    write(FILE.replace('# theirs', '\n    description: by hand'));
    await clock.advance(10_000);
    expect(told).toEqual(['by program', 'by hand']);
  });

  it('is refused with paths within the item, and nothing is written', async () => {
    const { holder, read } = hold();
    const before = holder.get();
    const refusal = await refusalOf(
      holder.save(change(target({ id: 'new', type: 'webhook', url: 'nowhere', metod: 'GET' }))),
    );
    expect(refusal).toMatchObject({
      code: 'invalid-request',
      problems: [
        { path: 'url', message: expect.stringContaining('http://') },
        { path: 'metod', message: expect.stringContaining("did you mean 'method'?") },
      ],
    });
    expect(refusal.message).toMatch(/^url: /);
    expect(read()).toBe(FILE);
    expect(holder.get()).toBe(before);
    expect(holder.status().state).toBe('ok');
  });

  it('is refused where it breaks something else, by that place', async () => {
    const { holder } = hold({
      'notifications.yml': `${FILE.replace(' []', '')}  - { id: n, condition: no-data, targets: [hook], conf: { name: 'a:b' } }\n`,
    });
    const refusal = await refusalOf(
      holder.save(change({ section: 'targets', id: 'hook', value: undefined })),
    );
    expect(refusal).toMatchObject({
      code: 'invalid-request',
      problems: [
        { path: 'notifications[0].targets[0]', message: expect.stringContaining("'hook' does not exist") },
      ],
    });
  });

  it('is refused where it sends to an address that is not allowed, which in a file only warns', async () => {
    const { holder } = hold({ 'headgate.yml': 'delivery: { privateAddresses: refuse }\n' });
    const refusal = await refusalOf(
      holder.save(change(target({ id: 'new', type: 'webhook', url: 'http://127.0.0.1/' }))),
    );
    expect(refusal).toMatchObject({ code: 'invalid-request', problems: [{ path: 'url' }] });
  });
});

describe('many at once', () => {
  it('change one object one after the other, each upon what the other left', async () => {
    const { holder, read } = hold();
    const writers = Array.from({ length: 20 }, (_, index) =>
      holder.save({
        author: `client ${index}`,
        door: 'api',
        edits: now => {
          const hook = now.raw.targets.get('hook');
          return [target({ id: 'hook', ...hook, description: `${hook?.description ?? ''}${index} ` })];
        },
      }),
    );
    await Promise.all(writers);
    const all = Array.from({ length: 20 }, (_, index) => `${index} `).join('');
    expect(holder.get().raw.targets.get('hook')).toMatchObject({ description: all });
    expect(read()).toContain('# theirs');
  });

  it('let one win where only one can, and tell the others', async () => {
    const { holder } = hold();
    const create = (): Promise<unknown> =>
      holder.save({
        author: 'a',
        door: 'api',
        edits: now => {
          if (now.raw.targets.has('new')) throw new AppError('conflict', 'is there already');
          return [target({ id: 'new', type: 'bulletin_message' })];
        },
      });
    const results = await Promise.allSettled(Array.from({ length: 20 }, create));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(holder.get().targets).toHaveLength(2);
  });
});

describe('a change beside one by hand', () => {
  it('is made upon it though it was not loaded yet', async () => {
    const { holder, write, read } = hold();
    write(FILE.replace('# theirs', '# theirs, as agreed\n    description: by hand'));
    await holder.save({
      author: 'a',
      door: 'api',
      edits: now => [target({ ...HOOK, ...now.raw.targets.get('hook'), format: 'ndjson' })],
    });
    expect(read()).toContain('# theirs, as agreed\n    description: by hand\n    format: ndjson\n');
  });

  it('is refused while the file is broken, with its errors, and made once it is mended', async () => {
    const { holder, write, read } = hold();
    write(`${FILE}  oops: [\n`);
    const refusal = await refusalOf(holder.save(description('x')));
    expect(refusal).toMatchObject({
      code: 'configuration-broken',
      problems: [{ message: expect.stringMatching(/^notifications\.yml:\d+:\d+: YAML/) }],
    });
    expect(read()).toContain('oops');
    expect(holder.status().state).toBe('error');
    write(FILE);
    await holder.save(description('mended'));
    expect(read()).toContain('description: mended');
    expect(holder.status().state).toBe('ok');
  });

  it('is refused as broken when what a file refers to has gone since', async () => {
    const folder = configFolder({ token: 'abc' });
    const { holder } = hold({
      'notifications.yml': FILE.replace(
        '# theirs',
        `\n    authType: token\n    token: \${file:${folder}/token}`,
      ),
    });
    expect(holder.status().state).toBe('ok');
    rmSync(join(folder, 'token'));
    const edits: Edit[] = [target({ id: 'bell', type: 'bulletin_message' })];
    expect(await refusalOf(holder.save(change(...edits)))).toMatchObject({ code: 'configuration-broken' });
  });
});

describe('the file system', () => {
  it('keeps the mode of a file', async () => {
    const { holder, folder } = hold();
    const file = join(folder, 'notifications.yml');
    chmodSync(file, 0o640);
    await holder.save(description('x'));
    expect(statSync(file).mode & 0o7777).toBe(0o640);
  });

  it('keeps a link to a file and to its folder, and writes where they lead', async () => {
    const real = configFolder({ 'real.yml': FILE });
    const folder = configFolder();
    symlinkSync(join(real, 'real.yml'), join(folder, 'notifications.yml'));
    const outer = join(configFolder(), 'linked');
    symlinkSync(folder, outer);
    const { holder } = inFolder(outer);
    await holder.save(description('through links'));
    expect(readFileSync(join(real, 'real.yml'), 'utf8')).toContain('through links');
    expect(readlinkSync(join(folder, 'notifications.yml'))).toBe(join(real, 'real.yml'));
    expect(readdirSync(real)).toEqual(['real.yml']);
  });

  it('makes the file that a link leads to', async () => {
    const folder = configFolder();
    symlinkSync('elsewhere.yml', join(folder, 'inputs.yml'));
    const { holder } = inFolder(folder);
    await holder.save(change({ section: 'inputs', id: 'a', value: { id: 'a', type: 'b' } }));
    expect(readFileSync(join(folder, 'elsewhere.yml'), 'utf8')).toContain('id: a');
  });

  it('may be full: the change is refused, the old file stays whole, and there is no litter', async () => {
    const folder = configFolder();
    const disk = mountSmallDisk(folder, '1m');
    writeFileSync(join(folder, 'notifications.yml'), FILE);
    const { holder, read } = inFolder(folder);
    const before = holder.get();
    disk.fill();
    const refusal = await refusalOf(holder.save(description('x'.repeat(4000))));
    expect(refusal).toMatchObject({ code: 'unavailable', message: expect.stringContaining('is full') });
    expect(read()).toBe(FILE);
    expect(holder.get()).toBe(before);
    expect(readdirSync(folder).sort()).toEqual(['filler', 'notifications.yml']);
    disk.free();
    await holder.save(description('space again'));
    expect(read()).toContain('space again');
  });

  it('may be read-only, which a change is told', async () => {
    const folder = configFolder();
    const disk = mountSmallDisk(folder, '1m');
    writeFileSync(join(folder, 'notifications.yml'), FILE);
    const { holder } = inFolder(folder);
    disk.protect();
    expect(await refusalOf(holder.save(description('x')))).toMatchObject({
      code: 'configuration-read-only',
      message: expect.stringContaining('notifications.yml'),
    });
  });

  it('has the old file whole when the process is killed before the new one is in its place', async () => {
    const { folder } = hold();
    const file = join(folder, 'notifications.yml');
    const script = `
      import { stageText } from ${JSON.stringify(new URL('./stage.ts', import.meta.url).href)};
      await stageText(${JSON.stringify(file)}, 'targets: []\\n');
      process.kill(process.pid, 'SIGKILL');
    `;
    const child = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
    expect(child.signal).toBe('SIGKILL');
    expect(readdirSync(folder)).toHaveLength(2);
    const { holder, read } = inFolder(folder);
    await holder.reload();
    expect(read()).toBe(FILE);
    expect(readdirSync(folder)).toEqual(['notifications.yml']);
  });

  it('holds nothing for long that a killed process left', async () => {
    const { folder } = hold();
    const left = join(folder, '.notifications.yml.0123456789ab.tmp');
    writeFileSync(left, 'half a fi');
    writeFileSync(join(folder, '.notifications.yml.swp'), "an editor's");
    const { holder } = inFolder(folder);
    await holder.reload();
    expect(existsSync(left)).toBe(false);
    expect(existsSync(join(folder, '.notifications.yml.swp'))).toBe(true);
  });
});

describe('secrets that come with a change', () => {
  function keeper(): { readonly kept: Map<string, string>; readonly secrets: SecretKeeper } {
    const kept = new Map<string, string>();
    const facts = { createdAt: 0, updatedAt: 0, updatedBy: '' };
    return {
      kept,
      secrets: {
        get: name => kept.get(name),
        async put(name, value) {
          kept.set(name, value);
          return { name, ...facts };
        },
        async remove(name) {
          kept.delete(name);
          return { name, ...facts };
        },
      },
    };
  }

  const withToken = (token: string): Edit => ({
    ...target({ ...HOOK, authType: 'token', token: '${secret:t}' }),
    secrets: [{ name: 't', value: token }],
  });

  it('are stored, and the file refers to them', async () => {
    const { kept, secrets } = keeper();
    const { holder, read } = hold(undefined, { secrets, secretOf: secrets.get });
    await holder.save(change(withToken('hunter2')));
    expect(kept.get('t')).toBe('hunter2');
    expect(read()).toContain('token: ${secret:t}');
    expect(read()).not.toContain('hunter2');
    const revealed = () => Reflect.get(holder.get().targets[0]?.settings ?? {}, 'token').reveal();
    expect(revealed()).toBe('hunter2');
    // The file stays as it is; only the store changes.
    await holder.save(change(withToken('hunter3')));
    expect(revealed()).toBe('hunter3');
  });

  it('are as they were when the file cannot be written', async () => {
    const { kept, secrets } = keeper();
    const folder = configFolder();
    const disk = mountSmallDisk(folder, '1m');
    writeFileSync(join(folder, 'notifications.yml'), FILE);
    const { holder } = inFolder(folder, { secrets, secretOf: secrets.get });
    disk.protect();
    expect(await refusalOf(holder.save(change(withToken('hunter2'))))).toBeInstanceOf(AppError);
    expect(kept.size).toBe(0);
  });

  it('are put back when a later file cannot take its place', async () => {
    const { kept, secrets } = keeper();
    const { holder, read, folder } = hold(undefined, { secrets, secretOf: secrets.get });
    await holder.save(change(withToken('old')));
    const before = read();
    const put: SecretKeeper['put'] = async (...args) => {
      // While secrets are stored somebody puts a folder in the place of a file.
      mkdirSync(join(folder, 'inputs.yml'), { recursive: true });
      return secrets.put(...args);
    };
    const other = inFolder(folder, { secrets: { ...secrets, put }, secretOf: secrets.get });
    const input: Edit = { section: 'inputs', id: 'a', value: { id: 'a', type: 'b' } };
    const edits = [withToken('new'), target({ id: 'bell', type: 'bulletin_message' }), input];
    expect(await refusalOf(other.holder.save(change(...edits)))).toBeInstanceOf(AppError);
    expect(kept.get('t')).toBe('old');
    expect(read()).toBe(before);
  });

  it('load the configuration again when they change by themselves, and once', async () => {
    const { kept, secrets } = keeper();
    const { holder } = hold(undefined, { secrets, secretOf: secrets.get });
    await holder.save(change(withToken('one')));
    let told = 0;
    holder.subscribe(() => {
      told += 1;
    });
    kept.set('t', 'two');
    await Promise.all([holder.secretsChanged('t'), holder.secretsChanged('t')]);
    expect(told).toBe(1);
    expect(Reflect.get(holder.get().targets[0]?.settings ?? {}, 'token').reveal()).toBe('two');
  });

  it('are refused where there is no store', async () => {
    const { holder, read } = hold(undefined, { clock: systemClock });
    expect(await refusalOf(holder.save(change(withToken('x'))))).toMatchObject({ code: 'unavailable' });
    expect(read()).toBe(FILE);
  });
});
