import { AppError } from '../../lib/errors.ts';
import { MASK } from '../../lib/secret.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import type { RawItems } from '../configuration.ts';
import { readFileText, withoutByteOrderMark } from '../file-text.ts';
import { type ProcessEnvironment, parseScalar } from '../overrides.ts';
import type { PlainMap } from '../plain.ts';
import { formatPath } from '../problems.ts';
import type { WorkspaceRestrictions } from '../restrictions.ts';
import {
  bearsSecret,
  childOf,
  childrenOf,
  isSecretNaming,
  isSecretText,
  type Schema,
  schemasAt,
} from '../schema-walk.ts';
import type { Path } from '../yaml/places.ts';
import { placeholderFor } from './placeholders.ts';

const REFERENCE = /^\$\{(env|file|secret):([^}]*)\}$/;
export const isReference = (value: unknown): boolean => typeof value === 'string' && REFERENCE.test(value);

const REMEDY = 'write ${env:NAME}, ${file:/path} or ${secret:NAME}';
const LONGEST_SECRET = 64 * 1024;

/** Where references are looked up. */
export interface ReferenceSources {
  readonly environment: ProcessEnvironment;
  /** The text of a stored secret. Absent where no store is open, as in `headgate check`. */
  readonly secretOf?: ((name: string) => string | undefined) | undefined;
  /** Set where the caller must not learn the values of references: then none is looked up. */
  readonly sealed?: true;
  /** Set where files and variables are the operator's: then only stored secrets are looked up. */
  readonly restrictions?: WorkspaceRestrictions | undefined;
}

interface Unresolved {
  readonly path: Path;
  readonly message: string;
}

/** A value whose references were replaced by what they stand for. */
export interface Resolved {
  readonly value: unknown;
  /** The references that were replaced, by path. */
  readonly references: ReadonlyMap<string, string>;
  readonly problems: readonly Unresolved[];
  /** References that cannot be looked up here and may be right elsewhere. */
  readonly unknown: readonly Unresolved[];
  /** References to what is the operator's, which a workspace may not have. */
  readonly refused: readonly Unresolved[];
  /** Files that were named, whether or not they could be read. */
  readonly files: readonly string[];
}

export interface ResolveOptions extends ReferenceSources {
  readonly schema: Schema;
  /** Keys at the top whose values are templates and stay as they are. */
  readonly templates: readonly string[];
}

/**
 * Replaces `${env:NAME}`, `${file:/path}` and `${secret:NAME}` where they are the whole of a value. A file's last
 * line break is dropped. What cannot be looked up here gets a placeholder. Everything else with a `$` stays as it is.
 */
export function resolveReferences(value: unknown, options: ResolveOptions): Resolved {
  const references = new Map<string, string>();
  const problems: Unresolved[] = [];
  const unknown: Unresolved[] = [];
  const refused: Unresolved[] = [];
  const files: string[] = [];

  function walk(current: unknown, path: Path): unknown {
    if (typeof current === 'string') return scalar(current, path);
    if (typeof current !== 'object' || current === null) return current;
    const inside = (entry: unknown, step: PropertyKey): unknown =>
      mayRefer(entry) ? walk(entry, [...path, step]) : entry;
    if (Array.isArray(current)) return current.map(inside);
    return Object.fromEntries(
      Object.entries(current).map(([key, entry]) => {
        const isTemplate = path.length === 0 && options.templates.includes(key);
        return [key, isTemplate ? entry : inside(entry, key)];
      }),
    );
  }

  function scalar(text: string, path: Path): unknown {
    const [, kind, name = ''] = REFERENCE.exec(text) ?? [];
    if (kind === undefined) return text;
    references.set(formatPath(path), text);
    if (kind === 'file' && options.sealed === undefined && options.restrictions === undefined)
      files.push(name);
    const found = lookUp(kind, name, options);
    const schemas = schemasAt(options.schema, path, value);
    if ('text' in found) return parseScalar(schemas, found.text);
    const message = `${text} ${found.problem}`;
    if (found.kind === 'wrong') {
      problems.push({ path, message });
      return text;
    }
    (found.kind === 'refused' ? refused : unknown).push({ path, message });
    return placeholderFor(schemas, name, text);
  }

  return { value: mayRefer(value) ? walk(value, []) : value, references, problems, unknown, refused, files };
}

/** The texts that references in an item stand for; `resolved` is the item with them in their places. */
function referredTexts(raw: unknown, resolved: unknown): string[] {
  if (typeof raw === 'string')
    return isReference(raw) && raw !== resolved && typeof resolved === 'string' ? [resolved] : [];
  if (typeof raw !== 'object' || raw === null || !mayRefer(raw)) return [];
  const steps = Array.isArray(raw) ? [...raw.keys()] : Object.keys(raw);
  return steps.flatMap(step => referredTexts(childOf(raw, step), childOf(resolved, step)));
}

/** A target with what its references stand for. A heading that is one is not shown either. */
export function withReferredTexts<Known extends Target>(
  target: Known,
  raw: unknown,
  resolved: unknown,
): Known {
  const texts = referredTexts(raw, resolved);
  if (texts.length === 0) return target;
  const { bulletinTitle } = target;
  const isHidden = bulletinTitle !== undefined && texts.includes(bulletinTitle);
  return { ...target, referredTexts: texts, ...(isHidden && { bulletinTitle: MASK }) };
}

/** Most values refer to nothing and need no copy. */
export function mayRefer(value: unknown): boolean {
  if (typeof value === 'string') return value.startsWith('${');
  return typeof value === 'object' && value !== null && Object.values(value).some(mayRefer);
}

type Found =
  | { readonly text: string }
  /** `unknown` when a process that has a store may know it, `refused` when it is not the workspace's to name. */
  | { readonly problem: string; readonly kind: 'wrong' | 'unknown' | 'refused' };

const wrong = (problem: string): Found => ({ problem, kind: 'wrong' });

function lookUp(
  kind: string,
  name: string,
  { environment, secretOf, sealed, restrictions }: ReferenceSources,
): Found {
  if (name === '') return wrong(`names nothing; ${REMEDY}`);
  if (kind !== 'secret' && restrictions !== undefined)
    return {
      problem: 'cannot be looked up here; store a secret and write ${secret:NAME}',
      kind: 'refused',
    };
  if (sealed) return { problem: 'is not looked up while a text is only checked', kind: 'unknown' };
  if (kind === 'secret') return fromStore(name, secretOf);
  return kind === 'env' ? fromEnvironment(name, environment) : fromFile(name);
}

function fromStore(name: string, secretOf: ReferenceSources['secretOf']): Found {
  if (secretOf === undefined)
    return { problem: 'is not looked up here: only a running server knows its secrets', kind: 'unknown' };
  const text = secretOf(name);
  if (text !== undefined) return { text };
  return wrong(
    `is no stored secret; set it by "headgate secrets set ${name}" or PUT /api/v1/system/secrets/${name}`,
  );
}

function fromEnvironment(name: string, environment: ProcessEnvironment): Found {
  const text = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (text === undefined) return wrong('is not set; set this variable for the process');
  return text === '' ? wrong('is set but empty') : { text };
}

function fromFile(path: string): Found {
  if (!path.startsWith('/')) return wrong('must name its file by a path that begins with /');
  const file = readFileText(path);
  if (file.kind === 'missing') return wrong('names a file that does not exist');
  if (file.kind === 'unreadable') return wrong(`names a file that ${file.message}`);
  const text = withoutByteOrderMark(file.text).replace(/\r?\n$/, '');
  if (text === '') return wrong('names a file that is empty');
  if (text.length > LONGEST_SECRET)
    return wrong(`names a file of over ${LONGEST_SECRET / 1024} KiB, which is no secret`);
  return { text };
}

/** Paths of the secrets that stand in the value itself. */
export function clearTextSecrets(
  schema: Schema,
  value: unknown,
  references: ReadonlyMap<string, string>,
): Path[] {
  const found: Path[] = [];
  function walk(schemas: readonly Schema[], current: unknown, path: Path): void {
    if (typeof current === 'string' || typeof current === 'number') {
      const isOne = current !== '' && schemas.some(one => isSecretText(one, String(current)));
      if (isOne && !references.has(formatPath(path))) found.push(path);
    } else if (typeof current === 'object' && current !== null) {
      const childAt = childrenOf(schemas, current);
      for (const step of Array.isArray(current) ? current.keys() : Object.keys(current)) {
        const bearers = childAt(step).filter(bearsSecret);
        if (bearers.length > 0) walk(bearers, childOf(current, step), [...path, step]);
      }
    }
  }
  if (bearsSecret(schema)) walk([schema], value, []);
  return found;
}

/** Places one message names. */
const NAMED = 10;

/** Where the configuration refers to a stored secret: `target 'ops_hook' (token)`, `headgate.yml (pipelines[0].token)`. */
const referencesTo = (raw: RawItems, name: string): string[] =>
  everyItem(raw).flatMap(({ schemas, item, called }) =>
    referencesIn(schemas, item).flatMap(one =>
      one.name === name ? [`${called} (${formatPath(one.path)})`] : [],
    ),
  );

interface RawItem {
  readonly item: PlainMap;
  readonly schemas: readonly Schema[];
  readonly called: string;
}

/** Everything that may refer to secrets. */
const everyItem = ({ targets, settings, inputs, outputs }: RawItems): RawItem[] => [
  { item: settings, schemas: [], called: 'headgate.yml' },
  ...itemsOf('target', targets, targetSchemas),
  ...itemsOf('input', inputs, () => []),
  ...itemsOf('output', outputs, () => []),
];

const itemsOf = (
  noun: string,
  items: RawItems['targets'],
  schemasOf: (item: PlainMap) => readonly Schema[],
): RawItem[] =>
  [...items].map(([id, item]) => ({ item, schemas: schemasOf(item), called: `${noun} '${id}'` }));

function targetSchemas({ type }: PlainMap): readonly Schema[] {
  const schema = typeof type === 'string' ? findTargetType(type)?.schema : undefined;
  return schema === undefined ? [] : [schema];
}

/** True when an item other than this one refers to the stored secret. */
export const isReferredTo = (raw: RawItems, name: string, except: PlainMap | undefined): boolean =>
  referrersIn(raw)
    .get(name)
    ?.some(item => item !== except) === true;

const referrers = new WeakMap<RawItems, ReadonlyMap<string, readonly PlainMap[]>>();

/** The items that refer to each stored secret, by its name. Kept, as a change may ask for many names. */
function referrersIn(raw: RawItems): ReadonlyMap<string, readonly PlainMap[]> {
  const known = referrers.get(raw);
  if (known !== undefined) return known;
  const found = new Map<string, PlainMap[]>();
  for (const { item, schemas } of everyItem(raw))
    for (const { name } of referencesIn(schemas, item)) {
      const items = found.get(name);
      if (items === undefined) found.set(name, [item]);
      else items.push(item);
    }
  referrers.set(raw, found);
  return found;
}

/** Throws `conflict`, naming where, while the configuration refers to the secret. */
export function assertUnused(raw: RawItems, name: string): void {
  const places = referencesTo(raw, name);
  if (places.length === 0) return;
  const more = places.length > NAMED ? ` and ${places.length - NAMED} more` : '';
  const named = places.slice(0, NAMED).join(', ');
  throw new AppError('conflict', `secret '${name}' is used by ${named}${more}; change that first`);
}

interface NamedSecret {
  readonly path: Path;
  readonly name: string;
}

/** References to stored secrets, and settings that hold the name of one. */
export function referencesIn(schemas: readonly Schema[], value: unknown, path: Path = []): NamedSecret[] {
  if (typeof value === 'string') {
    const [, kind, referred = ''] = REFERENCE.exec(value) ?? [];
    if (kind === 'secret') return [{ path, name: referred }];
    return kind === undefined && schemas.some(isSecretNaming) ? [{ path, name: value }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const childAt = childrenOf(schemas, value);
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([step, entry]) => referencesIn(childAt(step), entry, [...path, step]));
}
