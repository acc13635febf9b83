import { AppError, type Problem } from '../../lib/errors.ts';
import { isMask, MASK } from '../../lib/secret.ts';
import { findTargetType } from '../../targets/index.ts';
import {
  FILES,
  type FileName,
  type FileTexts,
  NOTIFICATIONS_FILE,
  type RawItems,
  SETTINGS_FILE,
} from '../configuration.ts';
import { withoutByteOrderMark } from '../file-text.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { formatPath } from '../problems.ts';
import { childOf, counterpart, type Schema, valueAt } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import { type Splice, spliced } from '../yaml/change.ts';
import { readYaml } from '../yaml/parse.ts';
import type { Path } from '../yaml/places.ts';
import { flowText } from '../yaml/render.ts';
import { outline, type TextSpan } from '../yaml/spans.ts';
import { clearTextSecrets, isReference } from './references.ts';

/** A secret somewhere in a file. */
interface SecretPlace {
  /** Id of its target; '' for headgate.yml. */
  readonly id: string;
  /** In the target, or in headgate.yml. */
  readonly path: Path;
  readonly value: unknown;
}

/** Every secret that stands in the files itself, as a text or masked; references are none. */
const secretPlaces = ({ targets, settings }: Pick<RawItems, 'targets' | 'settings'>) => ({
  [SETTINGS_FILE]: secretsIn('', settingsSchema, settings),
  [NOTIFICATIONS_FILE]: [...targets].flatMap(([id, target]) => secretsIn(id, schemaOf(target), target)),
});

function schemaOf(target: unknown): Schema | undefined {
  const type = childOf(target, 'type');
  return typeof type === 'string' ? findTargetType(type)?.schema : undefined;
}

function secretsIn(id: string, schema: Schema | undefined, item: object): SecretPlace[] {
  if (schema === undefined) return [];
  return clearTextSecrets(schema, item, new Map())
    .map(path => ({ id, path, value: valueAt(item, path) }))
    .filter(({ value }) => !isReference(value));
}

/** Shorter texts may stand in a file for something else. */
const LEAST_TELLING = 8;

/** The files' texts with every secret that stands in them in clear masked, in comments as well; references stay. */
export function maskedTexts(texts: FileTexts, raw: RawItems): FileTexts {
  const places = secretPlaces(raw);
  const masked: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const text = texts[name];
    const secrets = name === SETTINGS_FILE || name === NOTIFICATIONS_FILE ? places[name] : [];
    if (text !== undefined) masked[name] = secrets.length === 0 ? text : mask(text, secrets);
  }
  return masked;
}

function mask(original: string, secrets: readonly SecretPlace[]): string {
  const text = withoutByteOrderMark(original);
  const find = spanFinder(text);
  const splices = new Map<number, Splice>();
  const elsewhere: string[] = [];
  for (const { value, ...place } of secrets) {
    const span = find(place);
    if (span !== undefined) splices.set(span.start, { ...placeOf(text, span), text: `"${MASK}"` });
    if (typeof value === 'string' && (span === undefined || value.length >= LEAST_TELLING))
      elsewhere.push(value);
  }
  const masked = spliced(text, [...splices.values()]) ?? text;
  return elsewhere.reduce((whole, value) => whole.replaceAll(value, MASK), masked);
}

/** A scalar's own place: the line break that ends a block of lines stays. */
function placeOf(text: string, { kind, start, end }: TextSpan): { start: number; end: number } {
  const isLines = kind === 'block-scalar' && text[end - 1] === '\n';
  return { start, end: isLines ? end - (text[end - 2] === '\r' ? 2 : 1) : end };
}

/** Finds where a secret stands in a file; undefined behind an alias. */
function spanFinder(text: string): (place: Omit<SecretPlace, 'value'>) => TextSpan | undefined {
  const { root } = outline(text);
  const section = root?.entries.find(({ key }) => key === 'targets');
  const byId = new Map(section?.entries.map(entry => [entry.key ?? idIn(text, entry), entry]));
  return ({ id, path }) => {
    const found = path.reduce(within, id === '' ? root : byId.get(id));
    return found?.kind === 'scalar' || found?.kind === 'block-scalar' ? found : undefined;
  };
}

/** Ids are plain words, whatever quotes they stand in. */
function idIn(text: string, item: TextSpan): string {
  const id = item.entries.find(({ key }) => key === 'id');
  return id === undefined ? '' : text.slice(id.start, id.end).replace(/^["']|["']$/g, '');
}

const within = (span: TextSpan | undefined, step: PropertyKey): TextSpan | undefined =>
  typeof step === 'number' ? span?.entries[step] : span?.entries.find(({ key }) => key === step);

/**
 * Texts of an older version with each masked secret replaced by what the files hold in its place now, found by ids.
 * Throws `unprocessable`, naming each secret that nothing is stored for.
 */
export function unmaskedTexts(texts: FileTexts, now: RawItems): FileTexts {
  const unmasked: Partial<Record<FileName, string>> = {};
  const problems: Problem[] = [];
  for (const name of FILES) {
    const text = texts[name];
    if (text === undefined) continue;
    const file = unmask(name, withoutByteOrderMark(text), now);
    unmasked[name] = file.text;
    problems.push(...file.problems);
  }
  if (problems.length === 0) return unmasked;
  throw new AppError(
    'unprocessable',
    `${problems.length} secrets of this version are stored nowhere; the first is ${problems[0]?.path}`,
    { problems },
  );
}

function unmask(name: FileName, text: string, now: RawItems) {
  if (!text.includes(MASK)) return { text, problems: [] };
  const find = spanFinder(text);
  const splices: Splice[] = [];
  for (const place of maskedPlaces(name, text)) {
    const span = find(place);
    const whole = place.id === '' ? now.settings : now.targets.get(place.id);
    const present = presentAt(whole, place.whole, place.path);
    if (span !== undefined && typeof present === 'string')
      splices.push({ ...placeOf(text, span), text: flowText(present) });
  }
  const result = spliced(text, splices) ?? text;
  return { text: result, problems: leftOver(name, result) };
}

interface MaskedPlace extends SecretPlace {
  /** The target, or all of headgate.yml. */
  readonly whole: PlainMap;
}

function maskedPlaces(name: FileName, text: string): MaskedPlace[] {
  if (name !== SETTINGS_FILE && name !== NOTIFICATIONS_FILE) return [];
  const value = readYaml(text).document?.value;
  const whole: PlainMap = isMap(value) ? value : {};
  const targets = new Map(name === NOTIFICATIONS_FILE ? targetsIn(whole.targets) : []);
  const settings = name === SETTINGS_FILE ? whole : {};
  return secretPlaces({ targets, settings })
    [name].filter(place => typeof place.value === 'string' && isMask(place.value))
    .map(place => ({ ...place, whole: targets.get(place.id) ?? settings }));
}

function targetsIn(items: unknown): [string, PlainMap][] {
  const named = Array.isArray(items)
    ? items.map((item: unknown): [string, unknown] => [String(childOf(item, 'id')), item])
    : Object.entries(isMap(items) ? items : {});
  return named.flatMap(([id, item]): [string, PlainMap][] => (isMap(item) ? [[id, item]] : []));
}

/** The value in the same place now. */
function presentAt(now: unknown, old: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  return step === undefined ? now : presentAt(counterpart(now, old, step), childOf(old, step), rest);
}

/** A mask that would be written as if it were a value. */
function leftOver(name: FileName, text: string): Problem[] {
  const value = readYaml(text).document?.value;
  return masksIn(value).map(path => ({
    path: `${name} ${formatPath(path)}`,
    message: `is masked in this version, and nothing is stored for it now; found ${String(valueAt(value, path))}`,
  }));
}

function masksIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return value.includes(MASK) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([step, entry]) => masksIn(entry, [...path, step]));
}
