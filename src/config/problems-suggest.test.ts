import { describe, expect, it } from 'vitest';
import { suggest } from './problems.ts';

describe('suggest', () => {
  it.each([
    ['a missing letter', 'prt', 'port'],
    ['two letters swapped', 'prot', 'port'],
    ['another case', 'authtokenttl', 'authTokenTTL'],
    ['a longer form', 'warning', 'warn'],
    ['an abbreviation', 'interv', 'interval'],
  ])('finds what was meant in spite of %s', (_, text, meant) => {
    expect(suggest(text, ['host', 'port', 'authTokenTTL', 'warn', 'interval'])).toBe(meant);
  });

  it('suggests nothing when nothing is near, nor for a text nobody typed', () => {
    expect(suggest('zzz', ['host', 'port'])).toBeUndefined();
    expect(suggest('x', ['host'])).toBeUndefined();
    expect(suggest('p'.repeat(100_000), ['port'])).toBeUndefined();
  });

  it('prefers the nearest', () => {
    expect(suggest('hook_a', ['hook_b1', 'hook_aa', 'hook_xyz'])).toBe('hook_aa');
    expect(suggest('groupby', ['group', 'groupBy'])).toBe('groupBy');
  });
});
