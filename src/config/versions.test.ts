import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { checkThread } from '../../test/helpers/held-configuration.ts';
import { openTestStorage } from '../../test/helpers/storage.ts';
import { monotonicIds } from '../lib/ids.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import { createConfigurationHolder } from './holder.ts';
import { filesSource } from './source/files.ts';
import { createVersionRecorder } from './versions.ts';

const NAMED = (name: string): string => `instance: { name: ${name} }\n`;

async function hold() {
  const test = await openTestStorage();
  onTestFinished(test.close);
  const folder = configFolder({ 'headgate.yml': NAMED('one') });
  const clock = testClock();
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  let isBroken = false;
  const storage: Pick<Storage, 'transaction'> = {
    transaction: work => (isBroken ? Promise.reject(new Error('disk full')) : test.storage.transaction(work)),
  };
  const versions = createVersionRecorder({
    storage,
    workspace: 'w',
    ids: monotonicIds(clock),
    clock,
    logger,
  });
  const start = () => {
    const holder = createConfigurationHolder({
      thread: checkThread(clock),
      source: filesSource({ folder, environment: {}, flags: {}, clock }),
      clock,
      logger: silentLogger,
      versions,
    });
    onTestFinished(holder.stop);
    holder.load();
    return holder;
  };
  return {
    start,
    warnings,
    write: (text: string) => writeFileSync(join(folder, 'headgate.yml'), text),
    become: (state: 'broken' | 'mended') => {
      isBroken = state === 'broken';
    },
    async rows() {
      const store = test.storage.in('w').versions;
      const { rows } = await store.list({ offset: 0, limit: 100 });
      const files = await Promise.all(rows.map(async ({ id }) => (await store.get(id))?.files ?? ''));
      return rows.map(
        (row, index) => `${row.source} ${row.author}: ${/name: (\w+)/.exec(files[index] ?? '')?.[1]}`,
      );
    },
  };
}

const name = (value: string) =>
  ({
    author: 'alice',
    source: 'api',
    edits: [{ section: 'settings', id: '', value: { instance: { name: value } } }],
  }) as const;

describe('versions', () => {
  it('are written at the first start, for every change and for every file that a person changed', async () => {
    const { start, write, rows } = await hold();
    const holder = start();
    await holder.save(name('two'));
    write(NAMED('three'));
    await holder.reload();
    expect(await rows()).toEqual(['file file: three', 'api alice: two', 'file file: one']);
  });

  it('are written of what took effect only, and once', async () => {
    const { start, write, rows } = await hold();
    const holder = start();
    await holder.reload();
    write('instance: { nam: x }\n');
    await holder.reload();
    write(NAMED('one'));
    await holder.reload();
    await start().reload();
    expect(await rows()).toEqual(['file file: one']);
  });

  it('of a change beside one by hand name the author of each', async () => {
    const { start, write, rows } = await hold();
    const holder = start();
    write(`${NAMED('hand')}api: { authTokenTTL: 60 }\n`);
    await holder.save(name('two'));
    expect(await rows()).toEqual(['api alice: two', 'file file: hand', 'file file: one']);
  });

  it('that cannot be written are written at the next chance, and warned of once', async () => {
    const { start, rows, become, warnings } = await hold();
    const holder = start();
    become('broken');
    await holder.save(name('two'));
    await holder.save(name('three'));
    expect(holder.get().settings.instance.name).toBe('three');
    expect(warnings).toHaveLength(1);
    become('mended');
    await holder.reload();
    expect(await rows()).toEqual(['api alice: three', 'api alice: two', 'file file: one']);
  });

  it('that were never written are found by the next start', async () => {
    const { start, rows, become } = await hold();
    await start().reload();
    become('broken');
    await start().save(name('two'));
    become('mended');
    await start().reload();
    expect((await rows())[0]).toMatch(/: two$/);
  });
});
