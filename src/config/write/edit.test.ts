import { describe, expect, it } from 'vitest';
import type { ConfigSection } from '../change.ts';
import { applyEdit } from './edit.ts';

const put = (text: string, section: ConfigSection, value: Readonly<Record<string, unknown>>): string =>
  applyEdit(text, { section, id: String(value.id ?? ''), value });
const take = (text: string, section: ConfigSection, id: string): string =>
  applyEdit(text, { section, id, value: undefined });

const lines = (...texts: readonly string[]): string => texts.map(text => `${text}\n`).join('');

describe('a changed item', () => {
  const FILE = lines(
    '# who is told',
    'targets:   # people',
    '  - id: hook',
    '    type:   webhook    # aligned',
    '    url: "https://h/x"',
    "    token: 'it''s'",
    '    headers: [ {name: A,value: b} ]',
    '    # method: GET',
    '',
    '  - { id: bell, type: bulletin_message }   # rings',
  );
  const HOOK = {
    id: 'hook',
    type: 'webhook',
    url: 'https://h/x',
    token: "it's",
    headers: [{ name: 'A', value: 'b' }],
  };

  it('changes no more of the text than differs, and keeps the quotes', () => {
    expect(put(FILE, 'targets', { ...HOOK, url: 'https://h/y', token: "we're" })).toBe(
      FILE.replace('h/x', 'h/y').replace("it''s", "we''re"),
    );
    expect(put(FILE, 'targets', { ...HOOK, type: 'slack' })).toBe(FILE.replace('webhook    #', 'slack    #'));
    expect(put(FILE, 'targets', { id: 'bell', type: 'slack' })).toBe(
      FILE.replace('bulletin_message', 'slack'),
    );
  });

  it('comes back as it was when nothing differs, whatever the order of its keys', () => {
    const { id, ...rest } = HOOK;
    expect(put(FILE, 'targets', { ...rest, id })).toBe(FILE);
  });

  it('gets new keys behind its own, in its style', () => {
    expect(put(FILE, 'targets', { ...HOOK, format: 'ndjson', conf: { a: 1 } })).toBe(
      FILE.replace('b} ]\n', 'b} ]\n    format: ndjson\n    conf:\n      a: 1\n'),
    );
    expect(put(FILE, 'targets', { id: 'bell', type: 'bulletin_message', message: 'a, b' })).toBe(
      FILE.replace('message }', "message, message: 'a, b' }"),
    );
  });

  it('loses keys without losing the comments beside them', () => {
    const { type, ...rest } = HOOK;
    expect(put(FILE, 'targets', { ...rest })).toBe(
      FILE.replace('    type:   webhook    # aligned\n', '    # aligned\n'),
    );
  });

  it('takes another kind of value in the place of one', () => {
    expect(put(FILE, 'targets', { ...HOOK, headers: 'none' })).toBe(
      FILE.replace('[ {name: A,value: b} ]', 'none'),
    );
    expect(put(FILE, 'targets', { ...HOOK, url: { host: 'h' } })).toBe(
      FILE.replace('"https://h/x"', '{ host: h }'),
    );
  });

  it.each([
    ['literal', lines('targets:', '  - id: a', '    text: |  # long', '      one', '      two', '    x: 1')],
    ['folded', lines('targets:', '  - id: a', '    text: >-', '      one', '      two', '', '    x: 1')],
    ['kept', lines('targets:', '  - id: a', '    text: |+', '      one', '', '    x: 1')],
  ])('may hold a %s block of text', (_, file) => {
    const changed = put(file, 'targets', { id: 'a', text: 'three\nfour\n', x: 2 });
    expect(changed).toContain('x: 2');
    expect(changed).toMatch(/three/);
    expect(put(file, 'targets', { id: 'a', x: 1 })).not.toContain('one');
    expect(put(file, 'targets', { id: 'a', text: 'short', x: 1 })).toContain('text: short');
  });

  it('leaves a block of text alone that stays, and writes a new one as lines', () => {
    const file = lines('targets:', '  - id: a', '    text: |', '      # no comment', '      two');
    expect(put(file, 'targets', { id: 'a', text: '# no comment\ntwo\n', body: 'a\n\n  b' })).toBe(
      `${file}    body: |-\n      a\n\n        b\n`,
    );
  });

  it('may keep its keys by their id, with or without the id among them', () => {
    const file = lines('targets:', '  a: { type: x }', '  b:', '    id: b', '    type: x');
    expect(put(file, 'targets', { id: 'a', type: 'z' })).toBe(file.replace('{ type: x }', '{ type: z }'));
    expect(put(file, 'targets', { id: 'b', type: 'z' })).toBe(file.replace('    type: x', '    type: z'));
  });

  it('keeps lists apart by what their items are called', () => {
    const file = lines(
      'targets:',
      '  - id: a',
      '    m:',
      '      - name: x  # first',
      '      - name: y  # second',
    );
    expect(put(file, 'targets', { id: 'a', m: [{ name: 'y' }, { name: 'z' }] })).toBe(
      lines(
        'targets:',
        '  - id: a',
        '    m:',
        '      # first',
        '      - name: y  # second',
        '      - name: z',
      ),
    );
  });

  it('keeps brackets where a list or map in it runs empty', () => {
    const file = lines('targets:', '  - id: a', '    l:  # some', '      - 1', '    m:', '      k: v  # why');
    expect(put(file, 'targets', { id: 'a', l: [], m: {} })).toBe(
      lines('targets:', '  - id: a', '    l: []  # some', '    m: {}', '      # why'),
    );
  });
});

describe('a new item', () => {
  it.each([
    [
      'a list',
      lines('targets:', '- id: a', '# end'),
      lines('targets:', '- id: a', '- id: b', '  c: 1', '# end'),
    ],
    ['a map', lines('targets:', '    a: {}'), lines('targets:', '    a: {}', '    b: { c: 1 }')],
    [
      'a map of blocks',
      lines('targets:', '  a:', '    c: 1', '    # deep', '# shallow'),
      lines('targets:', '  a:', '    c: 1', '    # deep', '  b:', '    c: 1', '# shallow'),
    ],
    [
      'a list of brackets',
      lines('targets:', '  - {id: a}'),
      lines('targets:', '  - {id: a}', '  - { id: b, c: 1 }'),
    ],
    ['brackets', 'targets: [{id: a}] # x', 'targets: [{id: a}, { id: b, c: 1 }] # x'],
    ['brackets by id', 'targets: {a: {}}', 'targets: {a: {}, b: { c: 1 }}'],
    [
      'brackets over lines',
      lines('targets: [', '  {id: a}, # one', '  # two', '  ]'),
      lines('targets: [', '  {id: a}, # one', '  { id: b, c: 1 },', '  # two', '  ]'),
    ],
    ['JSON', '{"targets": [{"id": "a"}]}', '{"targets": [{"id": "a"}, { "id": "b", "c": 1 }]}'],
    [
      'an empty list',
      lines('targets: [] # none', 'x: 1'),
      lines('targets: # none', '  - id: b', '    c: 1', 'x: 1'),
    ],
    ['an empty map', lines('targets: {}'), lines('targets:', '  b:', '    c: 1')],
    [
      'nothing',
      lines('targets:  # none', '  # - id: a', 'x: 1'),
      lines('targets:  # none', '  # - id: a', '  - id: b', '    c: 1', 'x: 1'),
    ],
    ['null', lines('targets: ~'), lines('targets:', '  - id: b', '    c: 1')],
    ['no section', lines('x: 1', '# end'), lines('x: 1', '# end', 'targets:', '  - id: b', '    c: 1')],
    ['no section of JSON', '{"x": 1}', '{"x": 1, "targets": [{ "id": "b", "c": 1 }]}'],
    ['an empty file', '', lines('targets:', '  - id: b', '    c: 1')],
    ['a file of comments', '# a\n# b', '# a\n# b\ntargets:\n  - id: b\n    c: 1'],
  ])('goes to the end of its section: %s', (_, file, expected) => {
    expect(put(file, 'targets', { id: 'b', c: 1 })).toBe(expected);
  });
});

describe('a removed item', () => {
  const FILE = lines(
    'targets:',
    '  # above a',
    '  - id: a   # in a',
    '    # in a',
    '    b: 1    # in a',
    '    # below, in a',
    '  # between',
    '  - { id: b } # in b',
    '  # end',
  );

  it('takes its comments with it, and leaves those above and between', () => {
    expect(take(FILE, 'targets', 'a')).toBe(
      lines('targets:', '  # above a', '  # between', '  - { id: b } # in b', '  # end'),
    );
    expect(take(take(FILE, 'targets', 'a'), 'targets', 'b')).toBe(
      lines('targets: []', '  # above a', '  # between', '  # end'),
    );
  });

  it.each([
    ['first', 'a', 'targets: [{id: b}, {id: c}]'],
    ['middle', 'b', 'targets: [{id: a}, {id: c}]'],
    ['last', 'c', 'targets: [{id: a}, {id: b}]'],
  ])('takes its comma with it: the %s', (_, id, expected) => {
    expect(take('targets: [{id: a}, {id: b}, {id: c}]', 'targets', id)).toBe(expected);
  });

  it('leaves comments between brackets', () => {
    const file = lines(
      'targets: [',
      '  # above a',
      '  { id: a }, # behind a',
      '  # above b',
      '  { id: b }',
      '  ]',
    );
    const withoutB = take(file, 'targets', 'b');
    expect(withoutB).toContain('# above b');
    expect(take(withoutB, 'targets', 'a')).toMatch(/# above a[\s\S]*# above b/);
  });

  it('may be absent already', () => {
    expect(take(FILE, 'targets', 'z')).toBe(FILE);
  });
});

describe('settings', () => {
  it('change key by key', () => {
    const file = lines(
      '# own',
      'api:',
      '  port: 9000 # here',
      'pipelines:',
      '  - { id: a, url: x } # a',
      '  - { id: b, url: y } # b',
    );
    const value = {
      api: { port: 9001, host: 'h' },
      pipelines: [{ id: 'b', url: 'z' }],
      instance: { name: 'demo' },
    };
    expect(put(file, 'settings', value)).toBe(
      lines(
        '# own',
        'api:',
        '  port: 9001 # here',
        '  host: h',
        'pipelines:',
        '  # a',
        '  - { id: b, url: z } # b',
        'instance:',
        '  name: demo',
      ),
    );
  });

  it('may start from nothing and come to nothing', () => {
    expect(put('# mine\n', 'settings', { api: { port: 1 } })).toBe('# mine\napi:\n  port: 1\n');
    expect(put('# mine\napi:\n  port: 1 # x\n', 'settings', {})).toBe('# mine\n# x\n');
  });
});

describe('the form of a file', () => {
  it('keeps its line breaks, its byte order mark and its missing last line break', () => {
    const file = '\uFEFF# a\r\ntargets:\r\n  - id: a\r\n    b: 1 # c';
    expect(
      put(put(file, 'targets', { id: 'a', b: 2, t: 'x\ny\n' }), 'targets', { id: 'm', c: { d: 1 } }),
    ).toBe(
      '\uFEFF# a\r\ntargets:\r\n  - id: a\r\n    b: 2 # c\r\n    t: |\r\n      x\r\n      y\r\n  - id: m\r\n    c:\r\n      d: 1',
    );
  });

  it.each([
    ['quoted keys', '"targets":\n  - "id": a\n    \'b\': 1\n'],
    ['tabs in and before comments', 'targets:\t# a\tb\n  - id: a\t# c\n    b: 1\t\n'],
    ['a marked document', '---\ntargets:\n  - id: a\n    b: 1\n...\n'],
    ['anchors elsewhere', 'x: &x 1\ny: *x\ntargets:\n  - id: a\n    b: 1\n'],
  ])('may have %s', (_, file) => {
    expect(put(file, 'targets', { id: 'a', b: 2 })).toBe(file.replace(/(b'?): 1/, '$1: 2'));
  });

  it('may have tabs between what stands in brackets', () => {
    const file = 'targets:\n  - {id: a,\tb:\t1,\tc: [\t1,\t2 ]\t}\t# d\n';
    expect(put(file, 'targets', { id: 'a', b: 2, c: [1, 2] })).toBe(file.replace('b:\t1', 'b:\t2'));
    expect(put(file, 'targets', { id: 'a', b: 1, c: [1, 2], e: 3 })).toBe(
      file.replace(' ]\t}', ' ], e: 3\t}'),
    );
    expect(take(file, 'targets', 'a')).toContain('targets:');
  });

  describe('beside shared values', () => {
    const SHARED = lines(
      'x-hook: &hook { type: webhook }   # ours',
      'x-ops: &ops [a, b]',
      'notifications:',
      '  - id: a',
      '    targets: *ops # all',
      '    conf: { name: x }',
      '  - { id: b, targets: *ops }',
    );
    const A = { id: 'a', targets: ['a', 'b'], conf: { name: 'x' } };

    it('changes what is not shared', () => {
      expect(put(SHARED, 'notifications', { ...A, conf: { name: 'z' }, for: '5m' })).toBe(
        SHARED.replace('name: x }', 'name: z }\n    for: 5m'),
      );
      expect(put(SHARED, 'notifications', { id: 'c', targets: ['a'] })).toContain(SHARED);
    });

    it('goes without what it shared', () => {
      expect(take(SHARED, 'notifications', 'b')).toBe(SHARED.replace('  - { id: b, targets: *ops }\n', ''));
    });

    it('is left to a person where the shared value would change', () => {
      const refusal = expect.objectContaining({ code: 'conflict' });
      expect(() => put(SHARED, 'notifications', { ...A, targets: ['a'] })).toThrow(refusal);
      expect(() => put(SHARED, 'notifications', { id: 'b', targets: ['c'] })).toThrow(refusal);
    });

    it('keeps them when settings change', () => {
      const file = lines(
        'x-wait: &wait 5m',
        'delivery:',
        '  retrySchedule: [0s, *wait]',
        'instance: { name: a }',
      );
      const delivery = { retrySchedule: ['0s', '5m'] };
      expect(put(file, 'settings', { delivery, instance: { name: 'b' } })).toBe(
        file.replace('name: a', 'name: b'),
      );
      expect(put(lines('x-a: 1'), 'settings', { instance: { name: 'b' } })).toBe(
        lines('x-a: 1', 'instance:', '  name: b'),
      );
    });
  });

  it('holds texts of any length', () => {
    const long = 'word '.repeat(2000).trim();
    const file = lines('targets:', '  - id: a', `    b: ${long}`);
    expect(put(file, 'targets', { id: 'a', b: `${long} more` })).toBe(
      file.replace(/$/, '').replace(long, `${long} more`),
    );
  });

  it.each([
    ['an anchor', 'targets:\n  - &x { id: a, b: 1 }\n'],
    ['an anchor within', 'targets:\n  - id: a\n    b: &x 1\n    c: *x\n'],
    ['an alias', 'x: &x { id: a, b: 1 }\ntargets:\n  - *x\n'],
    ['a section that is an alias', 'x: &x [{ id: a, b: 1 }]\ntargets: *x\n'],
  ])('is left to a person where it has %s', (_, file) => {
    const refusal = expect.objectContaining({
      code: 'conflict',
      message: expect.stringContaining('edit the file by hand'),
    });
    expect(() => put(file, 'targets', { id: 'a', b: 2 })).toThrow(refusal);
    expect(() => take(file, 'targets', 'a')).toThrow(refusal);
  });

  it('is left alone where it cannot be read', () => {
    for (const broken of ['targets: [', 'a: 1\na: 2\n', '- x\n'])
      expect(() => put(broken, 'targets', { id: 'a' })).toThrow(
        expect.objectContaining({ code: 'configuration-broken' }),
      );
  });
});
