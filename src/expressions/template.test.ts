import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileTemplate, fieldsOf, render } from './template.ts';

const fields = { _raw: 'no data', bytes: 0, ok: false, origin: { id: 'a"b', list: [1] }, gone: null };

test.each([
  ['${_raw}', 'no data'],
  ['[${ _raw }] ${bytes}/${ok}', '[no data] 0/false'],
  ['${origin}', '{"id":"a\\"b","list":[1]}'],
  ['${missing}${gone}|', '|'],
  ['${toString}${__proto__}|', '|'],
  ['a $5 } {x} $', 'a $5 } {x} $'],
  ['$${bytes}', '$0'],
  ['', ''],
])('%s gives %j', (text, output) => {
  expect(render(compileTemplate(text), fields)).toBe(output);
});

test('a value that looks like a place is not rendered again', () => {
  expect(render(compileTemplate('${a}'), { a: '${b}', b: 'no' })).toBe('${b}');
});

test.each([
  ['abc ${', /character 5: '\$\{' is not closed/],
  ['${ok} ${never', /character 7: '\$\{' is not closed/],
  ['${}', /character 1: '' is not a field name/],
  ['x${a.b}', /character 2: 'a\.b' is not a field name/],
  ['${process.exit()}', /not a field name/],
  ['${1a}', /not a field name/],
  ['${a${b}}', /not a field name/],
])('%s is refused with its place', (text, message) => {
  expect(() => compileTemplate(text)).toThrow(
    expect.objectContaining({ code: 'invalid-request', message: expect.stringMatching(message) }),
  );
});

test('a text without places comes out as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => {
      fc.pre(!text.includes('${'));
      return render(compileTemplate(text), fields) === text;
    }),
  );
});

test('output is cut at 64 KB', () => {
  const long = render(compileTemplate('${a}${a}${a}'), { a: '€'.repeat(15_000) });
  expect(Buffer.byteLength(long)).toBe(65_535);
  expect(long).toBe('€'.repeat(21_845));
});

test('a template knows its fields and shows as its text', () => {
  const template = compileTemplate('${a} ${b} ${a}');
  expect(fieldsOf(template)).toEqual(['a', 'b']);
  expect(JSON.stringify({ template })).toBe('{"template":"${a} ${b} ${a}"}');
});
