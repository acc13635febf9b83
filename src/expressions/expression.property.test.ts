import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyEvent } from '../../test/helpers/any-event.ts';
import { DEFAULT_LIMITS } from './evaluation.ts';
import { compileExpression } from './expression.ts';
import { compileTemplate, renderTemplate } from './template.ts';

const NAMES = [
  'a',
  'b',
  'list',
  'item',
  'constructor',
  '__proto__',
  'prototype',
  'length',
  'toString',
  '__e',
];
const METHOD_NAMES = [
  'at',
  'includes',
  'padStart',
  'slice',
  'toFixed',
  'toUpperCase',
  'trim',
  'map',
  'filter',
  'some',
  'join',
  'repeat',
  'padEnd',
  'split',
  'concat',
  'replaceAll',
  'toString',
];

const HELPER_NAMES = [
  'json',
  'html',
  'isoTime',
  'Math.max',
  'Number',
  'Object.keys',
  'Object.values',
  'String',
];

/** Texts of the language's own forms, nested, with the names that attacks use. */
const { source } = fc.letrec<{ source: string }>(tie => ({
  source: fc.oneof(
    { maxDepth: 6, depthSize: 'medium' },
    fc.constantFrom(...NAMES),
    fc.constantFrom('1', '"x"', '9999999', 'null', '[]', '{}'),
    fc.tuple(tie('source'), fc.constantFrom(...NAMES)).map(([a, name]) => `(${a}).${name}`),
    fc.tuple(tie('source'), tie('source')).map(([a, b]) => `(${a})[${b}]`),
    fc
      .tuple(tie('source'), fc.constantFrom('+', '-', '===', '<', '&&', '??', 'in'), tie('source'))
      .map(([a, operator, b]) => `((${a}) ${operator} (${b}))`),
    fc.tuple(tie('source'), tie('source')).map(([a, b]) => `\`\${${a}}-\${${b}}\``),
    fc.tuple(tie('source'), tie('source')).map(([a, b]) => `[${a}, ...[${b}]]`),
    fc.tuple(tie('source'), tie('source')).map(([a, b]) => `({ [${a}]: ${b}, ...(${b}) })`),
    fc
      .tuple(tie('source'), fc.constantFrom('map', 'filter', 'some', 'every', 'find'), tie('source'))
      .map(([a, method, body]) => `(${a}).${method}(item => ${body})`),
    fc
      .tuple(tie('source'), fc.constantFrom(...METHOD_NAMES), tie('source'))
      .map(([a, method, b]) => `(${a}).${method}(${b})`),
    fc
      .tuple(fc.constantFrom(...HELPER_NAMES), tie('source'), tie('source'))
      .map(([helper, a, b]) => `${helper}(${a}, ${b})`),
    fc
      .tuple(fc.constantFrom('matches', 'extract'), tie('source'))
      .map(([helper, a]) => `${helper}(${a}, '(a+)+$')`),
  ),
}));

test('no expression reaches outside its event, changes it, or runs past its bounds', () => {
  const fields = { a: 'text', b: { a: [1, { b: 'x' }] }, list: [1, 'two', { length: 3 }], item: 5 };
  const before = JSON.stringify(fields);
  const globals = Reflect.ownKeys(globalThis).length + Reflect.ownKeys(Object.prototype).length;
  fc.assert(
    fc.property(source, text => {
      const compiled = compileExpression(text);
      if (!compiled.ok) return /^at (line \d+, )?character \d+: ./.test(compiled.problem);
      const started = performance.now();
      try {
        expect(isPlain(compiled.expression.evaluate(fields))).toBe(true);
      } catch (error) {
        expect(error).toMatchObject({ name: 'ExpressionFailure' });
      }
      expect(JSON.stringify(fields)).toBe(before);
      return performance.now() - started < 5000;
    }),
    { numRuns: 2000 },
  );
  expect(Reflect.ownKeys(globalThis).length + Reflect.ownKeys(Object.prototype).length).toBe(globals);
});

/** As large as what a sender may add to an event, and larger. */
const large = {
  a: 'a'.repeat(60_000),
  b: Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n])),
  list: Array.from({ length: 30_000 }, (_, n) => n),
  item: JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`),
};
/** Texts on the way, each character of which JSON may write as six, and the commas and digits between. */
const MOST_CHARACTERS = 16 * 6 * DEFAULT_LIMITS.characters + 30 * DEFAULT_LIMITS.steps;

test('over an event as large as can be no expression takes seconds or makes more than its bounds allow', () => {
  fc.assert(
    fc.property(source, text => {
      const compiled = compileExpression(text);
      if (!compiled.ok) return;
      const began = process.cpuUsage();
      try {
        const value = compiled.expression.evaluate(large);
        expect(JSON.stringify(value)?.length ?? 0).toBeLessThan(MOST_CHARACTERS);
      } catch (error) {
        expect(error).toMatchObject({ name: 'ExpressionFailure' });
      }
      expect(process.cpuUsage(began).user).toBeLessThan(3_000_000);
    }),
    { numRuns: 600 },
  );
});

test('whatever stands in the places of a text and whatever the event holds, it is rendered within its size', () => {
  const template = fc.array(
    fc.oneof(
      source.map(text => `\${${text}}`),
      fc.string(),
    ),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(template, anyEvent, (parts, event) => {
      const compiled = compileTemplate(parts.join(''));
      if (!compiled.ok) return;
      const before = JSON.stringify(event);
      const { text } = renderTemplate(compiled.template, event, value => value.replaceAll('a', '&amp;'));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64 * 1024);
      expect(JSON.stringify(event)).toBe(before);
    }),
    { numRuns: 1000 },
  );
});

test('any text is either compiled or refused with its place', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const compiled = compileExpression(text);
      return compiled.ok || compiled.problem.startsWith('at ');
    }),
    { numRuns: 1000 },
  );
});

function isPlain(value: unknown): boolean {
  if (value === null || ['undefined', 'string', 'number', 'boolean'].includes(typeof value)) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  return (
    typeof value === 'object' &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.values(value).every(isPlain)
  );
}
