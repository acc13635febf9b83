import fc from 'fast-check';
import { expect, test } from 'vitest';
import { returnPath } from './authorization-request.ts';

test.each(['/', '/#/incidents/0190', '/reference', '/a?b=c#d'])('%s is kept', path => {
  expect(returnPath(path)).toBe(path);
});

test.each([
  undefined,
  '',
  'reference',
  'https://evil.example/',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/%0d%0a/../..//evil.example',
  '/.//evil.example',
  '/..//evil.example',
  'javascript:alert(1)',
  '/a\nb',
  '/a\r\nset-cookie: x',
  '/'.padEnd(2000, 'x'),
])('%s leads to the start', text => {
  expect(returnPath(text)).toBe('/');
});

test('whatever is asked for stays on this server', () => {
  const pieces = fc.array(
    fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '@',
      ':',
      '?',
      '#',
      '%2f',
      '%5c',
      'evil.example',
      'http:',
      ' ',
      '\t',
      '﹨',
      '／',
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(pieces, parts => {
      const path = returnPath(parts.join(''));
      expect(new URL(path, 'https://headgate.example').origin).toBe('https://headgate.example');
      expect(path).toMatch(/^\/(?![/\\])/);
    }),
    { numRuns: 2000 },
  );
});
