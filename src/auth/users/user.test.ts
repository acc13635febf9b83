import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findUser, newUserRow, parseUsername } from './user.ts';

test.each([
  ['admin', 'admin'],
  ['  Admin\t', 'admin'],
  ['JOSE\u0301', 'jos\u00e9'],
  ['José', 'josé'],
  ['a'.repeat(254), 'a'.repeat(254)],
  ['', ''],
])('%j is the user %j', (text, name) => {
  expect(parseUsername(text)).toBe(name);
});

test.each([['a'.repeat(255)], ['ad\u0000min'], ['a\nb'], ['\ud800']])('%j is no user name', text => {
  expect(() => parseUsername(text)).toThrow(
    expect.objectContaining({
      code: 'invalid-request',
      problems: [expect.objectContaining({ path: 'username' })],
    }),
  );
});

test('the spelling of a name is settled: parsing it again changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), text => {
      const name = parseUsername(text.replaceAll(/[\p{Cc}\p{Cs}]/gu, ''));
      expect(parseUsername(name)).toBe(name);
    }),
    { numRuns: 1000 },
  );
});

test('an operator finds the one account of a name, and is asked for the id where organizations have several', async () => {
  const rows = ['acme', 'corp'].map(organization =>
    newUserRow({
      ...{ id: `u-${organization}`, organization, username: 'ann', password: '', role: 'user' },
      ...{ created_at: 0, version: 1 },
    }),
  );
  const among = (...known: typeof rows) => ({
    userById: async (id: string) => known.find(row => row.id === id),
    userByName: async () => undefined,
    accountsNamed: async (name: string) => known.filter(({ username }) => username === name),
  });
  expect(await findUser(among(...rows.slice(1)), ' Ann ')).toBe(rows[1]);
  expect(await findUser(among(...rows), 'u-corp')).toBe(rows[1]);
  await expect(findUser(among(...rows), 'ann')).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('u-acme in acme, u-corp in corp'),
  });
});
