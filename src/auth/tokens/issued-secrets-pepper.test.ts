import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { openKeyRing } from '../../lib/keyring.ts';
import { PEPPER } from '../../storage/stores/instance.ts';
import { openPepper } from './issued-secrets.ts';

let test: TestStorage;
beforeEach(async () => {
  test = await openTestStorage();
});
afterEach(() => test.close());

const ring = (name: string) => openKeyRing({ path: join(test.folder, name), mayCreate: true });

it('is made once, sealed, and the same ever after', async () => {
  const { storage } = test;
  const keyRing = await ring('keys');
  expect(await storage.hasSealedValues()).toBe(false);
  const [one, other] = await Promise.all([
    openPepper({ storage, keyRing }),
    openPepper({ storage, keyRing }),
  ]);
  expect(one.reveal()).toHaveLength(43);
  expect(other.reveal()).toBe(one.reveal());
  expect((await openPepper({ storage, keyRing })).reveal()).toBe(one.reveal());
  const kept = await storage.instanceValue(PEPPER);
  expect(kept).toMatch(/^v1\./);
  expect(await storage.hasSealedValues()).toBe(true);
});

it('is refused with another key ring, naming the key that is missing', async () => {
  const { storage } = test;
  await openPepper({ storage, keyRing: await ring('keys') });
  await expect(openPepper({ storage, keyRing: await ring('others') })).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('lacks the key'),
  });
});
