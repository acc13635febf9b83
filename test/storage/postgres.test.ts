import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type Kysely, type Migration, sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { AppError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { migrate } from '../../src/storage/migrations/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { Database } from '../../src/storage/tables.ts';
import { createDatabaseOn } from '../helpers/postgres.ts';
import { until } from '../helpers/until.ts';
import { useOwnPostgres } from './own-postgres.ts';
import { incidentRow, secretRow, transition } from './rows.ts';

const own = useOwnPostgres('postgres-data');
const { open, undo } = own;

const write = (storage: Storage, subject: string): Promise<void> =>
  storage.commit(transition(incidentRow({ subject })));
const subjects = async (storage: Storage): Promise<string[]> =>
  (await storage.in('default').incidents.open()).map(incident => incident.subject);

/** A user of its own who owns the database; answers the URL it opens it with. */
async function ownedBy(name: string, options: string): Promise<string> {
  await own.database.run(`create role ${name} login ${options}`);
  await own.database.alter(`owner to ${name}`);
  undo.unshift(async () => {
    await own.database.run(`reassign owned by ${name} to postgres`);
    await own.database.run(`drop owned by ${name}; drop role ${name}`);
  });
  return own.database.url.replace('postgres@', `${name}@`);
}

describe('opening', () => {
  it('creates the data folder for its owner alone: keys and logs lie there', async () => {
    const storage = await openStorage({
      url: own.database.url,
      dataFolder: join(own.dataFolder, 'deep'),
      logger: silentLogger,
      clock: systemClock,
    });
    undo.push(() => storage.close());
    expect((await stat(join(own.dataFolder, 'deep'))).mode & 0o777).toBe(0o700);
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      'a password that is wrong',
      async () => {
        await ownedBy('locked', "password 'hunter1'");
        return own.database.url.replace('postgres@', 'locked:hunter2@');
      },
      /refuses user 'locked'.*check user and password/,
    ],
    [
      'no password where one is asked for',
      () => ownedBy('locked', "password 'hunter1'"),
      /asks user 'locked' for a password/,
    ],
    [
      'a database that does not exist',
      async () => own.server.url('nowhere'),
      /database 'nowhere' at 127\.0\.0\.1:\d+ does not exist; create it/,
    ],
    [
      'a port where nothing listens',
      async () => 'postgres://gate:hunter2@127.0.0.1:1/gates',
      /database 'gates' at 127\.0\.0\.1:1 cannot be reached.*start the server/,
    ],
    [
      'a host that does not exist',
      async () => 'postgres://gate:hunter2@nowhere.invalid/gates',
      /database 'gates' at nowhere\.invalid:5432 cannot be reached/,
    ],
    [
      'commits that do not wait for the disk',
      async () => {
        await own.database.alter('set synchronous_commit to off');
        return own.database.url;
      },
      /would lose writes: synchronous_commit is off/,
    ],
    [
      'a database that only reads',
      async () => {
        await own.database.alter('set default_transaction_read_only to on');
        undo.unshift(() => own.database.alter('reset all'));
        return own.database.url;
      },
      /is read-only; let storage\.url lead to the primary/,
    ],
    [
      'a user who may create nothing',
      async () => {
        await ownedBy('guest', '');
        await own.database.alter('owner to postgres');
        return own.database.url.replace('postgres@', 'guest@');
      },
      /does not let user 'guest' work in it.*owner of the database/,
    ],
  ])('refuses %s, naming place and remedy and no password', async (_what, prepare, text) => {
    const opening = open(await prepare());
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
    await expect(opening).rejects.toThrow(text);
    await expect(opening).rejects.not.toThrow(/hunter/);
  });

  it('refuses an address that is none, showing nothing of it', async () => {
    const refused = await open('postgres://gate:hunter2@[/x').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'invalid-request' });
    expect(inspect(refused, { depth: 9, showHidden: true })).not.toMatch(/hunter2/);
  });

  it('takes a password with signs that addresses write in another way', async () => {
    const url = await ownedBy('locked', "password 'a/b:c@d'");
    await open(url.replace('locked@', 'locked:a%2Fb%3Ac%40d@'));
  });

  it('refuses a database of a newer version', async () => {
    await (await open()).close();
    await own.database.run("insert into migrations values ('29990101000000-later', 'later')");
    await expect(open()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/newer version.*29990101000000-later/),
    });
  });

  it('refuses a database made before 0.2', async () => {
    await (await open()).close();
    await own.database.run("update migrations set name = '20260101000000-first-tables'");
    await expect(open()).rejects.toMatchObject({
      code: 'conflict',
      message: 'the database was made before 0.2; export the configuration, start empty',
    });
  });

  it('lets several processes in that come at once to an empty database, and each of them write', async () => {
    const opened = await Promise.all(Array.from({ length: 4 }, () => open()));
    await Promise.all(opened.map((storage, index) => write(storage, `from ${index}`)));
    for (const storage of opened)
      expect((await subjects(storage)).sort()).toEqual(['from 0', 'from 1', 'from 2', 'from 3']);
  });
});

describe('a migration that is killed half way', () => {
  const halfWay: Migration = {
    async up(db) {
      await db.schema.createTable('half').addColumn('id', 'text').execute();
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(db);
    },
  };

  it('leaves nothing behind, the lock neither', async () => {
    const backend = await openPostgres(own.database.url, { clock: systemClock, logger: silentLogger });
    const killed = backend.withMigrationLock(db => migrate(db, { '20250101000000-half': halfWay }));
    await expect(killed).rejects.toMatchObject({ code: 'unavailable' });
    const tables = async (db: Kysely<Database>) =>
      (await db.introspection.getTables()).map(table => table.name);
    expect(await tables(backend.writer)).not.toContain('half');
    await backend.close();
    await write(await open(), 'after');
  });
});

describe('what is kept', () => {
  it('sorts by bytes whatever language the database has', async () => {
    const german = await createDatabaseOn(
      own.server.url('postgres'),
      "template template0 locale_provider icu icu_locale 'de-DE' encoding 'UTF8'",
    );
    undo.unshift(german.remove);
    const storage = await open(german.url);
    const names = ['b', 'A', 'a', 'B', 'a_b', 'aa'];
    for (const name of names) await storage.transaction(tx => tx.in('default').putSecret(secretRow(name)));
    const listed = await storage.in('default').secrets.list();
    expect(listed.map(row => row.name)).toEqual([...names].sort());
  });

  it('takes texts with U+0000, which PostgreSQL does not know', async () => {
    const storage = await open();
    await write(storage, 'a\0b');
    await storage.transaction(tx => tx.setInstanceValue('a\0b', 'c\0d'));
    expect(await subjects(storage)).toEqual(['a\ufffdb']);
    expect(await storage.instanceValue('a\0b')).toBe('c\ufffdd');
  });

  it('is read on connections that cannot write', async () => {
    await (await open()).close();
    const backend = await openPostgres(own.database.url, { clock: systemClock, logger: silentLogger });
    undo.push(backend.close);
    const insert = backend.reader.insertInto('instance').values({ name: 'a', value: 'b' }).execute();
    await expect(insert).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a server in trouble', () => {
  it('is found again by itself after a stop under load, with everything accepted still there', async () => {
    const storage = await open();
    const accepted: string[] = [];
    const refusals: unknown[] = [];
    let loading = true;
    const streams = Array.from({ length: 8 }, async (_, stream) => {
      for (let count = 0; loading; count++) {
        const subject = `${stream}:${count}`;
        await write(storage, subject).then(
          () => accepted.push(subject),
          error => refusals.push(error),
        );
        await new Promise(setImmediate);
      }
    });
    for (const how of ['immediate', 'fast'] as const) {
      const before = accepted.length;
      await until(() => accepted.length > before + 100, 'some load');
      own.server.stop(how);
      await expect(storage.users.count()).rejects.toMatchObject({ code: 'unavailable' });
      await until(() => refusals.length > 0, 'a refusal');
      own.server.start();
      const after = accepted.length;
      await until(() => accepted.length > after + 100, 'a connection');
    }
    loading = false;
    await Promise.all(streams);

    for (const error of refusals)
      if (!(error instanceof AppError) || error.code !== 'unavailable') throw error;
    const kept = new Set(await subjects(storage));
    expect(accepted.filter(subject => !kept.has(subject))).toEqual([]);
    // What was refused is not there either: the status of a lost commit is polled.
    expect(kept.size).toBe(accepted.length);
  });

  it('has no connection left for reads, says so and reads again once it has', async () => {
    const storage = await open(await ownedBy('gate', ''));
    await own.database.run('alter role gate connection limit 1');
    await expect(storage.users.count()).rejects.toThrow(/no connection left.*max_connections/);
    await own.database.run('alter role gate connection limit -1');
    await until(
      () =>
        storage.users.count().then(
          () => true,
          () => false,
        ),
      'a read',
    );
  });

  it('became read-only: writes are refused with the remedy until it is the primary again', async () => {
    const storage = await open();
    await own.database.alter('set default_transaction_read_only to on');
    await own.database.run(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
    );
    await until(
      () =>
        write(storage, 'no').then(
          () => false,
          error => /is read-only/.test(error.message),
        ),
      'a refusal',
    );
    await own.database.alter('reset all');
    await until(
      () =>
        write(storage, 'yes').then(
          () => true,
          () => false,
        ),
      'a write',
    );
    expect(await subjects(storage)).toEqual(['yes']);
  });

  it('holds writes up for no longer than 10 s, reads not at all, and goes on', async () => {
    const storage = await open();
    const other = new Client(own.database.url);
    await other.connect();
    undo.push(() => other.end());
    await other.query('begin; lock table deliveries in exclusive mode');
    const held = write(storage, 'held');
    const refused = expect(held).rejects.toThrow(/took too long.*the holder of locks/);
    expect(await storage.in('default').deliveries.list({}, { offset: 0, limit: 1 })).toMatchObject({
      total: 0,
    });
    await refused;
    const waiting = write(storage, 'waiting');
    await other.query('rollback');
    await waiting;
    expect(await subjects(storage)).toEqual(['waiting']);
  });
});
