import { createHash } from 'node:crypto';
import * as z from 'zod';
import { AppError, type ErrorCode } from '../../lib/errors.ts';
import { isMask, MASK } from '../../lib/secret.ts';
import type { NewSecret } from '../change.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { formatPath } from '../problems.ts';
import {
  childSchemas,
  counterpart,
  firstOf,
  guardsSecrets,
  isOpen,
  isSecretNaming,
  isSecretText,
  isTemplate,
  itemName,
  mapsFor,
  namesOf,
  type Schema,
  valueAt,
} from '../schema-walk.ts';
import type { Path } from '../yaml/places.ts';
import { isReference } from './references.ts';
import { maskedAddress } from './shown.ts';
import { SECRET_NAME } from './store.ts';

/** A write of an item over the API, before it is known what may stand in the file. */
export interface SecretWrite {
  readonly schema: Schema;
  /** The first steps of names of stored secrets: `['target', 'ops_hook']`, `['settings']`. */
  readonly owner: readonly string[];
  /** The new content; secrets that were not sent are masked. */
  readonly item: PlainMap;
  /** What its author has sent of it. Left out, nothing counts as said anew that reads as before. */
  readonly sent?: PlainMap | undefined;
  /** As the file has it; undefined for a new one. */
  readonly inFile: PlainMap | undefined;
  /** The effective content as reads show it: every default said, secrets masked. */
  readonly effective: PlainMap | undefined;
  /** True when the writer may refer to any stored secret, as `update:settings` allows. */
  readonly mayRefer: boolean;
  /** True for the name of a stored secret that another item refers to. */
  readonly isUsedElsewhere: (name: string) => boolean;
  /**
   * Called for each secret that would have to be sent anew, in place of the refusal; the secret stays what it is in the
   * value. For plans, which write nothing.
   */
  readonly onMoved?: (moved: MovedSecret) => void;
}

/** A secret that must be sent anew, as the setting changes that decides where it goes or how it is protected. */
export interface MovedSecret {
  readonly path: Path;
  readonly setting: string;
}

export interface CheckedWrite {
  /** The item with a reference, or what the file holds, in place of each secret. */
  readonly value: PlainMap;
  /** Secrets that must be stored before the item is written. */
  readonly secrets: readonly NewSecret[];
  /** What `value` holds otherwise than the item that was sent. */
  readonly replaced: readonly ReplacedValue[];
}

export interface ReplacedValue {
  readonly path: Path;
  readonly value: unknown;
  /** The secret to store, where one was sent. */
  readonly secret?: NewSecret;
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
  /** True when secrets here would go elsewhere, or be protected otherwise, than where they were entered for. */
  readonly moved: string | undefined;
}

/**
 * The rules of secrets in writes, for every way in. A mask keeps what is stored; a text goes to the store and leaves a
 * reference; `${env:}` and `${file:}` are refused but where they stand already, a `${secret:}` and the name of a stored
 * secret too, unless the writer may set secrets. When a setting changes that decides where secrets go, or how they are
 * protected, everything that is hidden must be sent anew: nobody can redirect or lay open what they cannot read.
 * Throws `invalid-request`, `forbidden` or `unprocessable`, naming the place. Pure.
 */
export const applySecretRules = (write: SecretWrite): CheckedWrite => new SecretRules(write).apply();

class SecretRules {
  readonly #write: SecretWrite;
  readonly #replaced: ReplacedValue[] = [];
  /** Two secrets under one name would be one. */
  readonly #taken: Set<string>;

  constructor(write: SecretWrite) {
    this.#write = write;
    this.#taken = namesIn(write.inFile);
  }

  apply(): CheckedWrite {
    const { schema, item, inFile, effective } = this.#write;
    const whole = { schemas: [schema], path: [], names: [], inFile, effective, moved: undefined };
    const value = this.#rule(item, whole);
    const secrets = this.#replaced.flatMap(({ secret }) => secret ?? []);
    return { value: isMap(value) ? value : item, secrets, replaced: this.#replaced };
  }

  #rule(value: unknown, here: SecretPosition): unknown {
    if (Array.isArray(value)) return value.map((one, index) => this.#rule(one, inList(here, value, index)));
    if (isMap(value)) {
      const moved = here.moved ?? movedBy(value, here);
      const entries = Object.entries(value).map(([key, one]) => [
        key,
        this.#rule(one, inMap(here, value, key, moved)),
      ]);
      return Object.fromEntries(entries);
    }
    if (typeof value !== 'string' && typeof value !== 'number') return value;
    const ruled = this.#ruleScalar(value, here);
    const secret = typeof ruled === 'object' ? ruled : undefined;
    const result = secret === undefined ? ruled : `\${secret:${secret.name}}`;
    if (result !== value) this.#replaced.push({ path: here.path, value: result, ...(secret && { secret }) });
    return result;
  }

  /** What may stand there: a text, or the secret to store in its place. */
  #ruleScalar(value: string | number, here: SecretPosition): string | number | NewSecret {
    const text = String(value);
    if (here.schemas.some(isTemplate)) return value;
    if (isReference(text)) return this.#ruleReference(text, here);
    if (isMask(text) && isHidden(here)) return this.#keep(text, here);
    if (here.schemas.some(isSecretNaming)) return this.#ruleName(text, here);
    const isSecret = here.schemas.some(schema => isSecretText(schema, text));
    // What a person has typed into the file stays there.
    if (!isSecret || text === '' || value === here.inFile) return value;
    return isMask(text) ? this.#keep(text, here) : this.#store(text, here);
  }

  #keep(mask: string, here: SecretPosition): string | number {
    const kept = keep(mask, here);
    if (here.moved !== undefined) this.#refuseMoved(here.path, here.moved);
    return kept;
  }

  #refuseMoved(path: Path, setting: string): void {
    const { onMoved } = this.#write;
    if (onMoved === undefined) throw refusal('unprocessable', { path }, movedText(setting));
    onMoved({ path, setting });
  }

  #ruleReference(text: string, here: SecretPosition): string | number {
    if (text === here.inFile) return this.#keep(MASK, here);
    if (!text.startsWith('${secret:')) throw refusal('invalid-request', here, NO_REFERENCE);
    if (!this.#write.mayRefer) throw refusal('forbidden', here, NO_OTHER_SECRET);
    return text;
  }

  /** To name a stored secret is to refer to it; who may do so and says it again has given it anew. */
  #ruleName(text: string, here: SecretPosition): string {
    const { mayRefer, sent } = this.#write;
    const isKept = text === here.inFile || text === here.effective;
    if (!isKept && !mayRefer) throw refusal('forbidden', here, NO_OTHER_SECRET);
    const isSaidAnew = mayRefer && sent !== undefined && valueAt(sent, here.path) !== undefined;
    if (isKept && here.moved !== undefined && !isSaidAnew) this.#refuseMoved(here.path, here.moved);
    return text;
  }

  #store(value: string, { names, inFile: held }: SecretPosition): NewSecret {
    const base = storedName([...this.#write.owner, ...names]);
    const present = nameIn(held);
    const isOwn =
      present?.startsWith(base) === true &&
      /^(?:-\d+)?$/.test(present.slice(base.length)) &&
      !this.#write.isUsedElsewhere(present);
    let name = isOwn ? present : base;
    for (let count = 2; !isOwn && this.#isTaken(name); count++) name = `${base}-${count}`;
    this.#taken.add(name);
    return { name, value };
  }

  #isTaken(name: string): boolean {
    return this.#taken.has(name) || this.#write.isUsedElsewhere(name);
  }
}

/** True when reads show a mask in place of what the file has there. */
const isHidden = ({ schemas, inFile, effective }: SecretPosition): boolean =>
  isReference(inFile) ||
  (typeof inFile === 'string' && schemas.some(schema => isSecretText(schema, inFile))) ||
  (schemas.some(schema => guardsSecrets(schema) || isOpen(schema)) && maskedAddress(effective) !== undefined);

function keep(mask: string, here: SecretPosition): string | number {
  const { inFile, effective } = here;
  if ((typeof inFile !== 'string' && typeof inFile !== 'number') || inFile === '')
    throw refusal('unprocessable', here, NOTHING_KEPT);
  // A mask that shows an address is that of this address only.
  const isAnother = mask !== MASK && mask !== effective && mask !== maskedAddress(effective);
  if (isAnother) throw refusal('unprocessable', here, ANOTHER_ADDRESS);
  return inFile;
}

const NO_REFERENCE =
  'must not be read from the environment or from a file over the API; send the value itself';
const NO_OTHER_SECRET =
  "may name another stored secret only with the permission 'update:settings'; send the value itself";
const NOTHING_KEPT = 'is masked, and nothing is stored for it; send the value itself';
const ANOTHER_ADDRESS = 'is the mask of another address than the one that is stored; send the whole address';
const movedText = (setting: string): string =>
  `must be sent anew, as '${setting}' changes: it would go to another destination, or be protected otherwise, than it was entered for`;

function refusal(code: ErrorCode, { path }: Pick<SecretPosition, 'path'>, message: string): AppError {
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

function inMap(here: SecretPosition, map: PlainMap, key: string, moved: string | undefined): SecretPosition {
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

/** The setting of a map that decides where secrets go, or how they are protected, and has changed. */
function movedBy(map: PlainMap, { schemas, inFile, effective }: SecretPosition): string | undefined {
  if (!isMap(effective)) return undefined;
  return schemas
    .flatMap(schema => mapsFor(schema, map))
    .flatMap(({ shape }) => Object.entries(shape))
    .find(([key, field]) => {
      if (!guardsSecrets(field)) return false;
      const names = namesOf(schemas, map, key);
      const held = { inFile: firstOf(inFile, names), effective: effective[key] };
      return !isUnchanged(field, firstOf(map, names), held);
    })?.[0];
}

/** True when a value says what holds already: as it is shown, as the file has it, or in other words. */
function isUnchanged(
  schema: Schema,
  value: unknown,
  { inFile, effective }: Pick<SecretPosition, 'inFile' | 'effective'>,
): boolean {
  if (value === undefined && effective === undefined) return true;
  const now = value ?? z.safeParse(schema, undefined).data;
  if (typeof now === 'string') {
    if (isReference(now)) return now === inFile;
    const isSecret = typeof inFile === 'string' && isSecretText(schema, inFile);
    if (now === MASK) return isReference(inFile) || isSecret;
    if (isMask(now)) return now === effective || now === maskedAddress(effective);
    if (isSecretText(schema, now)) return now === inFile;
  }
  if (isMap(now) && isMap(effective)) {
    const maps = mapsFor(schema, now);
    const isSame = (key: string, field: Schema): boolean => {
      const names = namesOf([schema], now, key);
      return isUnchanged(field, firstOf(now, names), {
        inFile: firstOf(inFile, names),
        effective: effective[key],
      });
    };
    return maps.flatMap(({ shape }) => Object.entries(shape)).every(([key, field]) => isSame(key, field));
  }
  if (isSameJson(now, effective) || (value !== undefined && isSameJson(value, inFile))) return true;
  const read = z.safeParse(schema, now);
  return read.success && isSameJson(read.data, effective);
}

const isSameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * The name that a secret sent over the API is stored by: `target_hook_token`. Only steps of letters and digits are joined
 * as they are, so that `_` stands between two of them and nowhere else; all other names end with a digest of the steps,
 * behind the `-` that no joined name has. So two places never have one name.
 */
function storedName(steps: readonly string[]): string {
  const joined = steps.join('_');
  if (steps.every(step => /^[a-zA-Z0-9]+$/.test(step)) && SECRET_NAME.test(joined)) return joined;
  const digest = createHash('sha256').update(JSON.stringify(steps)).digest('hex').slice(0, 24);
  return `${joined.replace(/[^a-zA-Z0-9_]/g, '_').slice(0, 90)}-${digest}`;
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
