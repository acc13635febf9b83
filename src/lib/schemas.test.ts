import { expect, it } from 'vitest';
import type * as z from 'zod';
import { duration, httpUrl, identifier, secretText } from './schemas.ts';

const fault = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value).error?.issues[0]?.message;

it.each(['a', 'ops_hook-2', 'A'.repeat(512)])('takes the id %s', id => {
  expect(fault(identifier, id)).toBeUndefined();
});

it.each(['', 'a b', 'a/b', 'é', 'a\n', 'A'.repeat(513)])('refuses the id %j', id => {
  expect(fault(identifier, id)).toContain('letters, digits');
});

it('holds durations to their limits', () => {
  const window = duration({ min: '1s', max: '1h' });
  expect(fault(window, '999ms')).toBe('must be at least 1s');
  expect(fault(window, '61m')).toBe('must be at most 1h');
  expect(fault(window, 'soon')).toContain('such as 30s');
  expect(window.parse('60m').ms).toBe(3_600_000);
});

it.each([
  ['ftp://host/', 'http://'],
  ['hooks.example/x', 'http://'],
  ['https://user:word@host/', 'user name or password'],
  ['https://user@host/', 'user name or password'],
])('refuses the address %s', (url, reason) => {
  expect(fault(httpUrl, url)).toContain(reason);
});

it('keeps a secret from every later print', () => {
  expect(JSON.stringify(secretText.parse('hunter2'))).not.toContain('hunter2');
});
