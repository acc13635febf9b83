import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMsOf } from '../../../test/helpers/cpu-time.ts';
import { asciiJson, bearerToken, isUnambiguousToken, tokenHeader } from './jwt.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('>', '?', '~', '\u007f', '"', '\\', 'ä', '🔑', '\ud800', ' ', 'a') }),
);

test('whatever the texts, the encoded payload holds neither - nor _ and plain base64 decodes it', () => {
  fc.assert(
    fc.property(anyText, anyText, (name, other) => {
      const payload = { name, [other]: name };
      const segment = Buffer.from(asciiJson(payload)).toString('base64url');
      expect(segment).not.toMatch(/[-_]/);
      expect(JSON.parse(atob(segment))).toEqual(payload);
    }),
    { numRuns: 2000 },
  );
});

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_';

test.each([
  `Bearer ${TOKEN}`,
  `Bearer Bearer ${TOKEN}`,
  `bearer ${TOKEN}`,
  `BEARER bearer ${TOKEN}`,
  `Bearer\t${TOKEN}`,
  `Bearer  ${TOKEN}`,
  `Bearer \t Bearer\t\t${TOKEN}`,
])('%j carries the token', header => {
  expect(bearerToken(header)).toBe(TOKEN);
});

test.each([
  '',
  'Bearer',
  'Bearer ',
  'Bearer Bearer',
  'Bearer short',
  TOKEN,
  `Bearer${TOKEN}`,
  `Basic ${TOKEN}`,
  `Bearer Basic ${TOKEN}`,
  `Bearer Bearer Bearer ${TOKEN}`,
  `Bearer ${TOKEN} `,
  `Bearer ${TOKEN} ${TOKEN}`,
  `Bearer ${TOKEN},Bearer ${TOKEN}`,
  `Bearer ${TOKEN}\n`,
  `Bearer "${TOKEN}"`,
  `Bearer ${'a'.repeat(4097)}`,
  ` Bearer ${TOKEN}`,
])('%j carries none', header => {
  expect(bearerToken(header)).toBeUndefined();
});

test('a long header of blanks and words is refused in linear time', async () => {
  const headers = [
    'Bearer '.repeat(50_000),
    `Bearer${' '.repeat(200_000)}`,
    `Bearer${'\t '.repeat(100_000)}Bearer`,
  ];
  for (const header of headers)
    expect(await cpuMsOf(() => expect(bearerToken(header)).toBeUndefined())).toBeLessThan(500);
});

test('whatever stands around a token, a header carries it in the two spellings only', () => {
  const words = fc.constantFrom(
    'Bearer',
    'bearer',
    'Basic',
    TOKEN,
    ' ',
    '  ',
    '\t',
    '\n',
    ',',
    '"',
    '\u0000',
    '=',
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof(words, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 8 }),
      parts => {
        const header = parts.join('');
        const token = bearerToken(header);
        if (token === undefined) return;
        const before = header.slice(0, -token.length).split(/[ \t]+/);
        expect(header.endsWith(token)).toBe(true);
        expect(before.filter(word => word !== '').map(word => word.toLowerCase())).toEqual(
          before.length === 2 ? ['bearer'] : ['bearer', 'bearer'],
        );
      },
    ),
    { numRuns: 2000 },
  );
});

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

test.each([
  ['{"alg":"none","alg":"RS256"}', '{}'],
  ['{"alg":"RS256"}', '{"sub":"a","sub":"b"}'],
  ['{"alg":"RS256"}', '{"sub":"a","s\\u0075b":"b"}'],
  ['{"alg":"RS256"}', '\ufeff{}'],
  ['{"alg":"RS256"}', '{}{}'],
  ['{"alg":"RS256"}', '{"__proto__":{"role":"owner"}}'],
])('a token of the parts %s and %s does not mean one thing', (header, claims) => {
  expect(isUnambiguousToken(`${encoded(header)}.${encoded(claims)}.c2ln`)).toBe(false);
});

test('the header of a token whose segments have another spelling is none', () => {
  const header = encoded('{"typ":"a"}');
  expect(tokenHeader(`${header}.e30.c2ln`)).toEqual({ typ: 'a' });
  for (const token of [`${header}=.e30.c2ln`, `${header}.e30`, `${header}.e30.c2ln.x`, `${header}.e31.c2ln`])
    expect(tokenHeader(token)).toBeUndefined();
});
