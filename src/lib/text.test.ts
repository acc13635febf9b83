import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { truncate, truncateToBytes, wellFormedJson } from './text.ts';

const entity = (character: string): string => (character === '&' ? '&amp;' : character);

test.each([
  ['short', 10, 'short'],
  ['exactly', 7, 'exactly'],
  ['too long', 7, 'too lo…'],
  ['ab😀cd', 5, 'ab😀…'],
  ['ab😀cd', 4, 'ab…'],
  ['', 3, ''],
])('%j within %d is %j', (text, most, clipped) => {
  expect(truncate(text, most)).toBe(clipped);
});

test('characters are counted as they are written, and none is left half', () => {
  expect(truncate('a&b', 7, entity)).toBe('a&amp;b');
  expect(truncate('a&bc', 7, entity)).toBe('a&amp;…');
  expect(truncate('a&bc', 6, entity)).toBe('a…');
});

test('no text comes out longer than it may be or with half a character in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 40 }), (text, most) => {
      const clipped = truncate(text, most, entity);
      expect(clipped.length).toBeLessThanOrEqual(most);
      expect(clipped).not.toMatch(/\p{Surrogate}/u);
    }),
  );
});

test('JSON has no half characters, in names and texts of any depth', () => {
  expect(wellFormedJson({ 'a\ud800': ['\udc00', { b: 'c😀' }], n: 1, z: null })).toBe(
    '{"a\ufffd":["\ufffd",{"b":"c😀"}],"n":1,"z":null}',
  );
});

test('a text is cut to its bytes between characters', () => {
  expect(truncateToBytes('aé€😀', 100)).toBe('aé€😀');
  expect([1, 2, 3, 5, 6, 9, 10].map(most => truncateToBytes('aé€😀', most))).toEqual([
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
      const cut = truncateToBytes(text, most);
      const next = [...text.slice(cut.length)][0];
      return (
        text.startsWith(cut) &&
        Buffer.byteLength(cut) <= most &&
        (next === undefined || Buffer.byteLength(cut + next) > most)
      );
    }),
  );
});
