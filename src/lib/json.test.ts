import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { codeOf, reasonOf } from './errors.ts';
import { parseJson, parseJsonBytes, parseJsonInSlices } from './json.ts';

it('reads what JSON.parse reads, for every value without duplicate keys', () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 8 }).filter(text => !text.includes('__proto__')),
      text => {
        const plain = JSON.stringify(JSON.parse(text));
        expect(parseJson(plain, { numbers: 'nearest' })).toEqual(JSON.parse(plain));
      },
    ),
  );
});

it.each([
  ['{"a":1,"a":2}', "the key 'a' twice"],
  ['{"x":{"id":1,"\\u0069d":2}}', "the key 'id' twice"],
  ['[{"__proto__":{"admin":true}}]', '__proto__'],
  ['{"\\u005f_proto__":1}', '__proto__'],
  ['[{"constructor":{"prototype":{"admin":true}}}]', "'prototype' in 'constructor'"],
  ['{"constructor":{"a":[{}],"protot\\u0079pe":1}}', "'prototype' in 'constructor'"],
  [`${'['.repeat(33)}${']'.repeat(33)}`, 'deeper than 32'],
  ['{"a":', 'not valid JSON'],
  ['\u0000', 'not valid JSON'],
])('refuses %s', (text, reason) => {
  expect(() => parseJson(text)).toThrow(reason);
});

it.each([
  '{"a":"x:y","b":["a","a"]}',
  '{"a":{"a":1}}',
  '{"constructor":"x","prototype":{"constructor":[]}}',
  '{"constructor":{},"a":{"prototype":1}}',
  '[{"a":1},{"a":2}]',
  '{"a" : "\\"a\\":"}',
  `${'['.repeat(32)}${']'.repeat(32)}`,
])('takes %s', text => {
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

it('keeps the digits of numbers that a number cannot hold, and only theirs', () => {
  const text =
    '{"id": 12345678901234567890 ,"list":[-9007199254740993,1e999,1,0.1],"text":"12345678901234567890"}';
  expect(parseJson(text)).toEqual({
    id: '12345678901234567890',
    list: ['-9007199254740993', '1e999', 1, 0.1],
    text: '12345678901234567890',
  });
  expect(parseJson('12345678901234567890')).toBe('12345678901234567890');
});

it('keeps the digits of any whole number', () => {
  const shortest = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value));
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), value => {
      expect(parseJson(`{"a":${value}}`)).toEqual({ a: shortest(value) });
    }),
  );
});

it('reads measurements and tokens as the nearest number', () => {
  expect(parseJson('[12345678901234567890]', { numbers: 'nearest' })).toEqual([
    Number('12345678901234567890'),
  ]);
  expect(parseJsonBytes(new TextEncoder().encode('{"exp":12345678901234567890}'))).toEqual({
    exp: Number('12345678901234567890'),
  });
});

it('takes no text that JSON.parse does not take, wherever a large number stands in it', () => {
  const part = fc.constantFrom(
    ...['{', '}', '[', ']', ':', ',', ' ', '"a"', '"b":', '-', '0', '1', '.5', 'e', 'null', '+'],
    ...['12345678901234567890', '1e999', '"c":12345678901234567890'],
  );
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 7 }), parts => {
      const text = parts.join('');
      if (!isJson(text)) expect(() => parseJson(text)).toThrow();
      else if (!/("[abc]").*\1/.test(text)) expect(parseJson(text)).toBeDefined();
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['a byte order mark', '\ufeff{}'],
  ['a member that stands twice', '{"a":1,"a":1}'],
  ['a second value', '{} {}'],
  ['a zero byte', '{}\u0000'],
])('bytes with %s are refused', (_what, text) => {
  expect(() => parseJsonBytes(new TextEncoder().encode(text))).toThrow();
});

it('bytes that are no UTF-8 are refused', () => {
  expect(() => parseJsonBytes(new Uint8Array([0x22, 0xc3, 0x28, 0x22]))).toThrow('UTF-8');
});

/** Values whose objects have no key twice, none of them refused. */
const values = fc
  .jsonValue({ maxDepth: 5, depthSize: 'large' })
  .map((value): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto').replaceAll('prototype', 'type')),
  );

it('makes the same of a text in pieces, however small, as of the whole', () => {
  fc.assert(
    fc.property(
      values,
      fc.constantFrom(undefined, 1, '\t'),
      fc.nat({ max: 30 }),
      (value, space, pieceCharacters) => {
        const text = JSON.stringify(value, null, space);
        const read = parseJson(text, { numbers: 'nearest', pieceCharacters });
        expect(read).toEqual(JSON.parse(text));
        expect(JSON.stringify(read)).toBe(JSON.stringify(JSON.parse(text)));
      },
    ),
    { numRuns: 2000 },
  );
});

it('answers the same for a text that is damaged, in pieces or as a whole', () => {
  const damaged = fc
    .tuple(
      values,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'[]{},:"\\1e-x ', '')), { minLength: 1, maxLength: 4 }),
    )
    .map(([value, edits]) =>
      edits.reduce((text, [at, mark]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + mark + text.slice(place + 1);
      }, JSON.stringify(value)),
    );
  const answerOf = (read: () => unknown): unknown => {
    try {
      return { value: read() };
    } catch (error) {
      return { code: codeOf(error), message: reasonOf(error) };
    }
  };
  fc.assert(
    fc.property(damaged, fc.nat({ max: 20 }), (text, pieceCharacters) => {
      const whole = answerOf(() => parseJson(text));
      expect(answerOf(() => parseJson(text, { pieceCharacters }))).toEqual(whole);
      if (!('value' in Object(whole))) expect(whole).toMatchObject({ code: 'invalid-request' });
      else expect(() => JSON.parse(text)).not.toThrow();
    }),
    { numRuns: 3000 },
  );
});

it.each([
  ['16 MB of blanks', () => `[${' '.repeat(16_000_000)}]`],
  ['8 MB of one text', () => `["${'x'.repeat(8_000_000)}"]`],
  ['a text of escapes', () => `["${'\\n'.repeat(4_000_000)}"]`],
  ['900,000 numbers', () => `[${'0,'.repeat(900_000)}0]`],
  ['lists in lists', () => `[${'[0],[[1]],'.repeat(160_000)}[]]`],
])('reads %s in slices of which each is a small part of the work', (_what, make) => {
  const text = make();
  const work = parseJsonInSlices(text);
  let slices = 1;
  let next = work.next();
  for (; next.done !== true; next = work.next()) slices++;
  expect(slices).toBeGreaterThan(5);
  expect(next.value).toEqual(JSON.parse(text));
});

it.each([
  ['a number of more than 1024 characters', () => `[${'1'.repeat(2_000_000)}]`],
  ['a text of more than 8388608 characters', () => `["${'x'.repeat(17_000_000)}"]`],
])('refuses %s', (reason, make) => {
  expect(() => parseJson(make())).toThrow(reason);
});
