import fc from 'fast-check';
import { isMap, type PlainMap } from '../../src/config/plain.ts';
import { resolved } from './document.ts';

/** Values that nobody asked for, of every kind JSON has. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1e9,
    1e308,
    -0.5,
    '',
    ' ',
    '${env:PATH}',
    '${secret:x}',
    '********',
  ),
  fc.constantFrom<unknown>(
    [],
    {},
    [[]],
    { id: {} },
    '__proto__',
    'constructor',
    '../../etc/passwd',
    '\u0000',
    '\ud800',
  ),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Mostly what the schema wants, at times not. */
export function valuesOf(schema: PlainMap, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: wanted(resolved(schema), depth) }, { weight: 1, arbitrary: junk });
}

function wanted(schema: PlainMap, depth: number): fc.Arbitrary<unknown> {
  const options = [schema.oneOf, schema.anyOf].find(Array.isArray);
  if (options !== undefined) return fc.oneof(...options.map((one: PlainMap) => valuesOf(one, depth)));
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom<unknown>(...schema.enum);
  switch (schema.type) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: bound(schema.minimum, -10), max: bound(schema.maximum, 100_000) });
    case 'number':
      return fc.double({ min: bound(schema.minimum, -10), max: bound(schema.maximum, 100_000), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valuesOf(isMap(schema.items) ? schema.items : {}, depth + 1), {
        maxLength: depth > 3 ? 1 : 3,
      });
    case 'object':
      return objectOf(schema, depth);
    default:
      return junk;
  }
}

/** What a text means is in its description, and no generator reads that: some that are often meant. */
const often = fc.constantFrom(
  '5m',
  '2/second',
  'https://hooks.example/x',
  'true',
  'app',
  'a@b.example',
  '10.0.0.0/8',
);

const textOf = ({ pattern, const: fixed }: PlainMap): fc.Arbitrary<string> => {
  if (typeof fixed === 'string') return fc.constant(fixed);
  if (typeof pattern === 'string')
    return fc.stringMatching(new RegExp(pattern)).map(text => text.slice(0, 60));
  return fc.oneof(often, fc.string({ maxLength: 20 }), fc.stringMatching(/^[a-z_]{1,8}$/));
};

const bound = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

/** Every required key, as a rule; some of the others; and at times one that is not there. */
function objectOf(schema: PlainMap, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries(isMap(schema.properties) ? schema.properties : {});
  const required = Array.isArray(schema.required) ? schema.required : [];
  const keys = properties.map(([name, one]) => {
    const value = valuesOf(isMap(one) ? one : {}, depth + 1);
    const kept = required.includes(name) ? 0.95 : depth > 3 ? 0.1 : 0.35;
    return fc
      .tuple(fc.double({ min: 0, max: 1, noNaN: true }), value)
      .map(([chance, drawn]): [string, unknown][] => (chance < kept ? [[name, drawn]] : []));
  });
  const strange = fc.oneof(
    { weight: 15, arbitrary: fc.constant<[string, unknown][]>([]) },
    { weight: 1, arbitrary: fc.tuple(fc.string({ maxLength: 12 }), junk).map(pair => [pair]) },
  );
  return fc
    .tuple(fc.tuple(...keys), strange)
    .map(([own, other]) => Object.fromEntries([...own.flat(), ...other]));
}
