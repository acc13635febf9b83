import { describe, expect, it } from 'vitest';
import { pipelineSchema } from './settings.ts';

const pull = { id: 'edge', engine: 'vector', url: 'http://127.0.0.1:9598/metrics' };
const push = { id: 'syslog', engine: 'rsyslog', push: true, token: 'long enough' };
const rule = { match: '^in_total$', id: 'name', kind: 'input', metric: 'in_events' };

function problems(raw: unknown): string[] {
  const parsed = pipelineSchema.safeParse(raw);
  return parsed.success ? [] : parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`);
}

describe('pipelineSchema', () => {
  it('reads a pipeline every 10 seconds, for at most 5 seconds and 16 MiB, unless the settings differ', () => {
    const settings = pipelineSchema.parse(pull);
    if (settings.push) throw new Error('a pull pipeline was expected');
    expect(settings.interval.ms).toBe(10_000);
    expect(settings.timeout.ms).toBe(5_000);
    expect(settings.maxBytes).toBe(16 * 1024 * 1024);
    expect(settings.group).toBe('default');
  });

  it('never prints the token of a pipeline that pushes', () => {
    expect(JSON.stringify(pipelineSchema.parse(push))).not.toContain('long enough');
  });

  it.each([
    ['an unknown engine', { ...pull, engine: 'vectr' }, /engine: must be one of vector, otelcol/],
    ['an interval under a second', { ...pull, interval: '500ms' }, /interval: must be at least 1s/],
    ['a user name in the url', { ...pull, url: 'http://me:pw@host/' }, /url: must not hold a user name/],
    [
      'a url for an engine that pushes',
      { ...pull, push: true, token: '12345678' },
      /Unrecognized key: "url"/,
    ],
    ['a url for an engine that pushes', { ...push, url: 'http://host/' }, /Unrecognized key: "url"/],
    [
      'an engine that pushes without push',
      { id: 'a', engine: 'rsyslog', token: '12345678' },
      /push: must be true/,
    ],
    ['a name without a password', { ...pull, username: 'ann' }, /password: is needed/],
    ['a password without a name', { ...pull, password: 'x' }, /username: is needed/],
    [
      'a name beside a token',
      { ...pull, token: '12345678', username: 'ann', password: 'x' },
      /username: must be left out/,
    ],
    ['a colon in a name', { ...pull, username: 'a:b', password: 'x' }, /username: must hold no colon/],
    ['a short token', { ...push, token: '1234567' }, /token: must be at least 8 characters/],
    [
      'both url and push',
      { ...pull, engine: 'custom', push: true, token: '12345678' },
      /Unrecognized key: "url"/,
    ],
    ['neither url nor push', { id: 'a', engine: 'custom', rules: [rule] }, /url: /],
    ['a custom page without rules', { ...pull, engine: 'custom' }, /rules: /],
    [
      'a counter that is not summed',
      { ...pull, engine: 'custom', rules: [{ ...rule, fold: 'max' }] },
      /rules.0.fold: must be sum/,
    ],
    [
      'a pattern that grows large when it is compiled',
      { ...pull, engine: 'custom', rules: [{ ...rule, match: '^(a{30}){900}$' }] },
      /rules.0.match: must not repeat by more than 400/,
    ],
    [
      'a namespace for an engine that has none',
      { ...pull, engine: 'telegraf', namespace: 'acme' },
      /namespace: must be left out: the names of telegraf/,
    ],
    ['a namespace that no name can begin with', { ...pull, namespace: 'a.b' }, /namespace: must be letters/],
    ['an unknown key', { ...pull, intervall: '10s' }, /Unrecognized key: "intervall"/],
  ])('refuses %s', (_, raw, message) => {
    expect(problems(raw).join('\n')).toMatch(message);
  });

  it('takes custom pipelines both ways', () => {
    expect(problems({ ...pull, engine: 'custom', rules: [rule] })).toEqual([]);
    expect(problems({ ...push, engine: 'custom' })).toEqual([]);
  });
});
