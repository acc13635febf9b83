import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIdentity, type Identity } from '../../src/auth/identity.ts';
import { authSchema } from '../../src/auth/settings.ts';
import { createVersionRecorder } from '../../src/config/versions.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { notedAudit } from '../helpers/audit.ts';
import { noHttp } from '../helpers/no-http.ts';
import { createPostgresDatabase, type TestPostgresDatabase } from '../helpers/postgres.ts';

const HOUR_MS = 3_600_000;

let database: TestPostgresDatabase;
const undo: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  database = await createPostgresDatabase();
  undo.push(database.remove);
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'headgate-first-start-'));
  undo.push(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function open(): Promise<Storage> {
  const storage = await openStorage({
    url: database.url,
    dataFolder: await folder(),
    logger: silentLogger,
    clock: systemClock,
  });
  undo.push(() => storage.close());
  return storage;
}

const both = async <Result>(start: () => Promise<Result>): Promise<readonly [Result, Result]> =>
  Promise.all([start(), start()]);

/** Opens the database and the ring at `path`; the answer makes what the store lacks, as a process does at its start. */
async function begin(path: string) {
  const storage = await open();
  const keyRing = await openKeyRing({ path, mayCreate: !(await storage.hasSealedValues()) });
  const identify = (): Promise<Identity> =>
    createIdentity({
      storage,
      keyRing,
      http: noHttp,
      clock: systemClock,
      ids: monotonicIds(systemClock),
      logger: silentLogger,
      audit: notedAudit(),
      isShared: false,
      settings: () => ({
        idleSessionTTL: 3600,
        authTokenTTL: 60,
        loginRateLimit: { count: 10, perMs: 1000 },
        loginBackOff: { after: 5, longestMs: 60_000 },
        auth: authSchema.parse({}),
        externalUrl: undefined,
      }),
    });
  return { storage, identify };
}

describe('two processes that start at the same instant on an empty database', () => {
  it('make the tables once', async () => {
    const [one, two] = await both(open);
    await one.transaction(tx => tx.setInstanceValue('a', 'b'));
    expect(await two.instanceValue('a')).toBe('b');
  });

  it('share the keys, the first admin and his password: a token of either is good at the other', async () => {
    const ring = join(await folder(), 'keys');
    const starts = await both(() => begin(ring));
    const [one, two] = await Promise.all([starts[0].identify(), starts[1].identify()]);
    const folders = await Promise.all([folder(), folder()]);
    const made = await Promise.all(
      [one, two].map((identity, index) =>
        identity.ensureFirstAdmin({ password: undefined, dataFolder: folders[index] ?? '' }),
      ),
    );
    const [admin, ...others] = made.filter(generated => generated !== undefined);
    if (admin === undefined) throw new Error('nobody made an admin');
    expect(others).toEqual([]);
    const [{ storage }] = starts;
    expect(await storage.keys()).toHaveLength(1);
    expect(await storage.users.count()).toBe(1);

    const password = admin.password.reveal();
    expect((await readFile(admin.file, 'utf8')).trim()).toBe(password);
    const { token } = await two.login({ username: 'admin', password, address: '192.0.2.1' });
    await expect(one.authenticate(token)).resolves.toMatchObject({ name: 'admin' });
  });

  it('never go on with two key rings: one is refused with the key it lacks', async () => {
    const rings = [join(await folder(), 'keys'), join(await folder(), 'keys')];
    const begun = await Promise.all(rings.map(begin));
    const starts = await Promise.allSettled(begun.map(({ identify }) => identify()));
    const refusals = starts.flatMap(start => (start.status === 'rejected' ? [start.reason] : []));
    expect(refusals).toHaveLength(1);
    const ids = await Promise.all(rings.map(async ring => (await readFile(ring, 'utf8')).split(':')[0]));
    const needed = ids[starts.findIndex(start => start.status === 'fulfilled')];
    expect(refusals[0]).toMatchObject({ message: expect.stringContaining(`lacks the key '${needed}'`) });
  });

  it('record a configuration that both have read once, and order versions whatever their clocks say', async () => {
    const [one, two] = await both(open);
    const slow = { ...systemClock, now: () => systemClock.now() - HOUR_MS };
    const versionsOf = (storage: Storage, clock: typeof systemClock) =>
      createVersionRecorder({
        storage,
        workspace: 'default',
        ids: monotonicIds(clock),
        clock,
        logger: silentLogger,
      });
    const [ahead, behind] = [versionsOf(one, systemClock), versionsOf(two, slow)];
    const effect = (files: string, author = 'file') => ({
      author,
      source: 'file' as const,
      masked: { 'headgate.yml': files },
    });
    await Promise.all([ahead.record(effect('first')), behind.record(effect('first'))]);
    await ahead.record(effect('second', 'one'));
    await behind.record(effect('third', 'two'));

    const { rows } = await one.in('default').versions.list({ offset: 0, limit: 10 });
    expect(rows.map(row => row.author)).toEqual(['two', 'one', 'file']);
    expect((await two.in('default').versions.last())?.files).toContain('third');
  });
});
