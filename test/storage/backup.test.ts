import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { VOLATILE_TABLES } from '../../src/storage/backup/format.ts';
import { restoreBackup } from '../../src/storage/backup/restore.ts';
import { writeBackup } from '../../src/storage/backup/write.ts';
import { MIGRATIONS } from '../../src/storage/migrations/index.ts';
import { MIGRATION_TABLES } from '../../src/storage/migrations/migrate.ts';
import { openStorage, type StorageOptions } from '../../src/storage/open.ts';
import { openView } from '../../src/storage/open-view.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { testClock } from '../helpers/clock.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import {
  attemptRow,
  componentRow,
  deliveryOf,
  incidentRow,
  ingestTokenRow,
  keyRow,
  messageRow,
  secretRow,
  settle,
  transition,
  userRow,
  versionRow,
} from './rows.ts';

const clock = testClock();
const ALL = { offset: 0, limit: 500 };
const CHAIN = [...Object.keys(MIGRATIONS)];

let folder: string;
let to: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-backup-'));
  to = join(folder, 'backup.gz');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

let installations = 0;

/** A place for an installation of its own, empty at first. */
async function place(
  dialect: 'SQLite' | 'PostgreSQL',
): Promise<StorageOptions & { readonly keyRing: string }> {
  const dataFolder = join(folder, `data${installations++}`);
  const common = { dataFolder, clock, logger: silentLogger, keyRing: join(dataFolder, 'keys') };
  if (dialect === 'SQLite') return { ...common, url: 'sqlite:headgate.db' };
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  return { ...common, url };
}

async function using<Result>(
  options: StorageOptions,
  work: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  const storage = await openStorage(options);
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}

/** Something in every table, with texts that are hard to carry. */
async function fill(storage: Storage): Promise<void> {
  const text = 'naïve "quotes" \\ \n\t \u2028 🚚';
  await storage.transaction(async tx => {
    await tx.addUser(userRow('admin'));
    await tx.addKey(keyRow('one', 1));
    await tx.setInstanceValue('name', text);
    await tx.in('default').putSecret(secretRow('hook'));
    await tx.in('default').addIngestToken(ingestTokenRow('edge', { description: text, expires_at: 5 }));
    await tx.in('default').addMessage(messageRow('noon', { text }));
    await tx.in('default').addComponents([componentRow('a'), componentRow('b', { kind: 'output' })]);
    await tx
      .in('default')
      .addVersion(versionRow({ files: JSON.stringify({ 'a.yml': text.repeat(20_000) }) }));
    await tx.in('other').addVersion(versionRow());
    await tx.in('default').appendMinutes([{ id: 'm', hour: 3_600_000, data: '0,3,,5;' }]);
    await tx.in('default').putHours([{ id: 'h', start: 0, data: Uint8Array.from([0, 255, 10, 128]) }]);
  });
  for (let index = 0; index < 40; index++) {
    const operation = transition(incidentRow({ subject: `input${index}`, text }));
    await storage.commit(operation);
    const id = deliveryOf(operation);
    if (index % 2 === 0)
      await storage.commit(settle(id, { state: 'waiting', attempt: attemptRow(id, 1), settledAt: null }));
  }
}

/** Everything a reader of the storage sees. */
async function seen(storage: Storage) {
  const stores = storage.in('default');
  const deliveries = (await stores.deliveries.list({}, ALL)).rows;
  return {
    user: await storage.users.byName('admin'),
    keys: await storage.keys(),
    name: await storage.instanceValue('name'),
    secrets: await stores.secrets.list(),
    ingestTokens: await stores.ingestTokens.list(),
    components: await stores.components.byIdentities(['a', 'b']),
    messages: await stores.messages.list(ALL),
    minutes: await stores.minutes.byIds(['m']),
    toKeep: await stores.minutes.firstHourToKeep(7_200_000),
    hours: (await stores.hours.byIds(['h'])).map(row => ({ ...row, data: [...row.data] })),
    version: await stores.versions.last(),
    otherVersion: await storage.in('other').versions.last(),
    incidents: await stores.incidents.open(),
    deliveries,
    events: await stores.events.byIds(deliveries.map(row => row.event_id)),
    attempts: await Promise.all(deliveries.map(row => stores.deliveries.attempts(row.id))),
  };
}

const backup = (from: StorageOptions & { readonly keyRing: string }, file = to) =>
  writeBackup({ ...from, to: file, now: clock.now() });

describe.each([
  ['SQLite', 'SQLite'],
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
] as const)('a backup of %s restored into %s', (from, into) => {
  it('holds all there was, and the key ring', async () => {
    const source = await place(from);
    const before = await using(source, async storage => {
      await fill(storage);
      return seen(storage);
    });
    await openKeyRing({ path: source.keyRing, mayCreate: true });
    const { rows } = await backup(source);
    expect(rows).toMatchObject({ incidents: 40, deliveries: 40, attempts: 20, config_versions: 2, users: 1 });

    const target = await place(into);
    expect(await restoreBackup({ ...target, from: to })).toMatchObject({
      rows,
      migrated: [],
      hasKeyRing: true,
    });
    expect(await using(target, seen)).toEqual(before);
    expect(await readFile(target.keyRing)).toEqual(await readFile(source.keyRing));
    expect((await stat(target.keyRing)).mode & 0o777).toBe(0o600);
  });
});

describe.each(['SQLite', 'PostgreSQL'] as const)('on %s', dialect => {
  it('leaves out nothing but what says which processes run', async () => {
    const source = await place(dialect);
    await using(source, async () => {});
    const { rows } = await backup(source);
    const { db, close } = await openView(source);
    const tables = await db.introspection.getTables();
    await close();
    const accounted = [...Object.keys(rows), ...VOLATILE_TABLES, ...MIGRATION_TABLES];
    expect(accounted.sort()).toEqual(tables.map(table => table.name).sort());
  });

  it('takes one moment of a store that is written to, and holds up nobody', async () => {
    const source = await place(dialect);
    await using(source, async storage => {
      await fill(storage);
      let isDone = false;
      const done = backup(source).finally(() => {
        isDone = true;
      });
      let written = 0;
      while (!isDone) await storage.commit(transition(incidentRow({ subject: `later${written++}` })));
      const { rows } = await done;
      expect(written).toBeGreaterThan(0);
      expect(rows.events).toBe(rows.incidents);
      expect(rows.deliveries).toBe(rows.incidents);
    });
  });

  it('is restored into no store that holds something, which stays as it is', async () => {
    const source = await place(dialect);
    await using(source, fill);
    await backup(source);
    const target = await place(dialect);
    await using(target, storage => storage.transaction(tx => tx.addUser(userRow('somebody'))));
    await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('not empty (there are users)'),
    });
    expect(await using(target, storage => storage.users.count())).toBe(1);
  });

  it('leaves nothing of a restore that fails midway', async () => {
    const source = await place(dialect);
    await using(source, fill);
    await backup(source);
    await writeFile(
      to,
      rewritten(await readFile(to), line =>
        line.replace('"users","columns":["id"', '"users","columns":["no"'),
      ),
    );
    const target = await place(dialect);
    await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject({ code: 'internal' });
    expect(await using(target, storage => storage.in('default').incidents.open())).toEqual([]);
  });

  it('brings the backup of an older version up to this one', async () => {
    const source = await place(dialect);
    await using(source, fill);
    await backup(source);
    const next = '20990101000000-next';
    const target = await place(dialect);
    const { migrated } = await restoreBackup({
      ...target,
      from: to,
      migrations: {
        ...MIGRATIONS,
        [next]: { up: db => db.schema.alterTable('users').addColumn('mail', 'text').execute() },
      },
    });
    expect(migrated).toEqual([next]);
    const { db, close } = await openView(target);
    expect(
      await db.withTables<{ users: { mail: string | null } }>().selectFrom('users').select('mail').execute(),
    ).toEqual([{ mail: null }]);
    await close();
  });
});

/** The file with other lines and the checksum that belongs to them. */
function rewritten(file: Buffer, change: (line: string) => string): Buffer {
  const lines = gunzipSync(file).toString('utf8').trimEnd().split('\n');
  const kept = lines.slice(0, -1).map(change);
  const { rows } = JSON.parse(lines.at(-1) ?? '');
  const text = kept.map(line => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return gzipSync(`${text}${JSON.stringify({ rows, sha256 })}\n`);
}

describe('the file', () => {
  async function written(): Promise<Buffer> {
    const source = await place('SQLite');
    await using(source, fill);
    await openKeyRing({ path: source.keyRing, mayCreate: true });
    await backup(source);
    return readFile(to);
  }

  it('can be read by its owner alone, and leaves nothing beside it', async () => {
    await written();
    expect((await stat(to)).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter(name => name.includes('backup'))).toEqual(['backup.gz']);
  });

  it('takes the place of nothing', async () => {
    const before = await written();
    const source = await place('SQLite');
    await using(source, async () => {});
    await expect(backup(source)).rejects.toMatchObject({ code: 'conflict' });
    expect(await readFile(to)).toEqual(before);
  });

  it('is refused before anything is written when it was cut off or changed anywhere', async () => {
    const file = await written();
    const target = await place('SQLite');
    const inside = fc.integer({ min: 0, max: file.length - 1 });
    // Of the header of gzip these bytes say when and where it was made, and nothing of what it holds.
    const told = inside.filter(at => at < 4 || at > 9);
    const damaged = fc.oneof(
      inside.map(at => file.subarray(0, at)),
      told.map(at =>
        Buffer.concat([file.subarray(0, at), Buffer.of((file[at] ?? 0) ^ 0x55), file.subarray(at + 1)]),
      ),
    );
    await fc.assert(
      fc.asyncProperty(damaged, async bytes => {
        await writeFile(to, bytes);
        await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject({
          code: 'invalid-request',
        });
        await expect(stat(target.dataFolder)).rejects.toThrow('ENOENT');
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['its checksum is another one', (lines: string[]) => lines.map(line => line.replace('admin', 'adnim'))],
    ['its end is missing', (lines: string[]) => lines.slice(0, -1)],
    ['something follows its end', (lines: string[]) => [...lines, '["x"]']],
    ['it does not begin like one', (lines: string[]) => lines.slice(1)],
  ])('is refused when %s', async (why, change) => {
    const lines = gunzipSync(await written())
      .toString('utf8')
      .trimEnd()
      .split('\n');
    await writeFile(
      to,
      gzipSync(
        change(lines)
          .map(line => `${line}\n`)
          .join(''),
      ),
    );
    await expect(restoreBackup({ ...(await place('SQLite')), from: to })).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining(why),
    });
  });

  it('is refused when a newer version wrote it', async () => {
    const file = await written();
    const target = await place('SQLite');
    await writeFile(
      to,
      rewritten(file, line => line.replace(CHAIN.at(-1) ?? '', '20990101000000-next')),
    );
    const newer = { code: 'conflict', message: expect.stringContaining('newer') };
    await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject(newer);
    await writeFile(
      to,
      rewritten(file, line => line.replace('"format":1', '"format":2')),
    );
    await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject(newer);
  });

  it('is refused when a version before 0.2 wrote it', async () => {
    const file = await written();
    const target = await place('SQLite');
    await writeFile(
      to,
      rewritten(file, line => line.replace('0.2-initial', '20260101000000-first-tables')),
    );
    await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject({
      code: 'conflict',
      message: `'${to}' was made before 0.2; export the configuration, start empty`,
    });
    await expect(stat(target.dataFolder)).rejects.toThrow('ENOENT');
  });

  it('is not restored beside another key ring', async () => {
    await written();
    const target = await place('SQLite');
    await using(target, async () => {});
    await openKeyRing({ path: target.keyRing, mayCreate: true });
    const own = await readFile(target.keyRing);
    await expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('another one'),
    });
    expect(await readFile(target.keyRing)).toEqual(own);
    expect(await using(target, storage => storage.users.count())).toBe(0);
  });

  it('is not restored while a server holds the store', async () => {
    await written();
    const target = await place('SQLite');
    await using(target, () =>
      expect(restoreBackup({ ...target, from: to })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('already in use'),
      }),
    );
  });
});
