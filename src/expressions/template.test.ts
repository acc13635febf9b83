import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileTemplate, renderTemplate, type Template } from './template.ts';

const fields = { _raw: 'no data', bytes: 0, ok: false, origin: { id: 'a"b', list: [1] }, gone: null };

function template(text: string): Template {
  const compiled = compileTemplate(text);
  if (!compiled.ok) throw new Error(compiled.problem);
  return compiled.template;
}
const outputOf = (text: string, of: Readonly<Record<string, unknown>> = fields): string =>
  renderTemplate(template(text), of).text;

test.each([
  ['${_raw}', 'no data'],
  ['[${ _raw }] ${bytes}/${ok}', '[no data] 0/false'],
  ['${origin}', '{"id":"a\\"b","list":[1]}'],
  ['${origin.id} of ${ origin.list.length > 0 ? `${_raw}}` : "none" }', 'a"b of no data}'],
  ['${missing}${gone}|', '|'],
  ['${toString}${__proto__}|', '|'],
  ['a $5 } {x} $ `tick` \\n', 'a $5 } {x} $ `tick` \\n'],
  ['$${bytes}', '$0'],
  ['', ''],
])('%s gives %j', (text, output) => {
  expect(outputOf(text)).toBe(output);
});

test('what is missing where a place is empty is named, once, and what has another value is not', () => {
  const text = '${_raw}${nothing}${gone}${missing.id}${nothing ?? ""}${other ?? "x"}${[1].some(one => one)}';
  expect(renderTemplate(template(text), fields)).toEqual({
    text: 'no dataxtrue',
    failure: undefined,
    missing: ['nothing', 'missing'],
  });
});

test('a value that looks like a place is not rendered again', () => {
  expect(outputOf('${a}', { a: '${b}{{b}}{{constructor.constructor("x")()}}', b: 'no' })).toBe(
    '${b}{{b}}{{constructor.constructor("x")()}}',
  );
});

test('braces of another language are text', () => {
  expect(outputOf("{{constructor.constructor('return process')()}}")).toBe(
    "{{constructor.constructor('return process')()}}",
  );
});

test.each([
  ['abc ${', /^at character 5: '\$\{' is not closed/],
  ['${ok} ${never', /^at character 7: '\$\{' is not closed/],
  ['${}', /^at character 1: nothing stands/],
  ['x\n${ok} ${1a}', /^at line 2, character 10: /],
  ['${process.exit()}', /^at character 11: 'exit' is no function/],
  ['${ok = 1}', /^at character 3: assignment expression is not allowed/],
  ['${a${b}}', /^at character 1: /],
])('%s is refused with its place', (text, message) => {
  expect(compileTemplate(text)).toEqual({ ok: false, problem: expect.stringMatching(message) });
});

test('a text without places comes out as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => {
      fc.pre(!text.includes('${'));
      return outputOf(text) === text;
    }),
  );
});

test('output is cut at 64 KB', () => {
  const long = outputOf('${a}${a}${a}', { a: '€'.repeat(15_000) });
  expect(Buffer.byteLength(long)).toBe(65_535);
  expect(long).toBe('€'.repeat(21_845));
});

test('a place that fails is empty, and the first of them is reported', () => {
  expect(renderTemplate(template('${_raw}: ${gone.trim()}${bytes.trim()}!'), fields)).toEqual({
    text: 'no data: !',
    failure: "at place 2: what is missing has no 'trim'",
    missing: [],
  });
});

test('values are escaped, the text around them is not', () => {
  const { text } = renderTemplate(template('<b>${_raw}</b>'), { _raw: '<' }, value =>
    value.replace('<', '&lt;'),
  );
  expect(text).toBe('<b>&lt;</b>');
});

test('a template knows the fields it reads and shows as its text', () => {
  const one = template('${a} ${b.c} ${a} ${d.map(e => e.f)}');
  expect(one.names).toEqual(['a', 'b', 'd']);
  expect(JSON.stringify({ one })).toBe('{"one":"${a} ${b.c} ${a} ${d.map(e => e.f)}"}');
});

test('a place that throws what no expression knows is empty, and the rest of the text stands', () => {
  const compiled = compileTemplate('${count} of ${total}');
  if (!compiled.ok) throw new Error(compiled.problem);
  const [first, second] = compiled.template.values;
  if (first === undefined || second === undefined) throw new Error('two places');
  const overflow = (): never => {
    throw new RangeError('Maximum call stack size exceeded');
  };
  expect(renderTemplate({ ...compiled.template, values: [overflow, second] }, { total: 2 })).toMatchObject({
    text: ' of 2',
    failure: 'at place 1: maximum call stack size exceeded',
  });
});
