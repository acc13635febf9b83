import * as z from 'zod';
import { aliasesOf } from '../lib/aliases.ts';
import { AppError, type ErrorCode } from '../lib/errors.ts';
import { isMask, MASK } from '../lib/secret.ts';
import type { NewSecret } from './change.ts';
import { counterpart, nameOf } from './counterpart.ts';
import { isMap, type PlainMap } from './plain.ts';
import { formatPath } from './problems.ts';
import {
  childOf,
  childSchemas,
  isDestination,
  isSecretText,
  isTemplate,
  mapsFor,
  type Schema,
} from './schema-walk.ts';
import { nameIn, namesIn, storedName } from './secret-names.ts';
import { isReference } from './secrets.ts';
import type { Path } from './yaml-places.ts';

/** A write of an item over the API, before it is known what may stand in the file. */
export interface SecretWrite {
  readonly schema: Schema;
  /** What names of stored secrets begin with: `target_ops_hook`, `settings`. */
  readonly owner: string;
  /** As it shall be: secrets that were not sent are masked. */
  readonly item: PlainMap;
  /** As the file has it; undefined for a new one. */
  readonly inFile: PlainMap | undefined;
  /** As it counts, every default said, secrets masked. */
  readonly inForce: PlainMap | undefined;
  /** Whether the writer may refer to any stored secret, as `update:settings` allows. */
  readonly mayRefer: boolean;
}

export interface RuledWrite {
  /** The item with a reference, or what the file holds, in place of each secret. */
  readonly value: PlainMap;
  /** Secrets that must be stored before the item is written. */
  readonly secrets: readonly NewSecret[];
}

/** A place in the item and what is known of it. */
interface Here {
  readonly schemas: readonly Schema[];
  /** As it was sent. */
  readonly path: Path;
  /** The same by the fields' own names and what items are called. */
  readonly names: readonly string[];
  readonly inFile: unknown;
  readonly inForce: unknown;
  /** Whether secrets here would go elsewhere than where they were entered for. */
  readonly moved: boolean;
}

/**
 * The rules of secrets in writes. A mask keeps what is stored; a text goes to the store and leaves a reference;
 * `${env:}` and `${file:}` are refused, a `${secret:}` too unless it stands there already or the writer may set secrets.
 * When the destination changes every secret must be sent anew: nobody can redirect one they cannot read.
 * Throws `invalid-request`, `forbidden` or `unprocessable`, naming the place. Pure.
 */
export function ruleSecrets({ schema, owner, item, inFile, inForce, mayRefer }: SecretWrite): RuledWrite {
  const secrets: NewSecret[] = [];
  /** Two secrets under one name would be one. */
  const taken = namesIn(inFile);

  function rule(value: unknown, here: Here): unknown {
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

  function ruleText(text: string, here: Here): string {
    if (here.schemas.some(isTemplate)) return text;
    const holdsSecret = here.schemas.some(schema => isSecretText(schema, text));
    if (isReference(text)) return ruleReference(text, here, holdsSecret);
    if (!holdsSecret || text === '') return text;
    return isMask(text) ? keep(text, here) : store(text, here);
  }

  function ruleReference(text: string, here: Here, holdsSecret: boolean): string {
    if (!text.startsWith('${secret:')) throw refusal('invalid-request', here, NO_REFERENCE);
    if (text === here.inFile) return holdsSecret ? keep(MASK, here) : text;
    if (!mayRefer) throw refusal('forbidden', here, NO_OTHER_SECRET);
    return text;
  }

  function keep(mask: string, here: Here): string {
    if (typeof here.inFile !== 'string' || here.inFile === '')
      throw refusal('invalid-request', here, NOTHING_KEPT);
    // A mask that shows an address is that of this address only.
    const isAnother = mask !== MASK && mask !== here.inForce;
    if (here.moved || isAnother) throw refusal('unprocessable', here, MOVED);
    return here.inFile;
  }

  function store(value: string, { names, inFile: held }: Here): string {
    const base = storedName([owner, ...names]);
    const present = nameIn(held);
    const isOwn = present?.startsWith(base) === true && /^(?:_\d+)?$/.test(present.slice(base.length));
    let name = isOwn ? present : base;
    for (let count = 2; !isOwn && taken.has(name); count++) name = `${base}_${count}`;
    taken.add(name);
    secrets.push({ name, value });
    return `\${secret:${name}}`;
  }

  const value = rule(item, { schemas: [schema], path: [], names: [], inFile, inForce, moved: false });
  return { value: isMap(value) ? value : item, secrets };
}

const NO_REFERENCE =
  'must not be read from the environment or from a file over the API; send the value itself';
const NO_OTHER_SECRET =
  "may name another stored secret only with the permission 'update:settings'; send the value itself";
const NOTHING_KEPT = 'is masked, and nothing is stored for it; send the value itself';
const MOVED = 'must be sent anew: it would go to another destination than the one it was entered for';

function refusal(code: ErrorCode, { path }: Here, message: string): AppError {
  const place = formatPath(path);
  return new AppError(code, `${place}: ${message}`, { problems: [{ path: place, message }] });
}

const inList = (here: Here, list: readonly unknown[], index: number): Here => ({
  schemas: here.schemas.flatMap(schema => childSchemas(schema, index, list)),
  path: [...here.path, index],
  names: [...here.names, String(nameOf(list[index]) ?? index)],
  inFile: counterpart(here.inFile, list, index),
  inForce: counterpart(here.inForce, list, index),
  moved: here.moved,
});

function inMap(here: Here, map: PlainMap, key: string, moved: boolean): Here {
  const names = namesOf(here.schemas, map, key);
  const [own = key] = names;
  return {
    schemas: here.schemas.flatMap(schema => childSchemas(schema, own, map)),
    path: [...here.path, key],
    names: [...here.names, own],
    inFile: firstOf(here.inFile, names),
    inForce: firstOf(here.inForce, names),
    moved,
  };
}

/** Whether what decides where secrets are sent is no longer what it was. */
function hasMoved(map: PlainMap, { schemas, inFile, inForce }: Here): boolean {
  if (!isMap(inForce)) return false;
  return schemas
    .flatMap(schema => mapsFor(schema, map))
    .flatMap(({ shape }) => Object.entries(shape))
    .some(([key, field]) => {
      if (!isDestination(field)) return false;
      const names = namesOf(schemas, map, key);
      const now = firstOf(map, names) ?? z.safeParse(field, undefined).data;
      const isKept =
        typeof now === 'string' && (isMask(now) || (isReference(now) && now === firstOf(inFile, names)));
      return !isKept && JSON.stringify(now) !== JSON.stringify(inForce[key]);
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
