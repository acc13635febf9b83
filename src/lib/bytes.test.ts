import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutToBytes } from './bytes.ts';

test('a text is cut to its bytes between characters', () => {
  expect(cutToBytes('aé€😀', 100)).toBe('aé€😀');
  expect([1, 2, 3, 5, 6, 9, 10].map(most => cutToBytes('aé€😀', most))).toEqual([
    'a',
    'a',
    'aé',
    'aé',
    'aé€',
    'aé€',
    'aé€😀',
  ]);
});

test('a cut text is a beginning of the text within the limit, and another character would not fit', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(60), (text, most) => {
      const cut = cutToBytes(text, most);
      const next = [...text.slice(cut.length)][0];
      return (
        text.startsWith(cut) &&
        Buffer.byteLength(cut) <= most &&
        (next === undefined || Buffer.byteLength(cut + next) > most)
      );
    }),
  );
});
