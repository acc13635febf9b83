import { createHash } from 'node:crypto';
import * as z from 'zod';
import { aliasesOf } from '../../lib/aliases.ts';
import { AppError, type ErrorCode } from '../../lib/errors.ts';
import { isMask, MASK } from '../../lib/secret.ts';
import type { NewSecret } from '../change.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { formatPath } from '../problems.ts';
import {
  childOf,
  childSchemas,
  counterpart,
  isDestination,
  isSecretText,
  isTemplate,
  itemName,
  mapsFor,
  type Schema,
} from '../schema-walk.ts';
import type { Path } from '../yaml/places.ts';
import { isReference } from './references.ts';
import { SECRET_NAME } from './store.ts';

/** A write of an item over the API, before it is known what may stand in the file. */
export interface SecretWrite {
  readonly schema: Schema;
  /** The prefix of names of stored secrets: `target_ops_hook`, `settings`. */
  readonly owner: string;
  /** The new content; secrets that were not sent are masked. */
  readonly item: PlainMap;
  /** As the file has it; undefined for a new one. */
  readonly inFile: PlainMap | undefined;
  /** The effective content: every default said, secrets masked. */
  readonly effective: PlainMap | undefined;
  /** True when the writer may refer to any stored secret, as `update:settings` allows. */
  readonly mayRefer: boolean;
}

export interface CheckedWrite {
  /** The item with a reference, or what the file holds, in place of each secret. */
  readonly value: PlainMap;
  /** Secrets that must be stored before the item is written. */
  readonly secrets: readonly NewSecret[];
}

/** A place in the item and what is known of it. */
interface SecretPosition {
  readonly schemas: readonly Schema[];
  /** As it was sent. */
  readonly path: Path;
  /** The same by the fields' own names and what items are called. */
  readonly names: readonly string[];
  readonly inFile: unknown;
  readonly effective: unknown;
  /** True when secrets here would go to another destination than the one they were entered for. */
  readonly moved: boolean;
}

/**
 * The rules of secrets in writes. A mask keeps what is stored; a text goes to the store and leaves a reference;
 * `${env:}` and `${file:}` are refused, a `${secret:}` too unless it stands there already or the writer may set secrets.
 * When the destination changes every secret must be sent anew: nobody can redirect one they cannot read.
 * Throws `invalid-request`, `forbidden` or `unprocessable`, naming the place. Pure.
 */
export function applySecretRules({
  schema,
  owner,
  item,
  inFile,
  effective,
  mayRefer,
}: SecretWrite): CheckedWrite {
  const secrets: NewSecret[] = [];
  /** Two secrets under one name would be one. */
  const taken = namesIn(inFile);

  function rule(value: unknown, here: SecretPosition): unknown {
    if (typeof value === 'string') return ruleText(value, here);
    if (Array.isArray(value)) return value.map((one, index) => rule(one, inList(here, value, index)));
    if (!isMap(value)) return value;
    const moved = here.moved || hasMoved(value, here);
    const entries = Object.entries(value).map(([key, one]) => [
      key,
      rule(one, inMap(here, value, key, moved)),
    ]);
    return Object.fromEntries(entries);
  }

  function ruleText(text: string, here: SecretPosition): string {
    if (here.schemas.some(isTemplate)) return text;
    const holdsSecret = here.schemas.some(schema => isSecretText(schema, text));
    if (isReference(text)) return ruleReference(text, here, holdsSecret);
    if (!holdsSecret || text === '') return text;
    return isMask(text) ? keep(text, here) : store(text, here);
  }

  function ruleReference(text: string, here: SecretPosition, holdsSecret: boolean): string {
    if (!text.startsWith('${secret:')) throw refusal('invalid-request', here, NO_REFERENCE);
    if (text === here.inFile) return holdsSecret ? keep(MASK, here) : text;
    if (!mayRefer) throw refusal('forbidden', here, NO_OTHER_SECRET);
    return text;
  }

  function keep(mask: string, here: SecretPosition): string {
    if (typeof here.inFile !== 'string' || here.inFile === '')
      throw refusal('invalid-request', here, NOTHING_KEPT);
    // A mask that shows an address is that of this address only.
    const isAnother = mask !== MASK && mask !== here.effective;
    if (here.moved || isAnother) throw refusal('unprocessable', here, MOVED);
    return here.inFile;
  }

  function store(value: string, { names, inFile: held }: SecretPosition): string {
    const base = storedName([owner, ...names]);
    const present = nameIn(held);
    const isOwn = present?.startsWith(base) === true && /^(?:_\d+)?$/.test(present.slice(base.length));
    let name = isOwn ? present : base;
    for (let count = 2; !isOwn && taken.has(name); count++) name = `${base}_${count}`;
    taken.add(name);
    secrets.push({ name, value });
    return `\${secret:${name}}`;
  }

  const value = rule(item, { schemas: [schema], path: [], names: [], inFile, effective, moved: false });
  return { value: isMap(value) ? value : item, secrets };
}

const NO_REFERENCE =
  'must not be read from the environment or from a file over the API; send the value itself';
const NO_OTHER_SECRET =
  "may name another stored secret only with the permission 'update:settings'; send the value itself";
const NOTHING_KEPT = 'is masked, and nothing is stored for it; send the value itself';
const MOVED = 'must be sent anew: it would go to another destination than the one it was entered for';

function refusal(code: ErrorCode, { path }: SecretPosition, message: string): AppError {
  const place = formatPath(path);
  return new AppError(code, `${place}: ${message}`, { problems: [{ path: place, message }] });
}

const inList = (here: SecretPosition, list: readonly unknown[], index: number): SecretPosition => ({
  schemas: here.schemas.flatMap(schema => childSchemas(schema, index, list)),
  path: [...here.path, index],
  names: [...here.names, String(itemName(list[index]) ?? index)],
  inFile: counterpart(here.inFile, list, index),
  effective: counterpart(here.effective, list, index),
  moved: here.moved,
});

function inMap(here: SecretPosition, map: PlainMap, key: string, moved: boolean): SecretPosition {
  const names = namesOf(here.schemas, map, key);
  const [own = key] = names;
  return {
    schemas: here.schemas.flatMap(schema => childSchemas(schema, own, map)),
    path: [...here.path, key],
    names: [...here.names, own],
    inFile: firstOf(here.inFile, names),
    effective: firstOf(here.effective, names),
    moved,
  };
}

/** True when a setting that decides where secrets are sent has changed. */
function hasMoved(map: PlainMap, { schemas, inFile, effective }: SecretPosition): boolean {
  if (!isMap(effective)) return false;
  return schemas
    .flatMap(schema => mapsFor(schema, map))
    .flatMap(({ shape }) => Object.entries(shape))
    .some(([key, field]) => {
      if (!isDestination(field)) return false;
      const names = namesOf(schemas, map, key);
      const now = firstOf(map, names) ?? z.safeParse(field, undefined).data;
      const isKept =
        typeof now === 'string' && (isMask(now) || (isReference(now) && now === firstOf(inFile, names)));
      return !isKept && JSON.stringify(now) !== JSON.stringify(effective[key]);
    });
}

/** The key's own name, then the others it may be written by. */
function namesOf(schemas: readonly Schema[], map: PlainMap, key: string): string[] {
  const pairs = schemas.flatMap(schema => mapsFor(schema, map)).flatMap(one => [...aliasesOf(one)]);
  const own = pairs.find(([name]) => name === key)?.[1] ?? key;
  return [own, ...pairs.filter(([, name]) => name === own).map(([name]) => name)];
}

const firstOf = (map: unknown, names: readonly string[]): unknown =>
  names.map(name => childOf(map, name)).find(value => value !== undefined);

/** The name that a secret sent over the API is stored by: `target_ops_hook_token`. */
function storedName(steps: readonly string[]): string {
  const whole = steps.join('_');
  const plain = whole.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (plain === whole && SECRET_NAME.test(plain)) return plain;
  // Names that had to be cut or replaced differ by a digest.
  return `${plain.slice(0, 90)}_${createHash('sha256').update(whole).digest('hex').slice(0, 12)}`;
}

/** The name in `${secret:NAME}`. */
const nameIn = (text: unknown): string | undefined =>
  typeof text === 'string' ? /^\$\{secret:(.+)\}$/.exec(text)?.[1] : undefined;

/** The names of all stored secrets that a value refers to. */
function namesIn(value: unknown): Set<string> {
  const names = new Set<string>();
  function collect(current: unknown): void {
    const name = nameIn(current);
    if (name !== undefined) names.add(name);
    else if (typeof current === 'object' && current !== null) Object.values(current).forEach(collect);
  }
  collect(value);
  return names;
}
