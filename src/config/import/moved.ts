import { basename } from 'node:path';
import { dump } from 'js-yaml';
import { aliasesOf } from '../../lib/aliases.ts';
import { AppError } from '../../lib/errors.ts';
import { notificationSchema } from '../../notifications/notification.ts';
import { findTargetType } from '../../targets/index.ts';
import {
  type FileTexts,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from '../configuration.ts';
import { declaredSchema } from '../declared-schema.ts';
import { isMap } from '../plain.ts';
import { type ConfigProblem, formatPath, formatProblem, quote } from '../problems.ts';
import { readConfiguration } from '../read/configuration.ts';
import { fileOrigin } from '../schema-problems.ts';
import { mapsFor, type Schema, valueAt } from '../schema-walk.ts';
import { clearTextSecrets, referencesIn } from '../secrets/references.ts';
import { type ConfigDocument, readConfigDocument } from '../yaml/document.ts';

/** A map that is being converted. */
export type Draft = Record<string, unknown>;
type Section = 'targets' | 'notifications' | 'inhibitions' | 'inputs' | 'outputs';
type Steps = readonly (string | number)[];

/** Where something stands in a file of the other product: `file:line:column`. */
export type SourcePlace = (path?: Steps) => string;

const FILE_OF: Readonly<Record<Section, keyof FileTexts>> = {
  targets: NOTIFICATIONS_FILE,
  notifications: NOTIFICATIONS_FILE,
  inhibitions: NOTIFICATIONS_FILE,
  inputs: INPUTS_FILE,
  outputs: OUTPUTS_FILE,
};
const SECTIONS = ['targets', 'notifications', 'inhibitions', 'inputs', 'outputs'] as const;

/** Each leaves out up to 200 things; after so many it is no configuration that somebody uses. */
const MOST_ROUNDS = 25;

/** What became of the files of another product. */
export interface Conversion {
  /** Files of Headgate that pass `headgate check`. */
  readonly files: FileTexts;
  /** A line for each thing that was carried, changed or left out, with its place. */
  readonly lines: readonly string[];
}

/** Throws `invalid-request`, naming the place, for what is no YAML, or too large. */
export function readForeign(folder: string, name: string): ConfigDocument {
  const document = readConfigDocument(folder, name);
  const [problem] = document.problems;
  if (problem !== undefined)
    throw new AppError('invalid-request', formatProblem({ ...problem.place(), message: problem.message() }));
  return document;
}

/** The place of what stands at a path below `base`; nearest above it where there is nothing. */
export function placeIn(document: ConfigDocument, base: Steps, shown = basename(document.file)): SourcePlace {
  const origin = fileOrigin({ ...document, base: [...base] });
  return (path = []) => {
    const { line, column } = origin.place([...path]);
    return `${shown}:${line}:${column}`;
  };
}

interface Item {
  readonly value: Draft;
  readonly place: SourcePlace;
  changes: number;
}

/** Collects what is converted, and what is to be said of it. */
export class Moved {
  readonly #items: Record<Section, Item[]> = {
    targets: [],
    notifications: [],
    inhibitions: [],
    inputs: [],
    outputs: [],
  };
  readonly #ids = new Set<string>();
  readonly #lines: string[] = [];
  readonly #secrets = new Set<string>();
  #left = 0;
  #changed = 0;

  changed(place: string, message: string): void {
    this.#changed++;
    this.#lines.push(`${place}: changed: ${message}`);
  }

  leftOut(place: string, message: string): void {
    this.#left++;
    this.#lines.push(`${place}: left out: ${message}`);
  }

  /** The second item of an id is left out. */
  add(section: Section, value: Draft, place: SourcePlace): void {
    const label = `${section}.${String(value.id)}`;
    if (this.has(section, value.id)) {
      this.leftOut(place(), `${label}: an earlier one has the same id; ids are unique`);
      return;
    }
    this.#ids.add(label);
    this.#items[section].push({ value, place, changes: 0 });
  }

  has(section: Section, id: unknown): boolean {
    return this.#ids.has(`${section}.${String(id)}`);
  }

  /** `${secret:…}` in place of a secret. */
  secret(id: string, setting: string): string {
    const name = `${id}_${setting}`.replace(/[^\w-]/g, '_').slice(0, 128);
    let free = name;
    for (let count = 2; this.#secrets.has(free); count++) free = `${name}_${count}`;
    this.#secrets.add(free);
    return `\${secret:${free}}`;
  }

  /** Masks secrets, leaves out what Headgate refuses, and writes the rest. */
  finish(): Conversion {
    for (const item of this.#items.targets) this.#ownNames(item);
    for (const section of ['targets', 'notifications'] as const)
      for (const item of this.#items[section]) this.#dropUnknown(section, item);
    for (const section of ['targets', 'inputs', 'outputs'] as const)
      for (const item of this.#items[section]) this.#hideSecrets(section, item);
    this.#sift();
    const lines = [...this.#lines];
    for (const section of SECTIONS)
      for (const { value, place, changes } of this.#items[section])
        lines.push(
          `${place()}: ${changes === 0 ? 'understood' : 'understood in part'}: ${section}.${String(value.id)}`,
        );
    const carried = SECTIONS.reduce((sum, section) => sum + this.#items[section].length, 0);
    for (const name of this.#namedSecrets()) lines.push(`secret to store: headgate secrets set ${name}`);
    lines.push(`${carried} understood, ${this.#changed} changed, ${this.#left} left out`);
    return { files: this.#texts(), lines };
  }

  /** Settings of a target by their own names. */
  #ownNames({ value, place }: Item): void {
    const schema = schemaOf(value);
    if (schema === undefined) return;
    for (const map of mapsFor(schema, value))
      for (const [name, key] of aliasesOf(map))
        if (Object.hasOwn(value, name) && !Object.hasOwn(value, key)) {
          this.changed(place([name]), `targets.${String(value.id)}.${name} is called ${key}`);
          value[key] = value[name];
          delete value[name];
        }
  }

  /** The check would name them as well, but only some hundreds at a time. */
  #dropUnknown(section: Section, item: Item): void {
    const { value, place } = item;
    const schema = section === 'targets' ? schemaOf(value) : notificationSchema;
    if (schema === undefined) return;
    const known = new Set(
      mapsFor(schema, value).flatMap(map => [...Object.keys(map.shape), ...aliasesOf(map).keys()]),
    );
    for (const key of Object.keys(value)) {
      if (known.has(key)) continue;
      this.leftOut(
        place([key]),
        `${formatPath([section, String(value.id), key])}: Headgate has no such setting`,
      );
      item.changes++;
      delete value[key];
    }
  }

  #hideSecrets(section: Section, { value, place }: Item): void {
    const schema = section === 'targets' ? schemaOf(value) : declaredSchema;
    if (schema === undefined) return;
    const paths = clearTextSecrets(schema, value, new Map()).map(stepsOf);
    if (isTellingAddress(value.url) && !paths.some(path => path[0] === 'url')) paths.push(['url']);
    for (const path of paths) {
      if (isReferenceText(valueAt(value, path))) continue;
      const text = this.secret(String(value.id), path.filter(step => typeof step === 'string').join('_'));
      setAt(value, path, text);
      this.changed(place(path), `${section}.${String(value.id)}.${formatPath(path)} is ${text}`);
    }
  }

  #namedSecrets(): string[] {
    const named = this.#items.targets.flatMap(({ value }) => referencesIn(schemasOf(value), value));
    const declared = [...this.#items.inputs, ...this.#items.outputs].flatMap(({ value }) =>
      referencesIn([], value),
    );
    return [...new Set([...named, ...declared].map(({ name }) => name))];
  }

  #texts(): FileTexts {
    const texts: Partial<Record<keyof FileTexts, string>> = {};
    for (const section of SECTIONS) {
      const items = this.#items[section].map(({ value }) => value);
      if (items.length === 0) continue;
      const text = dump({ [section]: items }, { lineWidth: -1, noRefs: true });
      const file = FILE_OF[section];
      texts[file] = (texts[file] ?? '') + text;
    }
    return texts;
  }

  /** The check of the configuration itself says what is refused, until nothing is. */
  #sift(): void {
    for (let round = 0; ; round++) {
      const texts = { [SETTINGS_FILE]: '', [NOTIFICATIONS_FILE]: '', [INPUTS_FILE]: '', [OUTPUTS_FILE]: '' };
      const read = readConfiguration({
        folder: '/',
        environment: {},
        flags: {},
        texts: { ...texts, ...this.#texts() },
      });
      if (read.ok) return;
      const removed = round < MOST_ROUNDS ? this.#remove(read.problems) : 0;
      if (removed === 0) {
        const [problem] = read.problems;
        throw new AppError(
          'unprocessable',
          `too much of it is refused to convert it; the first: ${problem?.message} (${problem?.path})`,
        );
      }
    }
  }

  /** Goes from the last to the first, so that the places of those to come stay what they are. */
  #remove(problems: readonly ConfigProblem[]): number {
    const places = problems.map(({ path, message }) => ({
      steps: pathSteps(path),
      message: shortened(message),
    }));
    const sorted = places
      .filter(({ steps }) => steps.length > 0)
      .sort((a, b) => compareSteps(b.steps, a.steps));
    let removed = 0;
    for (const { steps, message } of sorted) if (this.#removeAt(steps, message)) removed++;
    return removed;
  }

  #removeAt([section, index, ...rest]: Steps, message: string): boolean {
    const name = SECTIONS.find(one => one === section);
    if (name === undefined) return false;
    const items = this.#items[name];
    if (typeof index !== 'number') {
      for (const item of items) this.leftOut(item.place(), `${name}.${String(item.value.id)}: ${message}`);
      return items.splice(0).length > 0;
    }
    const item = items[index];
    if (item === undefined) return false;
    const path = removable(item.value, rest);
    const label = formatPath([name, String(item.value.id), ...path]);
    const said = `${label}: ${message}${path.length === rest.length ? '' : ` (${formatPath(rest)})`}`;
    if (path.length === 0) items.splice(index, 1);
    else {
      item.changes++;
      if (path.length === 1 && path[0] === 'disabled' && item.value.disabled !== true) {
        item.value.disabled = true;
        this.changed(item.place(path), `${label} is true, as it ${message}`);
        return true;
      }
      removeFrom(item.value, path);
    }
    this.leftOut(item.place(path), said);
    return true;
  }
}

/** What is refused may come with a list of all that is not. */
const LONGEST_REASON = 100;
const shortened = (message: string): string =>
  message.length > LONGEST_REASON ? `${message.slice(0, LONGEST_REASON)}…` : message;

const schemaOf = ({ type }: Draft): Schema | undefined =>
  typeof type === 'string' ? findTargetType(type)?.schema : undefined;

function schemasOf(value: Draft): Schema[] {
  const schema = schemaOf(value);
  return schema === undefined ? [] : [schema];
}

const isReferenceText = (value: unknown): boolean =>
  typeof value === 'string' && /^\$\{(env|file|secret):[^}]+\}$/.test(value);

/** True for an address with a word in its path that is as long and mixed as a key, as those of chats have. */
const isTellingAddress = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^https?:\/\/[^/]+\/.*$/.test(value) &&
  (value.split('/').slice(3).some(isLikeKey) || /^https?:\/\/[^/]*@/.test(value));

const isLikeKey = (word: string): boolean =>
  /^[\w.~:=-]{16,}$/.test(word) && /\d/.test(word) && /[A-Za-z]/.test(word);

const stepsOf = (path: readonly PropertyKey[]): (string | number)[] =>
  path.map(step => (typeof step === 'number' ? step : String(step)));

/** The steps of `targets[2].url` and `targets[2]["a b"]`. */
function pathSteps(path: string): Steps {
  const steps: (string | number)[] = [];
  for (const [, index, quoted, word = ''] of path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([\w-]+)/g))
    steps.push(
      index !== undefined ? Number(index) : quoted === undefined ? word : String(JSON.parse(quoted)),
    );
  return steps;
}

function compareSteps(a: Steps, b: Steps): number {
  for (const [index, step] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (step !== other)
      return typeof step === 'number' && typeof other === 'number'
        ? step - other
        : String(step) < String(other)
          ? -1
          : 1;
  }
  return a.length - b.length;
}

/** What to remove for a problem at a path: what stands there, else the entry of a list that lacks it, else all. */
function removable(value: Draft, path: Steps): Steps {
  if (path.length === 1 && path[0] === 'id') return [];
  if (path.length > 0 && valueAt(value, [...path]) !== undefined) return path;
  for (let length = path.length - 1; length > 0; length--)
    if (typeof path[length - 1] === 'number' && valueAt(value, path.slice(0, length)) !== undefined)
      return path.slice(0, length);
  return [];
}

function removeFrom(value: Draft, path: Steps): void {
  const parent = valueAt(value, path.slice(0, -1));
  const last = path.at(-1);
  if (Array.isArray(parent) && typeof last === 'number') parent.splice(last, 1);
  else if (isMap(parent) && last !== undefined) Reflect.deleteProperty(parent, String(last));
}

function setAt(value: Draft, path: Steps, text: string): void {
  const parent = valueAt(value, path.slice(0, -1));
  const last = path.at(-1);
  if (typeof parent === 'object' && parent !== null && last !== undefined) Reflect.set(parent, last, text);
}

/** A copy of an item that may be changed; undefined where it is none. */
export function draftOf(value: unknown): Draft | undefined {
  return isMap(value) ? structuredClone({ ...value }) : undefined;
}

/** What stands there, for a person. */
export const shortOf = (value: unknown): string => quote(value);
