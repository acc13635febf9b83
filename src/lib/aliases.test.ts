import { expect, test } from 'vitest';
import * as z from 'zod';
import { aliasesOf, ownNames, withAliases } from './aliases.ts';

const fields = z.strictObject({
  size: z
    .number()
    .default(1)
    .meta({ aliases: ['length', 'len'] }),
  name: z.string().optional(),
});
const schema = withAliases(fields);

test('a key is read by its own name and by its others', () => {
  for (const key of ['size', 'length', 'len']) expect(schema.parse({ [key]: 5 })).toEqual({ size: 5 });
  expect(schema.parse({})).toEqual({ size: 1 });
  expect([...aliasesOf(fields)]).toEqual([
    ['length', 'size'],
    ['len', 'size'],
  ]);
});

test.each([
  [{ size: 1, length: 2 }, ['length']],
  [{ length: 1, len: 2 }, ['len']],
  [{ size: 1, length: 2, len: 3 }, ['length', 'len']],
])('%j names one thing more than once, which no value of it wins', (value, keys) => {
  expect(schema.safeParse(value).error?.issues).toEqual([
    expect.objectContaining({ code: 'unrecognized_keys', keys }),
  ]);
});

test('what is no map is refused as what it is', () => {
  for (const value of ['length', null, ['length'], 7])
    expect(schema.safeParse(value).error?.issues[0]).toMatchObject({ code: 'invalid_type', path: [] });
});

test('a map is rewritten under its own names, other keys as they are', () => {
  expect(ownNames(schema, { name: 'n', length: 2, other: 3 })).toEqual({ name: 'n', size: 2, other: 3 });
  expect(ownNames(fields, { len: 2 })).toEqual({ size: 2 });
  expect(ownNames(z.string(), { len: 2 })).toEqual({ len: 2 });
  const hostile = JSON.parse('{"__proto__": {"size": 9}, "len": 1}');
  expect(Object.getPrototypeOf(ownNames(schema, hostile))).toBe(Object.prototype);
});
