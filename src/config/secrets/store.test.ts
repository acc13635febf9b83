import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { AppError } from '../../lib/errors.ts';
import { type KeyRing, openKeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { MASK } from '../../lib/secret.ts';
import { openStorage } from '../../storage/open.ts';
import type { Storage } from '../../storage/storage.ts';
import type { SecretRow } from '../../storage/stores/secrets.ts';
import { openSecretStore, type SecretStore, secretWriter } from './store.ts';

const clock = testClock();
const START = clock.now();

let test: TestStorage;
let storage: Storage;
let keyRing: KeyRing;
let log: string[];
let store: SecretStore;

beforeEach(async () => {
  test = await openTestStorage();
  storage = test.storage;
  keyRing = await ringOf('one');
  log = [];
  store = await open();
});
afterEach(async () => {
  await storage.close();
  await test.close();
});

async function ringOf(...ids: string[]): Promise<KeyRing> {
  const path = join(test.folder, `ring-${ids.join('-')}`);
  const lines = ids.map(id => `${id}:${Buffer.alloc(32, id).toString('base64')}\n`);
  await writeFile(path, lines.join(''), { mode: 0o600 });
  return openKeyRing({ path, mayCreate: false });
}

const logger = ((): Logger => {
  const write = (fields: object, message: string) => void log.push(JSON.stringify({ message, ...fields }));
  const self: Logger = { debug: write, info: write, warn: write, error: write, child: () => self };
  return self;
})();

const options = (workspace = 'default') => ({ storage, workspace, keyRing, clock, logger });
const open = (workspace?: string): Promise<SecretStore> => openSecretStore(options(workspace));
const rows = (): Promise<readonly SecretRow[]> => storage.in('default').secrets.list();

async function restart(): Promise<void> {
  await storage.close();
  storage = await openStorage({ url: 'sqlite:headgate.db', dataFolder: test.folder, logger, clock });
  store = await open();
}

async function refusalOf(work: Promise<unknown>): Promise<AppError> {
  const error: unknown = await work.then(
    () => new Error('not refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw error;
  return error;
}

describe('a secret', () => {
  it('is there at once and after a restart, until it is removed for good', async () => {
    expect(store.get('hook')).toBeUndefined();
    const facts = { name: 'hook', createdAt: START, updatedAt: START, updatedBy: 'ada' };
    expect(await store.put('hook', 's3cret', 'ada')).toEqual(facts);
    expect(store.get('hook')).toBe('s3cret');

    await restart();
    expect(store.get('hook')).toBe('s3cret');
    expect(store.list()).toEqual([facts]);

    expect(await store.remove('hook')).toEqual(facts);
    expect(await store.remove('hook')).toBeUndefined();
    expect(store.get('hook')).toBeUndefined();
    await restart();
    expect([store.get('hook'), store.list()]).toEqual([undefined, []]);
  });

  it('is replaced by a later one, and says when it was stored and its author', async () => {
    await store.put('hook', 'first', 'ada');
    clock.step(5000);
    await store.put('hook', 'second', 'bob');
    const facts = { name: 'hook', updatedAt: clock.now(), updatedBy: 'bob' };
    expect(store.list()).toEqual([{ ...facts, createdAt: clock.now() - 5000 }]);
    await restart();
    expect(store.get('hook')).toBe('second');
    expect(store.list()).toEqual([{ ...facts, createdAt: clock.now() - 5000 }]);
  });

  it('is listed by name with nothing of its value', async () => {
    for (const name of ['b', 'a', 'C']) await store.put(name, `value of ${name}`, 'ada');
    expect(store.list().map(({ name }) => name)).toEqual(['C', 'a', 'b']);
    expect(JSON.stringify(store.list())).not.toContain('value of');
  });

  it('lies encrypted in the store and is in no log record', async () => {
    await store.put('hook', 'very-s3cret', 'ada');
    await store.remove('hook');
    await store.put('hook', 'very-s3cret', 'ada');
    expect(JSON.stringify(await rows())).not.toContain('very-s3cret');
    expect(log).toHaveLength(3);
    expect(log.join()).not.toMatch(/very-s3cret|v1\.one/);
  });

  it.each([
    ['line breaks at its ends', '\n leading and trailing \n'],
    ['a NUL', 'nul \0 inside'],
    ['characters of several bytes', '🔑 ключ'],
    ['64 KB', 'x'.repeat(64 * 1024)],
    ['the look of a reference', '${secret:hook}'],
  ])('with %s comes back as it was', async (_, value) => {
    await store.put('hook', value, 'ada');
    await restart();
    expect(store.get('hook')).toBe(value);
  });

  it.each(['', 'a b', 'a.b', 'a/b', 'ключ', '__proto__ ', 'x'.repeat(129), 'a\n'])(
    'is refused under the name %j',
    async name => {
      const refusal = await refusalOf(store.put(name, 's3cret', 'ada'));
      expect(refusal.code).toBe('invalid-request');
      expect(refusal.problems).toMatchObject([{ path: 'name' }]);
      expect(await rows()).toEqual([]);
    },
  );

  it.each(['a', 'x'.repeat(128), '__proto__', 'constructor', '0_-Z'])(
    'is taken under the name %s',
    async name => {
      expect(store.get(name)).toBeUndefined();
      await store.put(name, 's3cret', 'ada');
      expect(store.get(name)).toBe('s3cret');
    },
  );

  it.each([
    ['nothing', ''],
    ['a mask', MASK],
    ['the mask of an address', `https://hooks.example/${MASK}`],
    ['a lone surrogate', 's3cret \ud83d'],
    ['one byte too many', `s3cret${'x'.repeat(64 * 1024 - 5)}`],
    ['few characters of many bytes', `s3cret${'€'.repeat(22 * 1024)}`],
  ])('that is %s is refused without being quoted', async (_, value) => {
    const refusal = await refusalOf(store.put('hook', value, 'ada'));
    expect(refusal.code).toBe('invalid-request');
    expect(refusal.problems).toMatchObject([{ path: 'value' }]);
    expect(JSON.stringify([refusal.message, refusal.problems])).not.toMatch(/s3cret|xxx|€€/);
    expect([await rows(), store.get('hook')]).toEqual([[], undefined]);
  });

  it('is refused after 10,000 others, but one of them can be changed', async () => {
    await storage.transaction(async tx => {
      const row = storedRow('n0');
      for (let count = 0; count < 10_000; count++)
        await tx.in('default').putSecret({ ...row, name: `n${count}` });
    });
    const writer = secretWriter(options());
    const refusal = await refusalOf(writer.put('one-more', 's3cret', 'ada'));
    expect([refusal.code, refusal.message]).toEqual(['conflict', expect.stringContaining('10000')]);
    await writer.put('n1', 's3cret', 'ada');
    expect(await rows()).toHaveLength(10_000);
    await secretWriter(options('green')).put('one-more', 's3cret', 'ada');
    await writer.remove('n2');
    await writer.put('one-more', 's3cret', 'ada');
  });
});

/** A row that decrypts as `name` only. */
function storedRow(name: string): SecretRow {
  return {
    name,
    sealed: keyRing.encrypt('s3cret', `secrets|value|default/${name}`),
    created_at: START,
    updated_at: START,
    updated_by: 'ada',
  };
}

describe('many at once', () => {
  it('end with the same values in memory and on disk', async () => {
    const puts = Array.from({ length: 60 }, (_, index) => store.put(`n${index % 3}`, `v${index}`, 'ada'));
    await Promise.all([...puts, store.remove('n1')]);
    const before = ['n0', 'n1', 'n2'].map(name => store.get(name));
    expect(before).toEqual(['v57', undefined, 'v59']);
    const facts = store.list();
    await restart();
    expect(['n0', 'n1', 'n2'].map(name => store.get(name))).toEqual(before);
    expect(store.list()).toEqual(facts);
  });
});

describe('listeners', () => {
  it('are notified after the value is on disk, and no longer once they unsubscribed', async () => {
    const told: unknown[] = [];
    const end = store.subscribe(name => {
      told.push(name, store.get(name));
    });
    await store.put('hook', 'first', 'ada');
    await store.remove('hook');
    await store.remove('hook');
    end();
    await store.put('hook', 'second', 'ada');
    expect(told).toEqual(['hook', 'first', 'hook', undefined]);
  });

  it('that fail keep neither the write nor the others', async () => {
    const told: string[] = [];
    store.subscribe(() => {
      throw new Error('cannot');
    });
    store.subscribe(name => void told.push(name));
    await store.put('hook', 's3cret', 'ada');
    expect(told).toEqual(['hook']);
    expect(log.join()).toContain('could not take over a changed secret');
  });

  it('hear nothing of a write that the disk refused, and the old value stays', async () => {
    await store.put('hook', 'old', 'ada');
    const refusing = { ...storage, transaction: () => Promise.reject(new AppError('unavailable', 'full')) };
    const fragile = await openSecretStore({ ...options(), storage: refusing });
    const told: string[] = [];
    fragile.subscribe(name => void told.push(name));
    expect((await refusalOf(fragile.put('hook', 'new', 'ada'))).code).toBe('unavailable');
    expect((await refusalOf(fragile.remove('hook'))).code).toBe('unavailable');
    expect([fragile.get('hook'), told, fragile.list().length]).toEqual(['old', [], 1]);
  });
});

describe('what cannot be decrypted', () => {
  async function moveRow(from: string, to: string): Promise<void> {
    const row = (await rows()).find(({ name }) => name === from);
    if (row === undefined) throw new Error(`no ${from}`);
    await storage.transaction(tx => tx.in('default').putSecret({ ...row, name: to }));
  }

  it('counts as missing when its row was moved, is named once in the log, and can be set anew', async () => {
    await store.put('mine', 'my-value', 'ada');
    await store.put('theirs', 'their-value', 'ada');
    await moveRow('theirs', 'mine');
    log = [];
    await restart();

    expect([store.get('mine'), store.get('theirs')]).toEqual([undefined, 'their-value']);
    expect(store.list().map(({ name }) => name)).toEqual(['mine', 'theirs']);
    store.get('mine');
    expect(log).toEqual([expect.stringContaining('"secret":"mine"')]);
    expect(log[0]).toContain('headgate secrets set mine');
    expect(log[0]).not.toMatch(/value|v1\./);

    await store.put('mine', 'new', 'ada');
    await restart();
    expect(store.get('mine')).toBe('new');
  });

  it('counts as missing in another workspace, and when it is malformed', async () => {
    await store.put('hook', 's3cret', 'ada');
    const [row] = await rows();
    if (row === undefined) throw new Error('no row');
    await storage.transaction(async tx => {
      await tx.in('green').putSecret(row);
      await tx.in('green').putSecret({ ...row, name: 'odd', sealed: 'nothing of the kind' });
    });
    log = [];
    const green = await open('green');
    expect([green.get('hook'), green.get('odd')]).toEqual([undefined, undefined]);
    expect(log).toHaveLength(2);
  });

  it('keeps the server from starting when the ring lacks the key, naming it, the secret and the remedies', async () => {
    await store.put('hook', 's3cret', 'ada');
    await store.put('other', 's3cret', 'ada');
    keyRing = await ringOf('two');
    const refusal = await refusalOf(open());
    expect(refusal.code).toBe('internal');
    expect(refusal.message).toMatch(/ring-two lacks the key 'one'.*default\/hook.*add that key's line again/);
    expect(refusal.message).toContain('headgate secrets set hook');

    for (const name of ['hook', 'other']) await secretWriter(options()).put(name, 'new', 'ada');
    store = await open();
    expect([store.get('hook'), store.get('other')]).toEqual(['new', 'new']);
  });

  it('is nothing when a key was added in front: the old one decrypts still', async () => {
    await store.put('hook', 's3cret', 'ada');
    keyRing = await ringOf('two', 'one');
    store = await open();
    await store.put('later', 's3cret', 'ada');
    keyRing = await ringOf('two');
    expect((await refusalOf(open())).message).toContain('default/hook');
    expect((await rows()).map(({ sealed }) => sealed.split('.')[1])).toEqual(['one', 'two']);
  });
});
