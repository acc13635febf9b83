import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mountSmallDisk } from '../../../test/acceptance/small-disk.ts';
import { configFolder } from '../../../test/helpers/config-folder.ts';
import {
  change,
  description,
  FILE,
  HOOK,
  hold,
  inFolder,
  refusalOf,
  target,
} from '../../../test/helpers/held-configuration.ts';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { ConfigEdit } from '../change.ts';
import type { WritableSecrets } from '../secrets/store.ts';

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

  it('may be read-only, which a change is refused with', async () => {
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
      import { stageText } from ${JSON.stringify(new URL('./files.ts', import.meta.url).href)};
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
  function keeper(): { readonly kept: Map<string, string>; readonly secrets: WritableSecrets } {
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

  const withToken = (token: string): ConfigEdit => ({
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
    const put: WritableSecrets['put'] = async (...args) => {
      // While secrets are stored somebody puts a folder in the place of a file.
      mkdirSync(join(folder, 'inputs.yml'), { recursive: true });
      return secrets.put(...args);
    };
    const other = inFolder(folder, { secrets: { ...secrets, put }, secretOf: secrets.get });
    const input: ConfigEdit = { section: 'inputs', id: 'a', value: { id: 'a', type: 'b' } };
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
