import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern, LONGEST_NAME, patternFault } from './metric-pattern.ts';

describe('patternFault', () => {
  it.each([
    '^my_in_total$',
    '^(app|web)_received_(events|bytes)(_total)?$',
    '^otelcol_(receiver|exporter)_\\w+_(spans|log_records)(_total)?$',
    '^[a-z]{3,8}_total$',
    '^v\\d{2}_in$',
    '_total$',
    '^.*.*.*.*x$',
    '^(a|ab)*_total$',
  ])('accepts %s', pattern => {
    expect(patternFault(pattern)).toBeUndefined();
  });

  it.each([
    ['(', /not a regular expression/],
    ['^(a)\\1$', /refer back/],
    ['^(?=a)', /look ahead/],
    [`^${'a'.repeat(400)}$`, /at most 300/],
    ['^a{401}$', /more than 400 in braces/],
    ['^(a{9,300}|b{200}){2}$', /more than 400 in braces/],
    ['^(((a{10}){10}){10}){10}$', /not known here/],
  ])('refuses %s', (pattern, message) => {
    expect(patternFault(pattern)).toMatch(message);
  });
});

const piece = fc.constantFrom(
  'a',
  '.',
  '\\w',
  '[ab]',
  '*',
  '+',
  '?',
  '{1,9}',
  '(',
  '(?:',
  ')',
  '|',
  '^',
  '{2}',
);
const anyPattern = fc
  .array(piece, { maxLength: 14 })
  .map(pieces => `${pieces.join('')}$`)
  .filter(pattern => patternFault(pattern) === undefined);

describe('a compiled pattern', () => {
  it('fits the names that JavaScript says it fits', () => {
    const names = fc.stringMatching(/^[ab_]{0,12}$/);
    fc.assert(
      fc.property(anyPattern, names, (pattern, name) => {
        expect(compilePattern(pattern).test(name)).toBe(new RegExp(pattern, 'u').test(name));
      }),
      { numRuns: 1000 },
    );
  });

  it('takes no long time on a hostile name', () => {
    fc.assert(
      fc.property(anyPattern, pattern => {
        const { user } = process.cpuUsage();
        compilePattern(pattern).test(`${'a'.repeat(LONGEST_NAME - 1)}!`);
        expect((process.cpuUsage().user - user) / 1000).toBeLessThan(500);
      }),
      { numRuns: 1000 },
    );
  });
});

it('keeps what was compiled for all who use the same pattern, and no more of it than may be', () => {
  const [one, other] = [compilePattern('^shared_in$'), compilePattern('^shared_in$')];
  expect(other).toBe(one);
  for (let at = 0; at < 300; at++) compilePattern(`^other_${at}$`);
  const anew = compilePattern('^shared_in$');
  expect(anew).not.toBe(one);
  expect([one, anew].map(pattern => [pattern.test('shared_in'), pattern.test('shared_out')])).toEqual([
    [true, false],
    [true, false],
  ]);
});
