import { expect, test } from 'vitest';
import * as z from 'zod';
import { aliasesOf, resolveAliases, withAliases } from './aliases.ts';

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

test.each<[string, object, object | undefined, object]>([
  ['alone', { length: 2 }, { size: 1 }, { size: 2 }],
  ['beside its key that came back', { size: 1, length: 2 }, { size: 1 }, { size: 2 }],
  ['that came back beside a new value', { size: 2, length: 1 }, { size: 1 }, { size: 2 }],
  ['that says the same', { size: 2, length: 2 }, { size: 1 }, { size: 2 }],
  ['that says the same of something new', { size: 2, len: 2 }, undefined, { size: 2 }],
  ['that differs from its key, both being new', { size: 2, length: 3 }, { size: 1 }, { size: 2, length: 3 }],
  ['and what is not its business', { name: 'n', len: 2, other: 3 }, {}, { name: 'n', size: 2, other: 3 }],
])('another name %s is told apart from an echo', (_, sent, shown, expected) => {
  expect(resolveAliases(schema, sent, shown)).toEqual(expected);
});

test('names are known of maps with and without other names, and hostile keys stay keys', () => {
  expect(resolveAliases(fields, { len: 2 }, undefined)).toEqual({ size: 2 });
  expect(resolveAliases(z.string(), { len: 2 }, undefined)).toEqual({ len: 2 });
  const hostile = JSON.parse('{"__proto__": {"size": 9}, "len": 1}');
  expect(Object.getPrototypeOf(resolveAliases(schema, hostile, undefined))).toBe(Object.prototype);
});
