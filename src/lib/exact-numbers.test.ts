import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isExactNumber, isInexactNumber } from './exact-numbers.ts';

it.each([
  '0',
  '-0',
  '42',
  '9007199254740991',
  '-9007199254740991',
  '0.1',
  '1.5e3',
  '1e308',
  '0e5',
  '0.000',
  '5e-324',
])('keeps %s as a number', text => {
  expect(isExactNumber(text)).toBe(true);
  expect(isInexactNumber(text)).toBe(false);
});

it.each([
  '9007199254740992',
  '-9007199254740992',
  '12345678901234567890',
  '1e999',
  '-1e999',
  '1e-999',
  '1.7e-400',
])('keeps the digits of %s', text => {
  expect(isExactNumber(text)).toBe(false);
  expect(isInexactNumber(text)).toBe(true);
});

it('takes no text for a number', () => {
  for (const value of ['', 'abc', '12345678901234567890 ', '0x', '1e', 'Infinity', 1e20, null])
    expect(isInexactNumber(value)).toBe(false);
});

it('keeps every number that a program has written of its own floating-point numbers', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter(value => !Number.isInteger(value)),
      value => isExactNumber(JSON.stringify(value)) && isExactNumber(value.toExponential(16)),
    ),
  );
});

it('keeps a whole number exactly when none of its digits is lost', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), value => {
      if (isExactNumber(String(value))) expect(BigInt(Number(value))).toBe(value);
      else expect(value > 2n ** 53n - 1n || value < 1n - 2n ** 53n).toBe(true);
    }),
  );
});
