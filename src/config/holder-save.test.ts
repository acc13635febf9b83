import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import {
  change,
  description,
  FILE,
  HOOK,
  hold,
  refusalOf,
  target,
} from '../../test/helpers/held-configuration.ts';
import { AppError } from '../lib/errors.ts';
import type { ConfigEdit } from './change.ts';

describe('a saved change', () => {
  it('is in the file and active before the call resolves, and nothing else changes', async () => {
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
        source: 'api',
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

  it('let one win where only one can, and refuse the others', async () => {
    const { holder } = hold();
    const create = (): Promise<unknown> =>
      holder.save({
        author: 'a',
        source: 'api',
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
      source: 'api',
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
    const edits: ConfigEdit[] = [target({ id: 'bell', type: 'bulletin_message' })];
    expect(await refusalOf(holder.save(change(...edits)))).toMatchObject({ code: 'configuration-broken' });
  });

  it('is refused as broken when that goes while the change is made', async () => {
    const folder = configFolder({ token: 'abc' });
    const { holder } = hold({
      'notifications.yml': FILE.replace(
        '# theirs',
        `\n    authType: token\n    token: \${file:${folder}/token}`,
      ),
    });
    const edits = (): ConfigEdit[] => {
      rmSync(join(folder, 'token'));
      return [target({ id: 'bell', type: 'bulletin_message' })];
    };
    expect(await refusalOf(holder.save({ ...change(), edits }))).toMatchObject({
      code: 'configuration-broken',
    });
    expect(holder.status().state).toBe('error');
  });
});
