import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asciiJson } from './ascii-json.ts';

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
