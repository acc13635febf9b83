import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MIGRATIONS } from '../../src/storage/migrations/index.ts';
import { migrate } from '../../src/storage/migrations/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { commitUntilRefused } from './fill.ts';
import { incidentRow, transition } from './rows.ts';

const CHILD = new URL('./child.ts', import.meta.url).pathname;

let folder: string;
const undo: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-sqlite-'));
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  await rm(folder, { recursive: true, force: true });
});

async function open(dataFolder = folder, url = 'sqlite:headgate.db'): Promise<Storage> {
  const storage = await openStorage({ url, dataFolder, logger: silentLogger, clock: systemClock });
  undo.push(() => storage.close());
  return storage;
}

/** Starts another process on the folder; `limit` is the largest file it may write, in KB. */
function startChild(task: 'hold' | 'fill', limit = 'unlimited'): ChildProcess {
  // The signal that goes with the limit would end the process; ignored, the write fails instead.
  const script = `ulimit -f ${limit}; trap '' XFSZ; exec "$0" "$@"`;
  const child = spawn('bash', ['-c', script, process.execPath, '--import', 'tsx', CHILD, task, folder], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  undo.push(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  return child;
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const [message] = await once(child, 'message');
  return message;
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('opening', () => {
  it('creates folder, database and lock for their owner alone', async () => {
    const dataFolder = join(folder, 'deep', 'data');
    const storage = await open(dataFolder);
    await storage.transaction(tx => tx.setInstanceValue('some', 'thing'));
    expect(await modeOf(dataFolder)).toBe(0o700);
    for (const file of ['headgate.db', 'headgate.db-wal', 'lock']) {
      expect(await modeOf(join(dataFolder, file)), file).toBe(0o600);
    }
  });

  it.each([
    'mysql://admin:hunter2@db/headgate',
    'sqlite:../other.db',
    'sqlite:/var/headgate.db',
    'sqlite:lock',
    'sqlite:',
    'headgate.db',
  ])('refuses %s, saying what is allowed and showing no password', async url => {
    const opening = open(folder, url);
    await expect(opening).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(opening).rejects.toThrow(/sqlite:<name>\.db/);
    await expect(opening).rejects.not.toThrow(/hunter2/);
  });

  it('writes with synchronous=FULL in WAL mode on its real connection', async () => {
    const backend = await openSqlite(join(folder, 'headgate.db'), silentLogger);
    undo.push(() => backend.close());
    expect((await sql`pragma synchronous`.execute(backend.writer)).rows).toEqual([{ synchronous: 2 }]);
    expect((await sql`pragma journal_mode`.execute(backend.writer)).rows).toEqual([{ journal_mode: 'wal' }]);
  });

  it('gives back what a long read has let the log grow to, but for 16 MB', async () => {
    const storage = await open(folder);
    await storage.transaction(tx => tx.setInstanceValue('some', 'thing'));
    const size = async (): Promise<number> => (await stat(join(folder, 'headgate.db-wal'))).size;
    const reader = new Sqlite(join(folder, 'headgate.db'), { readonly: true });
    reader.exec('begin; select count(*) from instance');
    for (let count = 0; (await size()) < 24 * 1024 * 1024; count++)
      await storage.transaction(tx => tx.setInstanceValue('some', String(count).repeat(1_000_000)));
    reader.close();
    for (const value of ['copies the log into the database', 'begins the log anew'])
      await storage.transaction(tx => tx.setInstanceValue('some', value));
    expect(await size()).toBe(16 * 1024 * 1024);
  });

  it('reads on a connection that cannot write', async () => {
    const backend = await openSqlite(join(folder, 'headgate.db'), silentLogger);
    undo.push(() => backend.close());
    await migrate(backend.writer, MIGRATIONS);
    await backend.openReader();
    const write = backend.reader.insertInto('instance').values({ name: 'a', value: 'b' }).execute();
    await expect(write).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('refuses a database of a newer version and leaves it as it is', async () => {
    const storage = await open();
    await storage.close();
    const file = new Sqlite(join(folder, 'headgate.db'));
    file
      .prepare('insert into migrations (name, timestamp) values (?, ?)')
      .run('29990101000000-later', 'later');
    file.close();

    const opening = open();
    await expect(opening).rejects.toMatchObject({ code: 'conflict' });
    await expect(opening).rejects.toThrow(/newer version.*29990101000000-later/);
    await expect(open(), 'the lock is free again').rejects.toThrow(/newer version/);
  });

  it('refuses a database made before 0.2 and leaves it as it is', async () => {
    await (await open()).close();
    const file = new Sqlite(join(folder, 'headgate.db'));
    undo.push(async () => void file.close());
    file.prepare('update migrations set name = ?').run('20260101000000-first-tables');
    await expect(open()).rejects.toMatchObject({
      code: 'conflict',
      message: 'the database was made before 0.2; export the configuration, start empty',
    });
    expect(file.prepare('select name from migrations').all()).toEqual([
      { name: '20260101000000-first-tables' },
    ]);
  });

  it('refuses a file that is not a database, naming it', async () => {
    await writeFile(join(folder, 'headgate.db'), 'These are the notes of an afternoon. '.repeat(50));
    const opening = open();
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
    await expect(opening).rejects.toThrow(/headgate\.db' is damaged or not a SQLite database/);
  });

  it.each([
    ['below a regular file', async () => writeFile(join(folder, 'file'), ''), 'file/data'],
    ['where nothing can be made', async () => {}, '/proc/headgate'],
  ])('names a data directory %s and the remedy', async (_where, prepare, path) => {
    await prepare();
    const opening = open(resolve(folder, path));
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
    await expect(opening).rejects.toThrow(/cannot be created or written.*--data/);
  });

  it('names a database path that is a directory', async () => {
    await mkdir(join(folder, 'headgate.db'));
    await expect(open()).rejects.toThrow(/headgate\.db' cannot be created or written/);
  });
});

describe('the lock', () => {
  it('refuses a second opening in the same process until the first is closed', async () => {
    const first = await open();
    await expect(open()).rejects.toMatchObject({ code: 'conflict' });
    await expect(open(), 'a refused opening does not loosen the lock').rejects.toMatchObject({
      code: 'conflict',
    });
    await first.close();
    await open();
  });

  it('refuses the folder of another process, and is freed by kill -9 with everything written still there', async () => {
    const child = startChild('hold');
    expect(await messageOf(child)).toEqual({ held: true });
    const opening = open();
    await expect(opening).rejects.toMatchObject({ code: 'conflict' });
    await expect(opening).rejects.toThrow(`'${folder}' is already in use by another headgate process`);

    child.kill('SIGKILL');
    await once(child, 'exit');
    const storage = await open();
    expect(await storage.instanceValue('written-by')).toBe('child');
  });
});

describe('a disk that is full', () => {
  function mount(): boolean {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'ignore' });
    } catch {
      return false;
    }
    undo.push(async () => void execFileSync('umount', [folder]));
    return true;
  }

  it('refuses what does not fit, keeps what it accepted and takes more once there is space', async () => {
    expect(mount(), 'a file system of a given size can be mounted, as root').toBe(true);
    await writeFile(join(folder, 'filler'), Buffer.alloc(1000 * 1024));
    const storage = await open();
    const refused = await commitUntilRefused(storage);
    expect(refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 10 });
    expect(refused.message).toContain(`'${join(folder, 'headgate.db')}' is full`);
    const list = async () => (await storage.in('default').incidents.list({}, { offset: 0, limit: 1 })).total;
    expect(await list()).toBe(refused.accepted);

    // More than SQLite caches, so that it gives up, and rolls back, within the statement.
    const change = storage.transaction(async tx => {
      await tx.setInstanceValue('before', 'it');
      await tx.setInstanceValue('big', 'x'.repeat(24 * 2 ** 20)).catch(() => {});
      await tx.setInstanceValue('after', 'it');
    });
    await expect(change).rejects.toMatchObject({ code: 'unavailable' });
    expect(await storage.instanceValue('before')).toBeUndefined();
    expect(await storage.instanceValue('after')).toBeUndefined();

    await rm(join(folder, 'filler'));
    await storage.commit(transition(incidentRow({ subject: 'later' })));
    await storage.close();
    const again = await open();
    expect((await again.in('default').incidents.open()).length).toBe(refused.accepted + 1);
  });

  it('says so when a write fails for another reason of the disk', async () => {
    const refused = await messageOf(startChild('fill', '600'));
    expect(refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 10 });
    const storage = await open();
    const written = await storage.in('default').incidents.open();
    expect(refused).toHaveProperty('accepted', written.length);
    expect(written.length).toBeGreaterThan(0);
  });

  it('names the folder when there is no space for a database at all', async () => {
    expect(mount(), 'a file system of a given size can be mounted, as root').toBe(true);
    await writeFile(join(folder, 'filler'), Buffer.alloc(2 ** 21)).catch(() => {});
    await expect(open()).rejects.toMatchObject({ code: 'unavailable' });
  });
});
