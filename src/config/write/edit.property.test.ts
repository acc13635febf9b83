import * as fc from 'fast-check';
import { loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Draw, yamlWriter } from '../../../test/helpers/yaml-writer.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { applyEdits } from './edit.ts';

const text = fc.oneof(
  fc.constantFrom('', 'yes', '1', '~', 'a: b', '# no comment', 'x # y', "it's", '"', ' led', '- a', '{x}'),
  fc.constantFrom(
    'two\nlines\n',
    'two\nlines',
    'a\n\nb\n',
    '  led\n',
    'é 😀',
    'http://h/?a=b#c',
    '${env:A}',
    'a, b',
  ),
  fc.constantFrom(
    '\ttab',
    'a\u0007b',
    'long '.repeat(40),
    '|',
    '> x',
    '@a',
    '%b',
    '&c',
    '*d',
    '!e',
    'k:',
    '\\n',
  ),
);
const scalar = fc.oneof(text, fc.integer({ min: -9, max: 9 }), fc.boolean(), fc.constant(null));
const key = fc.constantFrom('url', 'type', 'for', 'a b', 'yes', '1', "q'q", 'conf', 'x-y');
const flat = fc.dictionary(key, scalar, { maxKeys: 4, noNullPrototype: true });
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 4 }),
  fc.array(flat, { maxLength: 3 }),
  fc.dictionary(key, fc.oneof(scalar, flat), { maxKeys: 4, noNullPrototype: true }),
);
const content = fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true });
const SECTIONS = ['targets', 'notifications'] as const;
const IDS = ['a', 'b', 'c', 'd_1'];

type Model = Map<(typeof SECTIONS)[number], Map<string, PlainMap>>;

/** Comments by who owns them; an item's own may go when it goes. */
type Comments = Map<string, string | undefined>;

interface World {
  file: string;
  readonly model: Model;
  readonly comments: Comments;
}

/** A person writes the whole file anew, in another order and style, keeping every comment. */
function rewrite(world: World, draw: Draw): void {
  const carried = [...world.comments.keys()];
  world.comments.clear();
  for (const comment of carried) world.comments.set(comment, undefined);
  let count = carried.length;
  const comment = (owner: string | undefined): string => {
    count += 1;
    const name = `#${draw(fc.constantFrom(' ', '', '\t'))}note ${count}-${draw(fc.nat(999))}`;
    world.comments.set(name, owner);
    return name;
  };
  let section: string;
  const writer = yamlWriter(draw, owner => comment(owner === undefined ? undefined : `${section} ${owner}`));
  const sections = draw(fc.shuffledSubarray([...SECTIONS], { minLength: 2, maxLength: 2 }));
  const lines = sections.flatMap(name => {
    section = name;
    const items = [...(world.model.get(name) ?? [])];
    if (items.length === 0 && draw(fc.boolean())) return [];
    return writer.section(
      name,
      draw(fc.shuffledSubarray(items, { minLength: items.length, maxLength: items.length })),
    );
  });
  const lineBreak = draw(fc.constantFrom('\n', '\n', '\r\n'));
  const end = lines.length === 0 ? '' : draw(fc.constantFrom(lineBreak, ''));
  const top = carried.map(comment => `${comment}${lineBreak}`).join('');
  world.file = `${draw(fc.constantFrom('', '\uFEFF'))}${top}${lines.join(lineBreak)}${end}`;
}

const PLACES = SECTIONS.flatMap(section => IDS.map(id => ({ section, id })));

/** A program changes one item, or several at once. */
function edit(world: World, draw: Draw): void {
  const maxLength = draw(fc.constantFrom(1, 2, PLACES.length));
  const places = draw(fc.shuffledSubarray(PLACES, { minLength: 1, maxLength }));
  const edits = places.map(({ section, id }) => {
    const present = world.model.get(section)?.get(id);
    const next = draw(
      fc.oneof(fc.constant(undefined), content, present === undefined ? content : variation(present)),
    );
    return { section, id, next, value: next && { id, ...next } };
  });
  world.file = applyEdits(world.file, edits);
  for (const { section, id, next } of edits) {
    if (next !== undefined) world.model.get(section)?.set(id, next);
    if (next !== undefined) continue;
    world.model.get(section)?.delete(id);
    for (const [comment, owner] of world.comments)
      if (owner === `${section} ${id}`) world.comments.delete(comment);
  }
}

const variation = (present: PlainMap): fc.Arbitrary<PlainMap> =>
  fc
    .tuple(
      fc.subarray(Object.keys(present)),
      fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true }),
      content,
    )
    .map(([kept, added, other]) => {
      const rest = Object.fromEntries(kept.map(name => [name, nested(present[name], other[name])]));
      return { ...rest, ...added };
    });

/** Changes a nested map in part. */
const nested = (present: unknown, other: unknown): unknown =>
  isMap(present) && isMap(other) ? { ...present, ...other } : present;

/** Two implementations read the same; a text without content counts as an empty map. */
function read(file: string): unknown {
  const bare = file.replace(/^\uFEFF/, '');
  const value: unknown = parse(bare) ?? {};
  expect(loadAll(bare)[0] ?? {}, file).toEqual(value);
  return value;
}

function readItems(file: string, section: string): [string, unknown][] {
  const whole = read(file);
  const items = isMap(whole) ? whole[section] : undefined;
  if (Array.isArray(items)) return items.map(({ id, ...rest }) => [id, rest]);
  return isMap(items)
    ? Object.entries(items).map(([id, item]) => [id, isMap(item) ? { ...item, id: undefined } : item])
    : [];
}

function check({ file, model, comments }: World): void {
  for (const section of SECTIONS) {
    const found = Object.fromEntries(readItems(file, section));
    expect(found, file).toEqual(Object.fromEntries(model.get(section) ?? []));
  }
  for (const comment of comments.keys()) expect(file).toContain(comment);
}

describe('edits by programs and by hand, in any order', () => {
  it('end in a file that loads to the same items, with every comment still there', () => {
    fc.assert(
      fc.property(fc.gen(), fc.array(fc.nat(5), { maxLength: 12 }), (generate, steps) => {
        const draw: Draw = arbitrary => generate(() => arbitrary);
        const world: World = {
          file: '',
          model: new Map(SECTIONS.map(name => [name, new Map()])),
          comments: new Map(),
        };
        for (const section of SECTIONS)
          for (const id of draw(fc.shuffledSubarray(IDS))) world.model.get(section)?.set(id, draw(content));
        rewrite(world, draw);
        check(world);
        for (const step of steps) {
          if (step === 0) rewrite(world, draw);
          else edit(world, draw);
          check(world);
        }
      }),
      { numRuns: 300, endOnFailure: true },
    );
  });
});
