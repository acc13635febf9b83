import { describe, expect, it } from 'vitest';
import { quote, quoteAddress } from './problems.ts';

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

describe('quoteAddress', () => {
  it.each([
    ['htps://hooks.example/services/key', "'htps://hooks.example/********'"],
    ['https:/hooks.example/services/key', "'https:/hooks.example/********'"],
    ['hooks.example/key', "'hooks.example/********'"],
    ['https://hooks.example?key=1', "'https://hooks.example/********'"],
    ['https://me:p/w@hooks.example/key', "'https://********@hooks.example/********'"],
    ['http://10.0.0.1:8080/', "'http://10.0.0.1:8080/'"],
    ['eu-west-9', "'eu-west-9'"],
  ])('shows %s as %s', (value, expected) => {
    expect(quoteAddress(value)).toBe(expected);
  });
});
