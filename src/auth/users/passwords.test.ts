import * as argon2 from '@node-rs/argon2';
import { expect, test } from 'vitest';
import { createPasswords, isPasswordLength } from './passwords.ts';

test('a password is kept as argon2id of the stated cost and verifies exactly as it was', async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash(' Grüße 🔑 ');
  expect(hash).toMatch(/^nfc\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/);
  expect(await passwords.verify(' Grüße 🔑 ', hash)).toBe(true);
  expect(await passwords.verify('Grüße 🔑', hash)).toBe(false);
  expect(await passwords.verify('', hash)).toBe(false);
});

test('two hashes of one password differ', async () => {
  const passwords = createPasswords();
  expect(await passwords.hash('same')).not.toBe(await passwords.hash('same'));
});

test('an unknown user costs as much as a wrong password', async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash('right');
  // Of the processor, not of the clock: others may be busy on this machine.
  const work = async (known: string | undefined): Promise<number> => {
    const before = process.cpuUsage();
    expect(await passwords.verify('wrong', known)).toBe(false);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const known: number[] = [];
  const unknown: number[] = [];
  for (let round = 0; round < 9; round++) {
    known.push(await work(hash));
    unknown.push(await work(undefined));
  }
  const least = (figures: readonly number[]): number => Math.min(...figures);
  expect(least(unknown) / least(known)).toBeGreaterThan(0.5);
  expect(least(unknown) / least(known)).toBeLessThan(2);
});

test('what the queue cannot hold is refused with a time to come back, and the rest is served', async () => {
  const passwords = createPasswords({ concurrent: 1, waiting: 2 });
  const hash = await passwords.hash('right');
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => passwords.verify('right', hash)));
  expect(results.map(result => result.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
  ]);
  expect(results[3]).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 2 } });
  expect(await passwords.verify('right', hash)).toBe(true);
});

test('a hash that fails releases its permit', async () => {
  const passwords = createPasswords({ concurrent: 1, waiting: 0 });
  await expect(passwords.verify('any', 'not a hash')).rejects.toThrow();
  expect(await passwords.verify('any', undefined)).toBe(false);
});

test.each([
  ['', false],
  ['a', true],
  ['🔑'.repeat(256), true],
  ['🔑'.repeat(257), false],
  ['a'.repeat(257), false],
  ['a'.repeat(1_000_000), false],
])('a password is 1 to 256 code points', (password, allowed) => {
  expect(isPasswordLength(password)).toBe(allowed);
});

const COMPOSED = 'Grüße aus Zürich';
const IN_PARTS = COMPOSED.normalize('NFD');

test.each([
  [COMPOSED, IN_PARTS],
  [IN_PARTS, COMPOSED],
])('a password of composed letters is the same as one of letters in parts', async (chosen, presented) => {
  const passwords = createPasswords();
  const hash = await passwords.hash(chosen);
  expect(await passwords.verify(presented, hash)).toBe(true);
  expect(await passwords.verify(chosen, hash)).toBe(true);
  expect(passwords.isOutdated(hash)).toBe(false);
  expect(await passwords.verify(presented.replace('ß', 'ss'), hash)).toBe(false);
});

test('letters that only look compatible stay different', async () => {
  const passwords = createPasswords();
  expect(await passwords.verify('ﬁve²', await passwords.hash('five2'))).toBe(false);
});

test('a hash from before passwords were normalized is right for the text as it was, and outdated', async () => {
  const passwords = createPasswords();
  const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
  const ofParts = await argon2.hash(IN_PARTS, cost);
  const ofComposed = await argon2.hash(COMPOSED, cost);
  expect(await passwords.verify(IN_PARTS, ofParts)).toBe(true);
  expect(await passwords.verify(IN_PARTS, ofComposed)).toBe(true);
  expect(await passwords.verify(COMPOSED, ofComposed)).toBe(true);
  expect(await passwords.verify(`${IN_PARTS}.`, ofParts)).toBe(false);
  expect([ofParts, ofComposed].map(passwords.isOutdated)).toEqual([true, true]);
});

test('256 characters of four code points each are not too long', () => {
  const letter = 'ᾂ';
  expect(letter.normalize('NFD')).toHaveLength(4);
  expect(isPasswordLength(letter.repeat(256).normalize('NFD'))).toBe(true);
  expect(isPasswordLength(letter.repeat(257).normalize('NFD'))).toBe(false);
});
