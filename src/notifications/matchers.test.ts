import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HeadgateEvent } from '../events/event.ts';
import { askingMatchers, fieldOf, type Matcher, matcherSchema, requiredLiteral } from './matchers.ts';
import { readSilence } from './silences/silence.ts';

const EVENT: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  input: 'syslog:app',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1,
  starttime: 0,
  endtime: 1,
  bytes: 0,
  tags: ['a', 'b'],
  none: null,
  __pipeline: 'edge',
  __worker_group: 'eu',
};

function silenceOf(...matchers: Matcher[]) {
  const silence = readSilence({
    id: 's1',
    matchers: JSON.stringify(matchers),
    starts_at: 0,
    ends_at: 1,
    until_resolved: 0,
    comment: '',
    created_by: '',
    created_at: 0,
  });
  return { matches: (event: HeadgateEvent) => silence.matches(name => fieldOf(event, name)) };
}

const fits = (name: string, op: Matcher['op'], value: string, event = EVENT): boolean =>
  silenceOf({ name, op, value }).matches(event);

describe('a matcher', () => {
  it.each([
    ['input', '=', 'syslog:app', true],
    ['input', '=', 'syslog', false],
    ['input', '!=', 'syslog:web', true],
    ['input', '=~', 'syslog:.*', true],
    ['input', '=~', 'syslog', false],
    ['input', '=~', 'syslog:(app|web)', true],
    ['input', '!~', '.*:web', true],
    ['input', '!~', '.*app', false],
    ['bytes', '=', '0', true],
    ['tags', '=', '["a","b"]', true],
    ['absent', '=', '', true],
    ['absent', '!=', '', false],
    ['absent', '=~', '.+', false],
    ['none', '=', '', true],
    ['pipeline', '=', 'edge', true],
    ['group', '=~', 'e.', true],
    ['constructor', '=', '', true],
  ] as const)('%s%s%s', (name, op, value, expected) => {
    expect(fits(name, op, value)).toBe(expected);
  });

  it('needs no longer for a value than the value is long, whatever the expression is', () => {
    expect(fits('input', '=~', '(a+)+b', { ...EVENT, input: 'a'.repeat(100_000) })).toBe(false);
  });

  it('fits as the expression alone does, though a text that it needs is looked for first', () => {
    const part = fc.constantFrom(
      'a',
      'b',
      'ab',
      '.',
      '.*',
      'a?',
      'b*',
      'a+',
      'ba.',
      'abc',
      '(a|b)',
      '(?:ab)?',
      '[ab]',
      '[^a]',
      'a{0,2}',
      'b{2}',
      '\\.',
      '\\w',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.stringMatching(/^[abc.]{0,8}$/), (parts, value) => {
        const pattern = parts.join('');
        expect(fits('input', '=~', pattern, { ...EVENT, input: value })).toBe(
          new RegExp(`^(?:${pattern})$`, 'u').test(value),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['.*:(app|web)_17', '_17'],
    ['syslog:ap?p*x+end', 'syslog:a'],
    ['a\\.b\\d', 'a.b'],
    ['one|two', ''],
    ['[abc]d{2}', ''],
  ])('needs of %s the text "%s"', (expression, literal) => {
    expect(requiredLiteral(expression)).toBe(literal);
  });

  it.each([
    [{ name: '', value: 'a' }, 'name'],
    [{ name: '__pipeline', value: 'edge' }, 'name'],
    [{ name: 'input', op: '~', value: 'a' }, 'op'],
    [{ name: 'input', op: '=~', value: '(' }, 'value'],
    [{ name: 'input', op: '=~', value: '(?=a)' }, 'value'],
    [{ name: 'input', op: '=~', value: '(a)\\1' }, 'value'],
    [{ name: 'input', op: '=~', value: '(a{200}){200}' }, 'value'],
    [{ name: 'input', value: 'a'.repeat(1025) }, 'value'],
  ])('is refused as %j, at its place', (given, place) => {
    expect(matcherSchema.safeParse(given).error?.issues[0]?.path).toEqual([place]);
  });
});

it('is refused where it would silence every event', () => {
  const every = [
    { name: 'input', op: '=~', value: '.*' },
    { name: 'output', value: '' },
  ];
  expect(askingMatchers.safeParse(every).error?.issues[0]?.message).toContain('every event');
  expect(askingMatchers.safeParse([...every, { name: 'severity', value: 'warn' }]).success).toBe(true);
  expect(askingMatchers.safeParse([]).success).toBe(false);
});

it('fits where all its matchers do', () => {
  const warn = { name: 'severity', op: '=', value: 'warn' } as const;
  expect(silenceOf(warn, { name: 'input', op: '=', value: 'syslog:app' }).matches(EVENT)).toBe(true);
  expect(silenceOf(warn, { name: 'input', op: '=', value: 'syslog:web' }).matches(EVENT)).toBe(false);
});
