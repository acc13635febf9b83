import * as z from 'zod';
import { LEAST_MASKED, MASK } from '../../lib/secret.ts';
import { FILES, type FileName, type FileTexts, type RawItems, SETTINGS_FILE } from '../configuration.ts';
import { withoutByteOrderMark } from '../file-text.ts';
import { type Schema, valueAt } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import { type Splice, spliced } from '../yaml/change.ts';
import { readConfigDocument } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { type Outline, outline, type TextSpan } from '../yaml/spans.ts';
import { SECTIONS } from './items.ts';
import { clearTextSecrets, isReference } from './references.ts';

interface ValuePlace {
  /** Id of its item; undefined for what stands in none. */
  readonly id: string | undefined;
  /** In the item, or in the file. */
  readonly path: Path;
}

/** A secret somewhere in a file. */
interface SecretPlace extends ValuePlace {
  readonly value: unknown;
}

/** Every secret that stands in a file itself, as a text or masked; references are none. */
function secretPlaces(name: FileName, text: string, raw: RawItems): SecretPlace[] {
  const shared = secretsIn(undefined, sharedSchema, sharedIn(name, text));
  if (name === SETTINGS_FILE) return [...secretsIn(undefined, settingsSchema, raw.settings), ...shared];
  const { section, schemaOf } = SECTIONS[name];
  return [...[...raw[section]].flatMap(([id, item]) => secretsIn(id, schemaOf(item), item)), ...shared];
}

/** What aliases stand for may be anything; the names of its fields say what is a secret. */
export const sharedSchema = z.looseObject({}).meta({ namesSecrets: true });

/** Most files have no such keys, and are not read once more. */
const sharedIn = (name: FileName, text: string): object =>
  /^[{\s]*["']?x-/m.test(text) ? readConfigDocument('', name, text).shared : {};

function secretsIn(id: string | undefined, schema: Schema | undefined, item: object): SecretPlace[] {
  if (schema === undefined) return [];
  return clearTextSecrets(schema, item, new Map())
    .map(path => ({ id, path, value: valueAt(item, path) }))
    .filter(({ value }) => !isReference(value));
}

/** The files' texts with every secret that stands in them in clear masked, in comments as well; references stay. */
export function maskedTexts(texts: FileTexts, raw: RawItems): FileTexts {
  const masked: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const text = texts[name];
    if (text === undefined) continue;
    const secrets = secretPlaces(name, text, raw);
    masked[name] = secrets.length === 0 ? text : mask(name, text, secrets);
  }
  return masked;
}

function mask(name: FileName, original: string, secrets: readonly SecretPlace[]): string {
  const text = withoutByteOrderMark(original);
  const find = spanFinder(name, text);
  const splices = new Map<number, Splice>();
  const elsewhere: string[] = [];
  for (const { value, ...place } of secrets) {
    const span = find(place);
    if (span !== undefined) splices.set(span.start, { ...placeOf(text, span), text: `"${MASK}"` });
    if (typeof value === 'string' && (span === undefined || value.length >= LEAST_MASKED))
      elsewhere.push(value);
  }
  const masked = spliced(text, [...splices.values()]) ?? text;
  return replaceAll(masked, [...new Set(elsewhere)], MASK);
}

/** A scalar's own place: the line break that ends a block of lines stays. */
export function placeOf(text: string, { kind, start, end }: TextSpan): { start: number; end: number } {
  const isLines = kind === 'block-scalar' && text[end - 1] === '\n';
  return { start, end: isLines ? end - (text[end - 2] === '\r' ? 2 : 1) : end };
}

/** Finds where a value stands in a file; behind an alias where its anchor is. */
export function spanFinder(
  name: FileName,
  text: string,
  { root }: Outline = outline(text),
): (place: ValuePlace) => TextSpan | undefined {
  const key = name === SETTINGS_FILE ? undefined : SECTIONS[name].section;
  const section = root?.entries.find(entry => entry.key === key);
  const anchors = anchorsIn(root, text);
  const byId = new Map(section?.entries.map(entry => [entry.key ?? idIn(text, entry), entry]));
  return ({ id, path }) => {
    const found = path.reduce(within, id === undefined ? root : byId.get(id));
    return found?.kind === 'alias' ? anchors.get(text.slice(found.start + 1, found.end)) : scalarSpan(found);
  };
}

/** The scalars with an anchor, by its name: those that aliases stand for. */
function anchorsIn(root: TextSpan | undefined, text: string): ReadonlyMap<string, TextSpan> {
  const anchors = new Map<string, TextSpan>();
  function collect(span: TextSpan): void {
    if (!span.anchored) return;
    const [mark] = /&\S+(?=\s*$)/.exec(text.slice(span.lead, span.start)) ?? [];
    const scalar = scalarSpan(span);
    const name = mark?.slice(1);
    if (name !== undefined && scalar !== undefined && !anchors.has(name)) anchors.set(name, scalar);
    span.entries.forEach(collect);
  }
  if (root !== undefined) collect(root);
  return anchors;
}

export const scalarSpan = (span: TextSpan | undefined): TextSpan | undefined =>
  span?.kind === 'scalar' || span?.kind === 'block-scalar' ? span : undefined;

/** Ids are plain words, whatever quotes they stand in. */
function idIn(text: string, item: TextSpan): string {
  const id = item.entries.find(({ key }) => key === 'id');
  return id === undefined ? '' : text.slice(id.start, id.end).replace(/^["']|["']$/g, '');
}

export const within = (span: TextSpan | undefined, step: PropertyKey): TextSpan | undefined =>
  typeof step === 'number' ? span?.entries[step] : span && entriesByKey(span).get(step);

const known = new WeakMap<TextSpan, ReadonlyMap<PropertyKey | undefined, TextSpan>>();

/** The first entry of each key. */
function entriesByKey(span: TextSpan): ReadonlyMap<PropertyKey | undefined, TextSpan> {
  const entries = known.get(span) ?? new Map(span.entries.toReversed().map(entry => [entry.key, entry]));
  known.set(span, entries);
  return entries;
}

/**
 * The text with this in the place of each of the values, and once of those that overlap. Takes time by the length of the
 * text and of all values together: they are found in one pass (Aho and Corasick, "Efficient string matching", 1975).
 */
export function replaceAll(text: string, values: readonly string[], replacement: string): string {
  const words = values.filter(value => value !== '');
  if (words.length === 0) return text;
  const longestAt = longestEndingAt(text, words);
  const parts: string[] = [];
  let rest = text.length;
  for (let end = text.length; end > 0; ) {
    let start = end - (longestAt[end] ?? 0);
    if (start === end) {
      end--;
      continue;
    }
    // What ends within may begin before.
    for (let at = end - 1; at > start; at--) start = Math.min(start, at - (longestAt[at] ?? 0));
    parts.push(text.slice(end, rest), replacement);
    rest = start;
    end = start;
  }
  parts.push(text.slice(0, rest));
  return parts.reverse().join('');
}

/** The length of the longest word that ends before each offset of the text. */
function longestEndingAt(text: string, words: readonly string[]): Uint32Array {
  const steps = new Map<number, number>();
  /** Of each node: the length of its longest word, and the node of its longest ending that is a beginning too. */
  const lengths = [0];
  const endings = [0];
  const depths = [0];
  const stepFrom = (node: number, code: number): number | undefined => steps.get(node * CODES + code);
  for (const word of words) {
    let node = 0;
    for (let at = 0; at < word.length; at++) {
      const code = word.charCodeAt(at);
      const known = stepFrom(node, code);
      const next = known ?? lengths.push(0) - 1;
      if (known === undefined) {
        steps.set(node * CODES + code, next);
        depths.push(at + 1);
      }
      node = next;
    }
    lengths[node] = word.length;
  }
  const follow = (from: number, code: number): number => {
    for (let node = from; ; node = endings[node] ?? 0) {
      const next = stepFrom(node, code);
      if (next !== undefined || node === 0) return next ?? 0;
    }
  };
  // In the order of their depth, each from one that is known.
  const byDepth = [...steps].sort(([, one], [, other]) => (depths[one] ?? 0) - (depths[other] ?? 0));
  for (const [key, node] of byDepth) {
    const parent = Math.floor(key / CODES);
    const ending = parent === 0 ? 0 : follow(endings[parent] ?? 0, key % CODES);
    endings[node] = ending;
    lengths[node] = Math.max(lengths[node] ?? 0, lengths[ending] ?? 0);
  }
  const found = new Uint32Array(text.length + 1);
  let node = 0;
  for (let at = 0; at < text.length; at++) {
    node = follow(node, text.charCodeAt(at));
    found[at + 1] = lengths[node] ?? 0;
  }
  return found;
}

/** As many as there are code units. */
const CODES = 0x10000;
