import { expect, test } from 'vitest';
import { stepLimit } from './step-limit.ts';

const read = (value: unknown): unknown => {
  const result = stepLimit({ byDefault: 30, most: 600 }).safeParse(value);
  return result.success ? result.data : result.error.issues.map(({ message }) => message);
};

test.each([
  [undefined, 30],
  [5, 5],
  ['5s', 5],
  ['1m30s', 90],
  ['1500ms', 1.5],
])('the limit %j is %j seconds', (value, seconds) => {
  expect(read(value)).toBe(seconds);
});

test('what is neither a number of seconds nor a duration is refused with both forms, and what is out of bounds by its bound', () => {
  for (const value of ['soon', '', true, null])
    expect(read(value)).toEqual(['must be a number of seconds, or a duration such as 30s']);
  for (const value of [0, 601, '0s', '1h']) expect(read(value)).toEqual([expect.stringMatching(/[<>]=/)]);
});
