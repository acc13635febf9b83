import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openKeyRing } from './keyring.ts';

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-keyring-'));
  path = join(folder, 'keys');
});

afterEach(() => rm(folder, { recursive: true }));

const line = (id: string, fill: number): string => `${id}:${Buffer.alloc(32, fill).toString('base64')}\n`;
const write = (text: string): Promise<void> => writeFile(path, text, { mode: 0o600 });

test('a new ring is made for its owner only, leaves no other file, and is the same when opened again', async () => {
  const ring = await openKeyRing({ path, mayCreate: true });
  const sealed = ring.encrypt('secret', 'keys|private_key|a');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['keys']);
  const again = await openKeyRing({ path, mayCreate: true });
  expect(again.decrypt(sealed, 'keys|private_key|a')).toBe('secret');
});

test('rings created at the same moment are one ring', async () => {
  const rings = await Promise.all(Array.from({ length: 8 }, () => openKeyRing({ path, mayCreate: true })));
  const sealed = rings.map(ring => ring.encrypt('secret', 'c'));
  for (const ring of rings)
    expect(sealed.map(text => ring.decrypt(text, 'c'))).toEqual(Array(8).fill('secret'));
  expect(await readdir(folder)).toEqual(['keys']);
});

test('a missing ring is not made again when the store holds secrets', async () => {
  await expect(openKeyRing({ path, mayCreate: false })).rejects.toThrow(/is missing.*restore/);
  expect(await readdir(folder)).toEqual([]);
});

test.each([0o640, 0o604, 0o620])('a ring with mode %o is refused with the remedy', async mode => {
  await write(line('a', 1));
  await chmod(path, mode);
  await expect(openKeyRing({ path, mayCreate: true })).rejects.toThrow(`chmod 600 ${path}`);
});

test.each([
  ['nothing', ''],
  ['no colon', 'abc\n'],
  ['a short key', `a:${Buffer.alloc(31, 7).toString('base64')}\n`],
  ['an id with a dot', line('a.b', 1)],
  ['an id twice', line('a', 1) + line('a', 2)],
])('a ring that holds %s is refused, is left as it is, and is not quoted', async (_, text) => {
  await write(text);
  const error = await openKeyRing({ path, mayCreate: true }).catch(String);
  expect(error).toContain(path);
  expect(error).not.toContain('BwcHBwcH');
  expect(await readFile(path, 'utf8')).toBe(text);
});

test('the first key encrypts and all decrypt', async () => {
  await write(line('old', 1));
  const sealed = (await openKeyRing({ path, mayCreate: false })).encrypt('text', 'c');
  await write(line('new', 2) + line('old', 1));
  const rotated = await openKeyRing({ path, mayCreate: false });
  expect(rotated.decrypt(sealed, 'c')).toBe('text');
  expect(rotated.encrypt('text', 'c')).toMatch(/^v1\.new\./);
});

test('a text whose key is not in the ring names the key id', async () => {
  await write(line('old', 1));
  const sealed = (await openKeyRing({ path, mayCreate: false })).encrypt('text', 'c');
  await write(line('new', 2));
  const other = await openKeyRing({ path, mayCreate: false });
  expect(() => other.decrypt(sealed, 'c')).toThrow(/lacks the key 'old'/);
  expect(other.lacksKeyOf(sealed)).toBe(true);
  expect(other.lacksKeyOf(other.encrypt('text', 'c'))).toBe(false);
  expect(other.lacksKeyOf('malformed')).toBe(false);
});

test('a text is bound to its place and to its key id', async () => {
  await write(line('a', 1) + line('b', 1));
  const ring = await openKeyRing({ path, mayCreate: false });
  const sealed = ring.encrypt('text', 'keys|private_key|1');
  expect(() => ring.decrypt(sealed, 'keys|private_key|2')).toThrow(/was changed/);
  expect(() => ring.decrypt(sealed.replace('v1.a.', 'v1.b.'), 'keys|private_key|1')).toThrow(/was changed/);
});

test('a changed, cut or lengthened text does not decrypt', async () => {
  const ring = await openKeyRing({ path, mayCreate: true });
  const sealed = ring.encrypt('some text', 'c');
  const [version, id, nonce, body, tag = ''] = sealed.split('.');
  const flipped = (body ?? '').startsWith('A') ? `B${body?.slice(1)}` : `A${body?.slice(1)}`;
  const shortTag = Buffer.from(tag, 'base64url').subarray(0, 4).toString('base64url');
  for (const parts of [
    [version, id, nonce, flipped, tag],
    [version, id, nonce, body, shortTag],
    [version, id, nonce, '', tag],
    [version, id, nonce, body],
    ['v2', id, nonce, body, tag],
    [version, id, nonce, body, tag, 'more'],
  ])
    expect(() => ring.decrypt(parts.join('.'), 'c')).toThrow(/encrypted text at c/);
});

test('any text comes back, and never twice with the same nonce', async () => {
  const ring = await openKeyRing({ path, mayCreate: true });
  const nonces = new Set<string | undefined>();
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, context) => {
      const sealed = ring.encrypt(text, context);
      nonces.add(sealed.split('.')[2]);
      return ring.decrypt(sealed, context) === text;
    }),
  );
  expect(nonces.size).toBeGreaterThanOrEqual(100);
});
