import { MASK } from '../lib/secret.ts';
import { findTargetType } from '../targets/index.ts';
import type { RawItems } from './declared.ts';
import { FILES, type FileName, NOTIFICATIONS_FILE, SETTINGS_FILE, type Texts } from './load.ts';
import { childOf, type Schema, valueAt } from './schema-walk.ts';
import { clearTextSecrets, isReference } from './secrets.ts';
import { settingsSchema } from './settings.ts';
import { withoutMark } from './text.ts';
import { type Splice, spliced } from './yaml-change.ts';
import type { Path } from './yaml-places.ts';
import { outline, type Span } from './yaml-spans.ts';

/** A secret somewhere in a file. */
export interface SecretPlace {
  /** Id of its target; '' for headgate.yml. */
  readonly id: string;
  /** In the target, or in headgate.yml. */
  readonly path: Path;
  readonly value: unknown;
}

/** Every secret that stands in the files itself, as a text or masked; references are none. */
export const secretPlaces = ({ targets, settings }: Pick<RawItems, 'targets' | 'settings'>) => ({
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
export function maskedTexts(texts: Texts, raw: RawItems): Texts {
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
  const text = withoutMark(original);
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
export function placeOf(text: string, { kind, start, end }: Span): { start: number; end: number } {
  const isLines = kind === 'block-scalar' && text[end - 1] === '\n';
  return { start, end: isLines ? end - (text[end - 2] === '\r' ? 2 : 1) : end };
}

/** Finds where a secret stands in a file; undefined behind an alias. */
export function spanFinder(text: string): (place: Omit<SecretPlace, 'value'>) => Span | undefined {
  const { root } = outline(text);
  const section = root?.entries.find(({ key }) => key === 'targets');
  const byId = new Map(section?.entries.map(entry => [entry.key ?? idIn(text, entry), entry]));
  return ({ id, path }) => {
    const found = path.reduce(within, id === '' ? root : byId.get(id));
    return found?.kind === 'scalar' || found?.kind === 'block-scalar' ? found : undefined;
  };
}

/** Ids are plain words, whatever quotes they stand in. */
function idIn(text: string, item: Span): string {
  const id = item.entries.find(({ key }) => key === 'id');
  return id === undefined ? '' : text.slice(id.start, id.end).replace(/^["']|["']$/g, '');
}

const within = (span: Span | undefined, step: PropertyKey): Span | undefined =>
  typeof step === 'number' ? span?.entries[step] : span?.entries.find(({ key }) => key === step);
