import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../lib/json.ts';
import { readYaml } from './parse.ts';

const found = (text: string) =>
  readYaml(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`);

describe('readYaml', () => {
  it.each([
    ['nothing', '', undefined],
    ['comments', '# only\n\n# these\n', undefined],
    ['an empty document', '---\n', null],
    ['a document with markers', '---\na: 1\n...\n', { a: 1 }],
    ['a byte order mark', '\uFEFFa: 1', { a: 1 }],
    ['YAML 1.2 words as texts', 'a: yes\nb: 2026-01-01\nc: true', { a: 'yes', b: '2026-01-01', c: true }],
    ['aliases', 'a: &x [1, 2]\nb: *x', { a: [1, 2], b: [1, 2] }],
    ['64 levels', `${'['.repeat(64)}${']'.repeat(64)}`, JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`)],
    [
      'digits that no number holds',
      'a: 12345678901234567890\nb: 1e999',
      { a: '12345678901234567890', b: '1e999' },
    ],
    ['large numbers of another base', 'a: [0xFFFFFFFFFFFFFFFF, 0o7]', { a: ['0xFFFFFFFFFFFFFFFF', 7] }],
    ['what JSON has no number for', 'a: .inf\nb: -.Inf\nc: .nan', { a: '.inf', b: '-.Inf', c: '.nan' }],
    [
      'numbers',
      'a: [7, -1, 0x1F, 0o17, 9007199254740991, 1.5e3]',
      { a: [7, -1, 31, 15, 9007199254740991, 1500] },
    ],
    ['tabs between values in brackets', 'a: {b:\t1,\tc: [\t2\t,\t3 ]\t}\t# d', { a: { b: 1, c: [2, 3] } }],
    [
      'tabs in texts beside them',
      "a: {b:\t'x\ty',\tc: p\tq}\nd: |\n  r\ts\n  \tt\n",
      { a: { b: 'x\ty', c: 'p\tq' }, d: 'r\ts\n\tt\n' },
    ],
    ['texts with "!", "%" and "<<" in them', 'a: "!b %c <<"', { a: '!b %c <<' }],
  ])('reads %s', (_, text, value) => {
    expect(found(text)).toEqual([]);
    expect(readYaml(text).document?.value).toEqual(value);
  });

  it.each([
    ['a tag', 'a: !!str 1', /^1:4 tags are not supported/],
    ['a lone tag mark', 'a: ! x', /^1:4 tags are not supported/],
    ['a tag on the whole', '!x {a: 1}', /^1:1 tags are not supported/],
    ['a directive', '%YAML 1.2\n---\na: 1', /^1:1 directives/],
    ['a directive nobody knows', '# c\n\n%FOO bar\n---\na: 1', /^3:1 directives/],
    ['a second document', 'a: 1\n---\nb: 2', /^3:1 a second document/],
    ['a list as key', '? [a]\n: b', /^1:3 a list or map cannot be a key/],
    ['a map as key', '{{a: 1}: b}', /^1:2 a list or map cannot be a key/],
    ['an alias as key', 'a: &x 1\n*x : 2', /^2:1 an alias cannot be a key/],
    ['an alias without anchor', 'a: *y', /^1:4 the alias '\*y' has no anchor/],
    ['an alias inside its own anchor', 'a: &x [*x]', /^1:8 the alias '\*x' refers to itself/],
    ['a merge key', 'a: &b {c: 1}\nd:\n  <<: *b', /^3:3 merge keys/],
    ['a key that would be the prototype', '__proto__: {x: 1}', /^1:1 the key '__proto__' is not allowed/],
    ['the same in disguise', '"__pr\\u006fto__": {x: 1}', /^1:1 the key '__proto__' is not allowed/],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`, /^1:65 is nested too deeply/],
    ['20,000 levels', '['.repeat(20_000), /^1:100 YAML: nesting/],
    ['tabs as indentation', 'a:\n\t- b', /^2:1 YAML: tab characters/],
    ['tabs as indentation in brackets', 'a: {b: 1,\n\tc: 2}', /^2:2 YAML: tab characters must not be used/],
    ['tabs that indent what follows a dash', 'a: {b:\t1}\nc:\n  -\td: 1\n    e: 2', /^\d:\d+ YAML: /],
    ['an open list', 'a: [1,', /^1:7 YAML: /],
    ['a null byte', 'a: \0', /^1:4 YAML: null byte/],
  ])('refuses %s at its place', (_, text, problem) => {
    const [first, ...others] = found(text);
    expect(first).toMatch(problem);
    expect(others).toEqual([]);
    expect(readYaml(text).document).toBeUndefined();
  });

  it('reads what stands in brackets the same with tabs and blanks between its parts', () => {
    const value = fc.json({ maxDepth: 4 }).filter(text => !text.includes('__proto__'));
    const gap = fc.stringMatching(/^[ \t]{0,3}$/);
    fc.assert(
      fc.property(value, fc.infiniteStream(gap), (json, gaps) => {
        const space = (): string => String(gaps.next().value);
        const spaced = json.replace(/"(?:[^"\\]|\\.)*"|[[\]{},:]/g, part =>
          part.length > 1
            ? part
            : `${part === ':' || part === ',' ? '' : space()}${part}${part === ':' ? ' ' : ''}${space()}`,
        );
        expect(found(`a: ${spaced}`)).toEqual([]);
        expect(readYaml(`a: ${spaced}`).document?.value).toEqual({ a: parseJson(json) });
      }),
    );
  });

  it('counts the levels behind aliases', () => {
    const nested = (levels: number, inner: string) => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`;
    expect(found(`a: &a ${nested(30, '')}\nb: ${nested(33, '*a')}`)).toEqual([]);
    expect(found(`a: &a ${nested(30, '')}\nb: ${nested(34, '*a')}`)).toEqual([
      expect.stringContaining('nested too deeply'),
    ]);
  });

  it('refuses aliases that stand for a billion values', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 10; level++)
      lines.push(
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    expect(found(lines.join('\n'))).toEqual([expect.stringMatching(/^6:\d+ holds too many values/)]);
  });

  it('refuses aliases that repeat a long text', () => {
    const text = `a: &a ${'x'.repeat(1_000_000)}\nb: [${Array(40).fill('*a').join(', ')}]`;
    expect(found(text)).toEqual([expect.stringContaining('holds too many values')]);
  });

  it('refuses a text of too many values without parsing it', () => {
    expect(found(`[${'a,'.repeat(1_000_001)}]`)).toEqual([
      expect.stringMatching(/^1:1 holds too many values/),
    ]);
  });

  it('refuses a map of too many keys, and a thing of too many values, by where they stand', () => {
    const keys = Array.from({ length: 100_001 }, (_, at) => `  k${at}: 0`);
    expect(found(`a:\n${keys.join('\n')}`)).toEqual(['2:3 has more than 100000 keys in one map']);
    expect(found(`a:\n  - b: [${'0,'.repeat(100_001)}]`)).toEqual([
      expect.stringMatching(/^2:5 holds too many values: at most 100000 may stand in one place/),
    ]);
    expect(found(`a:\n  - b: [${'0,'.repeat(90_000)}]\n  - c: [${'0,'.repeat(90_000)}]`)).toEqual([]);
  });

  it('never throws, and finds a place within the text for whatever is wrong with it', () => {
    const piece = fc.constantFrom(
      ...[
        'a',
        'b: ',
        '- ',
        '\n',
        '\n  ',
        '[',
        ']',
        '{',
        '}',
        ', ',
        '&x ',
        '*x',
        '"',
        "'",
        '# c',
        '|',
        '>',
        '? ',
        '!t ',
        '---',
        '\t',
        '0',
        '<<: ',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
        const text = pieces.join('');
        const { document, problems } = readYaml(text);
        const lines = text.split('\n');
        for (const { line, column } of problems) {
          expect(line).toBeLessThanOrEqual(lines.length + 1);
          expect(column).toBeGreaterThan(0);
        }
        if (document === undefined) expect(problems).not.toEqual([]);
        else expect(document.places.of(['a', 0, 'b']).line).toBeLessThanOrEqual(lines.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('names every key that stands twice and still hands over the rest', () => {
    const text = 'a: 1\nb: {c: 1, c: 2}\na: 3\n';
    expect(found(text)).toEqual([
      "2:11 the key 'c' stands twice in this map; remove one",
      "3:1 the key 'a' stands twice in this map; remove one",
    ]);
    expect(readYaml(text).document?.value).toEqual({ a: 3, b: { c: 2 } });
  });

  it('never shows the lines around an error, as they may hold secrets', () => {
    expect(found('password: hunter2\na: [').join()).not.toContain('hunter2');
  });
});

describe('places', () => {
  const text = [
    'targets:',
    '  - id: a',
    '    url: x # é',
    '  - { id: "é𝄞", url: y }',
    '  -',
    '  # - not this one',
    '  - # nor this',
    '  - id: z',
    'notifications:',
    '  n1:',
    '    conf:',
    '      name: q',
    '  n2:',
    'anchored: &x {k: 1}',
    'alias: *x',
  ].join('\n');
  const places = readYaml(text).document?.places;

  it.each([
    ['a scalar, at its value', ['targets', 0, 'url'], '3:10'],
    ['a quoted scalar, at its quote', ['targets', 1, 'id'], '4:11'],
    ['columns in characters', ['targets', 1, 'url'], '4:22'],
    ['a list item', ['targets', 0], '2:5'],
    ['an empty list item, at its dash', ['targets', 2], '5:3'],
    ['an empty list item behind a comment', ['targets', 3], '7:3'],
    ['a list item after empty ones', ['targets', 4, 'id'], '8:9'],
    ['what is missing in a list item, at the item', ['targets', 0, 'type'], '2:5'],
    ['a map, at its key', ['notifications', 'n1'], '10:3'],
    ['an empty value, at its key', ['notifications', 'n2'], '13:3'],
    ['what is missing in a map, at its key', ['notifications', 'n1', 'conf', 'timeWindow'], '11:5'],
    ['what an alias stands for, where it is written', ['alias', 'k'], '14:18'],
    ['what does not exist at all, at the top', ['zz', 1], '1:1'],
  ])('finds %s', (_, path, expected) => {
    const place = places?.of(path);
    expect(`${place?.line}:${place?.column}`).toBe(expected);
  });

  it('finds keys', () => {
    expect(places?.ofKey(['targets', 0, 'url'])).toEqual({ line: 3, column: 5 });
  });

  it('counts the line breaks of other systems', () => {
    expect(readYaml('a: 1\r\nb: 2\r\nc: 3').document?.places.of(['c'])).toEqual({ line: 3, column: 4 });
    expect(readYaml('a: 1\rb: 2').document?.places.of(['b'])).toEqual({ line: 2, column: 4 });
  });
});
