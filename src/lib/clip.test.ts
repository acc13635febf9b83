import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip, wellFormedJson } from './clip.ts';

const entity = (character: string): string => (character === '&' ? '&amp;' : character);

test.each([
  ['short', 10, 'short'],
  ['exactly', 7, 'exactly'],
  ['too long', 7, 'too lo…'],
  ['ab😀cd', 5, 'ab😀…'],
  ['ab😀cd', 4, 'ab…'],
  ['', 3, ''],
])('%j within %d is %j', (text, most, clipped) => {
  expect(clip(text, most)).toBe(clipped);
});

test('characters are counted as they are written, and none is left half', () => {
  expect(clip('a&b', 7, entity)).toBe('a&amp;b');
  expect(clip('a&bc', 7, entity)).toBe('a&amp;…');
  expect(clip('a&bc', 6, entity)).toBe('a…');
});

test('no text comes out longer than it may be or with half a character in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 40 }), (text, most) => {
      const clipped = clip(text, most, entity);
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
