import { describe, expect, it } from 'vitest';
import { quote } from './problems.ts';

describe('quote', () => {
  it.each([
    ['text', "'text'"],
    [1.5, '1.5'],
    [false, 'false'],
    [null, 'nothing'],
    [[1], 'a list'],
    [{ a: 1 }, 'a map'],
    ['two\nlines', "'two\\nlines'"],
    ['\u001b[31mred', "'\\u001b[31mred'"],
    ['https://me:p@ss/w@host/path', "'https://********@host/path'"],
  ])('shows %j as %s', (value, expected) => {
    expect(quote(value)).toBe(expected);
  });

  it('shortens long texts', () => {
    expect(quote('é'.repeat(1000))).toBe(`'${'é'.repeat(60)}…'`);
  });

  it('hides a password that ends beyond the part that is shown', () => {
    expect(quote(`https://me:hunter2${'x'.repeat(5000)}@host/`)).not.toContain('hunt');
  });
});
