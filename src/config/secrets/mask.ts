import * as z from 'zod';
import { LEAST_MASKED, MASK } from '../../lib/secret.ts';
import { FILES, type FileName, type FileTexts, type RawItems, SETTINGS_FILE } from '../configuration.ts';
import { withoutByteOrderMark } from '../file-text.ts';
import { type Schema, valueAt } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import { type Splice, spliced } from '../yaml/change.ts';
import { readConfigDocument } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { outline, type TextSpan } from '../yaml/spans.ts';
import { SECTIONS } from './items.ts';
import { clearTextSecrets, isReference } from './references.ts';

/** A secret somewhere in a file. */
interface SecretPlace {
  /** Id of its item; undefined for what stands in none. */
  readonly id: string | undefined;
  /** In the item, or in the file. */
  readonly path: Path;
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
const sharedSchema = z.looseObject({}).meta({ namesSecrets: true });

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
  return [...new Set(elsewhere)].reduce((whole, value) => whole.replaceAll(value, MASK), masked);
}

/** A scalar's own place: the line break that ends a block of lines stays. */
export function placeOf(text: string, { kind, start, end }: TextSpan): { start: number; end: number } {
  const isLines = kind === 'block-scalar' && text[end - 1] === '\n';
  return { start, end: isLines ? end - (text[end - 2] === '\r' ? 2 : 1) : end };
}

/** Finds where a secret stands in a file; behind an alias where its anchor is. */
function spanFinder(
  name: FileName,
  text: string,
): (place: Omit<SecretPlace, 'value'>) => TextSpan | undefined {
  const { root } = outline(text);
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
