import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { notedAudit } from '../../../test/helpers/audit.ts';
import { type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { until } from '../../../test/helpers/until.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { type KeyRing, openKeyRing } from '../../lib/keyring.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Algorithm } from './algorithms.ts';
import { type KeyRotation, type KeyRotationOptions, openKeyRotation } from './key-rotation.ts';
import { createSessionTokens } from './session-tokens.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;

let store: TestStorage;
let folder: string;
let keyRing: KeyRing;
let clock: TestClock;
let algorithm: Algorithm;
let audit: ReturnType<typeof notedAudit>;
let rotation: KeyRotation;

beforeEach(async () => {
  store = await openTestStorage();
  folder = await mkdtemp(join(tmpdir(), 'headgate-keys-'));
  keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
  clock = testClock();
  // Quick to make; one test is about RS256.
  algorithm = 'ES256';
  audit = notedAudit();
  rotation = await open();
});
afterEach(async () => {
  await rotation.stop();
  await store.close();
  await rm(folder, { recursive: true });
});

const open = (more: Partial<KeyRotationOptions> = {}): Promise<KeyRotation> =>
  openKeyRotation({
    storage: store.storage,
    keyRing,
    clock,
    logger: silentLogger,
    audit,
    isShared: false,
    settings: () => ({ signingAlgorithm: algorithm, keyLifetimeMs: 30 * DAY }),
    waitForPropagation: async () => {},
    ...more,
  });

const states = async (of = rotation) => (await of.list()).map(({ state }) => state).sort();
const tokensOf = (of: KeyRotation) =>
  createSessionTokens({ keys: of.tokenKeys, clock, ids: monotonicIds(clock) });
const kidOf = async (of = rotation) => decodeProtectedHeader(await tokensOf(of).issue('u', 60, 0)).kid;

/** Lets time pass, and then as much more as a look at the keys takes to begin and to come to its end. */
async function lookAfter(ms: number, isDone: () => Promise<boolean>): Promise<void> {
  await clock.advance(ms);
  await until(async () => {
    await clock.advance(10_000);
    return isDone();
  }, 'the look at the keys');
}

async function started(): Promise<void> {
  rotation.start();
  await lookAfter(1000, async () => (await states()).includes('next'));
}

it('has one key that signs, and soon the next one, which is published before it signs', async () => {
  expect(await states()).toEqual(['active']);
  await started();
  expect(await states()).toEqual(['active', 'next']);
  await until(() => rotation.published().length === 2);
  for (const jwk of rotation.published()) {
    expect(jwk).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: expect.any(String) });
    expect(Object.keys(jwk).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  }
});

it('lets the next key sign when it is turned, and takes tokens of the one before until the longest is over', async () => {
  await started();
  const [before, next] = [await kidOf(), (await rotation.list()).find(({ state }) => state === 'next')?.kid];
  const token = await tokensOf(rotation).issue('u', 31 * 86_400, 0);
  expect(await rotation.rotate({ isCompromised: false })).toMatchObject({ kid: next, state: 'active' });
  expect(await kidOf()).toBe(next);
  expect(await states()).toEqual(['active', 'next', 'retiring']);
  const tokens = tokensOf(rotation);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  expect((await rotation.list()).find(({ kid }) => kid === before)).toMatchObject({
    state: 'retiring',
    ends_at: clock.now() + 31 * DAY + 60_000,
  });
});

it('removes a key whose last token is over', async () => {
  await started();
  const before = await kidOf();
  await rotation.rotate({ isCompromised: false });
  await clock.advance(20 * DAY);
  expect((await rotation.list()).map(({ kid }) => kid)).toContain(before);
  await lookAfter(11 * DAY + HOUR, async () => !(await rotation.list()).some(({ kid }) => kid === before));
  await until(() => !rotation.tokenKeys.verifying.has(before ?? ''));
});

it('rotates by itself when a key has signed for its lifetime, and records it in the audit', async () => {
  await started();
  const before = await kidOf();
  await clock.advance(29 * DAY);
  expect(await kidOf()).toBe(before);
  await lookAfter(DAY + HOUR, async () => (await kidOf()) !== before);
  await until(() => audit.entries.length > 0);
  expect(audit.entries).toEqual([
    expect.objectContaining({ actor: 'headgate', action: 'keys.rotate', target: await kidOf() }),
  ]);
});

it('replaces all keys when one is compromised: nothing that any of them signed is taken, remembered or not', async () => {
  await started();
  const tokens = tokensOf(rotation);
  const token = await tokens.issue('u', 60, 0);
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  const before = (await rotation.list()).map(({ kid }) => kid);
  let isTakenOver = false;
  const other = await open({
    waitForPropagation: async () => {
      isTakenOver = true;
    },
  });
  await other.rotate({ isCompromised: true });
  expect(isTakenOver).toBe(true);
  await rotation.reload();
  expect(await tokens.verify(token)).toEqual({ kind: 'refused', reason: 'unknown-key' });
  expect((await rotation.list()).some(({ kid }) => before.includes(kid))).toBe(false);
  expect(await states()).toEqual(['active', 'next']);
});

it('signs with the algorithm of the settings from the next rotation on', async () => {
  await started();
  algorithm = 'RS256';
  const { alg: before } = decodeProtectedHeader(await tokensOf(rotation).issue('u', 60, 0));
  await rotation.rotate({ isCompromised: false });
  const token = await tokensOf(rotation).issue('u', 60, 0);
  expect([before, decodeProtectedHeader(token).alg]).toEqual(['ES256', 'RS256']);
  expect(await tokensOf(rotation).verify(token)).toMatchObject({ kind: 'valid' });
});

it('rotates to the requested algorithm, with a next key of the settings', async () => {
  await started();
  expect(await rotation.rotate({ isCompromised: false, algorithm: 'RS256' })).toMatchObject({
    algorithm: 'RS256',
    state: 'active',
  });
  expect((await rotation.list()).find(({ state }) => state === 'next')).toMatchObject({ algorithm: 'ES256' });
  const token = await tokensOf(rotation).issue('u', 60, 0);
  expect(decodeProtectedHeader(token).alg).toBe('RS256');
});

it('takes a token of a key that another process has just made, asking the store once a second at most', async () => {
  let reads = 0;
  const keys = () => {
    reads += 1;
    return store.storage.keys();
  };
  const follower = await open({ storage: { ...store.storage, keys }, isShared: true });
  await rotation.rotate({ isCompromised: false });
  reads = 0;
  const token = await tokensOf(rotation).issue('u', 60, 0);
  const tokens = tokensOf(follower);
  const [, payload, signature] = token.split('.');
  const header = (kid: string): string =>
    Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'session+jwt', kid })).toString('base64url');
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
  expect(reads).toBe(1);
  for (let nth = 0; nth < 50; nth++)
    expect(await tokens.verify(`${header(`made-up-${nth}`)}.${payload}.${signature}`)).toEqual({
      kind: 'refused',
      reason: 'unknown-key',
    });
  expect(reads).toBe(1);
  await clock.advance(1000);
  await tokens.verify(`${header('made-up')}.${payload}.${signature}`);
  expect(reads).toBe(2);
});

it('does not bring back keys that are gone when an older answer of the store comes last', async () => {
  let hold: Promise<void> | undefined;
  const slow = await open({
    storage: {
      ...store.storage,
      async keys() {
        const waits = hold;
        const rows = await store.storage.keys();
        await waits;
        return rows;
      },
    },
  });
  const before = slow.tokenKeys.signing.kid;
  let release = (): void => {};
  hold = new Promise(resolve => {
    release = resolve;
  });
  const older = slow.reload();
  await store.storage.keys();
  hold = undefined;
  await rotation.rotate({ isCompromised: true });
  const newer = slow.reload();
  release();
  await Promise.all([older, newer]);
  expect(slow.tokenKeys.verifying.has(before)).toBe(false);
});

it('is turned once by two processes that do so in the same moment', async () => {
  await started();
  const before = await kidOf();
  const other = await open();
  const [one, two] = await Promise.all([
    rotation.rotate({ isCompromised: false }),
    other.rotate({ isCompromised: false }),
  ]);
  expect(one.kid).toBe(two.kid);
  expect(one.kid).not.toBe(before);
  expect(await states()).toEqual(['active', 'next', 'retiring']);
});

it('is the same after a restart, and does not open without the key ring that encrypted it', async () => {
  await started();
  const again = await open();
  expect(await kidOf(again)).toBe(await kidOf());
  const text = JSON.stringify(await store.storage.keys());
  expect(text).not.toContain('PRIVATE KEY');
  const stranger = await openKeyRing({ path: join(folder, 'others'), mayCreate: true });
  await expect(open({ keyRing: stranger })).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('lacks the key'),
  });
});

it('takes a signature of ES256 in the form of RFC 7518 only, and no other bits', async () => {
  const tokens = tokensOf(rotation);
  const token = await tokens.issue('u', 60, 0);
  const [header = '', payload = '', signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  expect(bytes.length).toBe(64);
  const integer = (value: Buffer) => {
    const positive = (value[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), value]) : value;
    return Buffer.concat([Buffer.from([2, positive.length]), positive]);
  };
  const inner = Buffer.concat([integer(bytes.subarray(0, 32)), integer(bytes.subarray(32))]);
  const der = Buffer.concat([Buffer.from([0x30, inner.length]), inner]);
  const flipped = Buffer.from(bytes);
  flipped[10] = (flipped[10] ?? 0) ^ 1;
  for (const forged of [der, Buffer.alloc(64), flipped, bytes.subarray(0, 63)]) {
    const wrong = `${header}.${payload}.${forged.toString('base64url')}`;
    expect(await tokens.verify(wrong)).toEqual({ kind: 'refused', reason: 'bad-signature' });
  }
  expect(await tokens.verify(token)).toMatchObject({ kind: 'valid' });
});

it('keeps no more than 50 keys, and replaces them all the same when one is compromised', async () => {
  await started();
  const rotations = async () => {
    for (let count = 0; count < 60; count++) await rotation.rotate({ isCompromised: false });
  };
  await expect(rotations()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('50 keys'),
  });
  expect(await rotation.list()).toHaveLength(50);
  await rotation.rotate({ isCompromised: true });
  expect(await rotation.list()).toHaveLength(2);
});

it('decrypts no key again that stands as before, however often the store is asked', async () => {
  let decrypted = 0;
  const counting: KeyRing = {
    ...keyRing,
    decrypt: (text, place) => {
      decrypted += 1;
      return keyRing.decrypt(text, place);
    },
  };
  const other = await open({ keyRing: counting });
  expect(decrypted).toBe(1);
  for (let time = 0; time < 5; time++) await other.reload();
  expect(decrypted).toBe(1);
  await rotation.rotate({ isCompromised: false });
  await other.reload();
  expect(other.tokenKeys.signing.kid).toBe(rotation.tokenKeys.signing.kid);
  expect(decrypted).toBeGreaterThan(1);
});
