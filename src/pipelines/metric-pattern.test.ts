import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONGEST_NAME, patternFault } from './metric-pattern.ts';

describe('patternFault', () => {
  it.each([
    '^my_in_total$',
    '^(app|web)_received_(events|bytes)(_total)?$',
    '^otelcol_(receiver|exporter)_\\w+_(spans|log_records)(_total)?$',
    '^[a-z]{3,8}_total$',
    '^v\\d{2}_in$',
    '_total$',
  ])('accepts %s', pattern => {
    expect(patternFault(pattern)).toBeUndefined();
  });

  it.each([
    ['(', /not a regular expression/],
    ['^(a+)+$', /must not repeat/],
    ['^(a|a)*$', /must not repeat/],
    ['^((a?))*$', /must not repeat/],
    ['^(a|ab){2,9}$', /must not repeat/],
    ['^.*.*.*.*x$', /too long/],
    [`^${'a?'.repeat(40)}b$`, /too long/],
    [`^${'(a|a)'.repeat(40)}b$`, /too long/],
    ['^(a)\\1$', /refer back/],
    ['^(?=a)', /look ahead/],
    [`^${'a'.repeat(400)}$`, /at most 300/],
  ])('refuses %s', (pattern, message) => {
    expect(patternFault(pattern)).toMatch(message);
  });

  it('accepts nothing that takes long on a hostile name', { timeout: 60_000 }, () => {
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
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), pieces => {
        const pattern = `${pieces.join('')}$`;
        fc.pre(patternFault(pattern) === undefined);
        const { user } = process.cpuUsage();
        new RegExp(pattern, 'u').test(`${'a'.repeat(LONGEST_NAME - 1)}!`);
        expect((process.cpuUsage().user - user) / 1000).toBeLessThan(1500);
      }),
      { numRuns: 3000 },
    );
  });
});
