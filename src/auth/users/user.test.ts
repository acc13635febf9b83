import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseUsername } from './user.ts';

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
