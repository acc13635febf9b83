import { expect, test } from 'vitest';
import { compileExpression, compileExpressionOrText, type Expression } from './expression.ts';

const event = {
  _raw: 'Source "syslog:app" is silent',
  status: 'ALARM',
  input: 'syslog:app',
  bytes: 1500,
  zero: 0,
  gone: null,
  tags: ['web', 'db'],
  rows: [
    { name: 'a', bytes: 5 },
    { name: 'b', bytes: 50 },
  ],
  'odd name': 'x',
};

function expression(text: string): Expression {
  const compiled = compileExpression(text);
  if (!compiled.ok) throw new Error(compiled.problem);
  return compiled.expression;
}
const result = (text: string, fields: Readonly<Record<string, unknown>> = event): unknown =>
  expression(text).evaluate(fields);

test.each([
  ["'production'", 'production'],
  ['status === "ALARM" && bytes > 1_000', true],
  ['bytes / 1000 + 0.5', 2],
  ["'n: ' + bytes + missing + gone", 'n: 1500'],
  ['`${input}|${missing}|${rows[1].name}|${tags}`', 'syslog:app||b|["web","db"]'],
  ["input.startsWith('syslog') ? input.slice(7).toUpperCase() : null", 'APP'],
  ["missing ?? zero ?? 'never'", 0],
  ["missing || 'n/a'", 'n/a'],
  ['missing.deeper.still', undefined],
  ['missing?.trim().slice(1)', undefined],
  ["__e['odd name']", 'x'],
  ["'bytes' in rows[0] && !('nothing' in rows[0])", true],
  ['rows.filter(row => row.bytes > 9).map((row, n) => `${n}:${row.name}`)', ['0:b']],
  ['rows.some(a => tags.every(t => t.length > 1 && a.bytes > 9))', true],
  ["tags.find(tag => tag.includes('b') && tag !== 'web')", 'db'],
  [
    '{ kind: "x", ["a" + 1]: [...tags, 1], ...rows[0] }',
    { kind: 'x', a1: ['web', 'db', 1], name: 'a', bytes: 5 },
  ],
  ["input.split(':').join('/')", 'syslog/app'],
  ["'a.b.c'.replaceAll('.', '$&')", 'a$&b$&c'],
  ["'7'.padStart(3, '0') + 'ab'.repeat(2)", '007abab'],
  ['(3.14159).toFixed(2)', '3.14'],
  ['Math.max(1, bytes, 7) - Math.round(0.6)', 1499],
  ['json(rows[0])', '{"name":"a","bytes":5}'],
  ['html("<a & \'b\'>")', '&lt;a &amp; &#39;b&#39;&gt;'],
  ["plainText('a\\r\\nb\\rc\\0\\u0085\\td')", 'a\nb\nc\td'],
  ['isoTime(1706747300)', '2024-02-01T00:28:20.000Z'],
  ['Object.keys(rows[0]).concat(Object.values(rows[0]))', ['name', 'bytes', 'a', 5]],
  ["matches(input, '^sys(log)?:') && !matches(input, '\\\\d')", true],
  ['extract(_raw, \'"(.+?)"\')', 'syslog:app'],
  ["extract(_raw, '[0-9]+')", null],
  ['typeof bytes + -zero', 'number0'],
  ["1 == '1' && null == undefined && '1' !== 1", true],
])('%s', (text, value) => {
  expect(result(text)).toEqual(value);
});

test('values in a text that is JSON are escaped as JSON has it; in another text they stand as they are', () => {
  const text = String(result('`{ "m": "${_raw}", "n": ${bytes}, "o": ${gone}, "t": ${tags} }`'));
  expect(JSON.parse(text)).toEqual({ m: event._raw, n: 1500, o: null, t: event.tags });
  expect(result('`[${status}] "${_raw}"`')).toBe(`[ALARM] "${event._raw}"`);
});

test.each([
  ['status = "OK"', /^at character 1: assignment expression is not allowed/],
  ['bytes++', /^at character 1: update expression/],
  ['a; b', /^at character 2: only one expression/],
  ['a // b', /^at character 3: only one expression/],
  ['new Date()', /^at character 1: new expression/],
  ['(() => 1)()', /^at character 1: is no function here/],
  ['() => 1', /^at character 1: a function stands only in some/],
  ['function () {}', /function expression is not allowed/],
  ['tags.map(tag => { return tag })', /an arrow is an expression/],
  ['tags.map(({ length }) => length)', /a parameter is a plain name/],
  ['tags.map(String)', /^at character 1: map takes one arrow/],
  ['tags.sort((a, b) => 1)', /^at character 6: 'sort' is no function/],
  ['{ get a() { return 1 } }', /values only/],
  ['/a/.test(b)', /^at character 1: regular expressions stand as texts/],
  ["matches(a, '(a')", /^at character 12: the pattern is no regular expression/],
  ["matches(a, '((a{100}){10}){10}')", /^at character 12: the pattern /],
  ['matches(a, b)', /must be a text in quotes/],
  ['import("fs")', /import expression is not allowed/],
  ['this', /this expression is not allowed/],
  ['a`b`', /tagged template/],
  ['delete a.b', /'delete' is not allowed/],
  ['(a, b)', /sequence expression/],
  ['a.b(...c)', /at character 5: 'b'|at character 3: 'b'/],
  ['1 +', /^at character 4: ends too early/],
  ['"a\n', /^at line 1, character 1: unterminated string/],
  ['', /ends too early/],
])('%s is refused with its place', (text, message) => {
  expect(compileExpression(text)).toEqual({ ok: false, problem: expect.stringMatching(message) });
});

test('a bare text with places is read where Cribl’s documents have one', () => {
  const one = compileExpressionOrText('notification=${_raw}');
  expect(one.ok && one.expression.evaluate(event)).toBe(`notification=${event._raw}`);
  const wrapped = compileExpressionOrText('{"items":[${events}]}');
  expect(wrapped.ok && wrapped.expression.evaluate({ events: '{"a":1},{"b":2}' })).toBe(
    '{"items":[{"a":1},{"b":2}]}',
  );
  const json = compileExpressionOrText('{"text":"${_raw}", "n": 1}');
  expect(json.ok && json.expression.evaluate(event)).toBe(`{"text":${JSON.stringify(event._raw)}, "n": 1}`);
  const object = compileExpressionOrText('{ text: `${status}!`, plain: "no place" }');
  expect(object.ok && object.expression.evaluate(event)).toEqual({ text: 'ALARM!', plain: 'no place' });
  expect(compileExpressionOrText('prod eu')).toEqual({
    ok: false,
    problem: expect.stringMatching(/only one/),
  });
});

test.each([
  ['deep', '('.repeat(30_000), /is nested too deeply/],
  ['nested', `${'('.repeat(300)}1${')'.repeat(300)}`, /is nested too deeply/],
  ['many-part', `[${'1,'.repeat(6000)}]`, /more than 5000 parts/],
  ['long', '1'.repeat(65_537), /more than 65536 characters/],
])('a %s expression is refused', (_, text, message) => {
  expect(compileExpression(text)).toEqual({ ok: false, problem: expect.stringMatching(message) });
});

test('a text that is longer than one may be made can be cut', () => {
  const fields = { _raw: 'x'.repeat(200_000) };
  expect(result('truncate(_raw, 3) + truncateBytes(_raw, 2)', fields)).toBe('xx…xx');
  expect(() => result('_raw + "!"', fields)).toThrow('more than 65536 characters');
});

/** Ways out of sandboxes that others were found to have. */
test.each([
  'constructor',
  '__proto__',
  'toString',
  'a["constructor"]',
  'a["__proto__"]',
  'a[`constr${"uctor"}`]',
  '"".constructor',
  '[].constructor',
  '(1).constructor',
  'tags.map',
  'tags["filter"]',
  '"x"["at"]',
  'rows.map(row => row.constructor)[0]',
  '{ a: 1 }.constructor',
  '({ __proto__: tags }).length',
  '{ ["__proto__"]: tags }.length',
  'process',
  'globalThis',
  'global.process',
  'require',
  'Function',
  'Math',
  'Object.prototype',
  'hidden',
  'date.getTime',
  'work',
])('%s gives nothing', text => {
  const fields = { ...event, a: {}, date: new Date(0), work: () => 'reached' };
  Object.defineProperty(fields, 'hidden', { enumerable: true, get: () => 'reached' });
  expect(result(text, fields)).toBeUndefined();
});

test.each([
  "constructor.constructor('return process')()",
  '"".constructor.constructor("x")()',
  'tags.map(t => t.constructor("x"))',
  'toString.call(1)',
  'Object.assign(a, b)',
  'Object.getPrototypeOf(a)',
  'Math.constructor("x")',
  'Reflect.get(a, "b")',
  'eval("1")',
  'a["b"]()',
  'setTimeout(a)',
])('%s is refused', text => {
  expect(compileExpression(text).ok).toBe(false);
});

test('what an expression gives is a copy, and a name of every kind is only a name in it', () => {
  const fields = JSON.parse('{"a": {"__proto__": {"x": 1}, "toJSON": "no", "deep": [{}]}}');
  const value = result('a', fields);
  expect(JSON.stringify(value)).toBe(JSON.stringify(fields.a));
  expect(value).not.toBe(fields.a);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(result('a + ""', fields)).toBe(JSON.stringify(fields.a));
});

const list = Array.from({ length: 1000 }, (_, n) => n);
test.each([
  ['list.map(a => list.map(b => list.map(c => a + b + c)))', /steps/],
  ['list.filter(a => list.some(b => list.every(c => c >= 0 && b < 0)))', /steps/],
  ['"x".repeat(536870912)', /characters/],
  ['"x".padEnd(536870912)', /characters/],
  ['"x".padEnd(1 / 0)', /characters/],
  ['"x".padStart(1 / 0)', /characters/],
  ['list.map(a => "x".repeat(60000))', /characters|steps/],
  ['list.map(a => json(list))', /characters|steps/],
  ['list.map(a => list)', /steps/],
  [`long.concat(${'long, '.repeat(1000)}long)`, /steps/],
  ['text.replaceAll("a", text)', /characters/],
  ['list.map(a => text.includes(text))', /steps/],
  ['text + text', /characters/],
  ['`${text}${text}`', /characters/],
  ['list.map(a => matches(text, "(a+)+$"))', /steps/],
])('%.60s ends at its bounds', (text, message) => {
  const fields = { list, text: 'a'.repeat(50_000), long: Array(1_000_000).fill(0) };
  const started = process.cpuUsage();
  expect(() => result(text, fields)).toThrow(message);
  expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
});

test.each(['(a+)+$', '^(a|a)*b$', '(.*a){20}', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
  'the pattern %s takes time that grows with the text only',
  pattern => {
    const fields = { text: `${'a'.repeat(50_000)}!` };
    const started = process.cpuUsage();
    try {
      result(`matches(text, '${pattern}')`, fields);
    } catch (error) {
      expect(error).toMatchObject({ name: 'ExpressionFailure' });
    }
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  },
);
