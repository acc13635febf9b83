import { expect, test } from 'vitest';
import { createLru } from './lru.ts';

test('the entry used longest ago goes when the map is full', () => {
  const lru = createLru<string, number>(2);
  expect(lru.set('a', 1)).toBeUndefined();
  expect(lru.set('b', 2)).toBeUndefined();
  expect(lru.get('a')).toBe(1);
  expect(lru.set('c', 3)).toBe('b');
  expect([lru.get('a'), lru.get('b'), lru.get('c')]).toEqual([1, undefined, 3]);
});

test('setting a key again keeps one entry and counts as a use', () => {
  const lru = createLru<string, number>(2);
  lru.set('a', 1);
  lru.set('b', 2);
  expect(lru.set('a', 3)).toBeUndefined();
  expect(lru.set('c', 4)).toBe('b');
  expect(lru.get('a')).toBe(3);
});
