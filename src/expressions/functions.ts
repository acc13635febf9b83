import { RE2JS } from 're2js';
import { plainText, truncate, truncateToBytes } from '../lib/text.ts';
import { type Budget, isRecord, jsonOf, numberOf, ownValue, textOf } from './evaluation.ts';

type Operator = (left: unknown, right: unknown, budget: Budget) => unknown;

const isText = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

function add(left: unknown, right: unknown, budget: Budget): unknown {
  if (!isText(left) && !isText(right)) return numberOf(left) + numberOf(right);
  const text = textOf(left, budget) + textOf(right, budget);
  budget.chargeText(text.length);
  return text;
}

/** Texts by their characters, all else by its number. */
const comparison =
  (
    text: (left: string, right: string) => boolean,
    number: (left: number, right: number) => boolean,
  ): Operator =>
  (left, right) =>
    typeof left === 'string' && typeof right === 'string'
      ? text(left, right)
      : number(numberOf(left), numberOf(right));

const arithmetic =
  (work: (left: number, right: number) => number): Operator =>
  (left, right) =>
    work(numberOf(left), numberOf(right));

const isOwnKeyOf: Operator = (left, right) =>
  (isRecord(right) || Array.isArray(right)) && ownValue(right, left) !== undefined;

const isNothing = (value: unknown): boolean => value === undefined || value === null;

/** As `==`, but a list or an object is equal to itself only: nothing of it is called. */
function isLooselyEqual(left: unknown, right: unknown): boolean {
  if (isNothing(left) || isNothing(right)) return isNothing(left) && isNothing(right);
  if (typeof left === typeof right || typeof left === 'object' || typeof right === 'object')
    return left === right;
  return numberOf(left) === numberOf(right);
}

export const BINARY: Readonly<Record<string, Operator>> = {
  '+': add,
  '-': arithmetic((left, right) => left - right),
  '*': arithmetic((left, right) => left * right),
  '/': arithmetic((left, right) => left / right),
  '%': arithmetic((left, right) => left % right),
  '===': (left, right) => left === right,
  '!==': (left, right) => left !== right,
  '==': isLooselyEqual,
  '!=': (left, right) => !isLooselyEqual(left, right),
  '<': comparison(
    (left, right) => left < right,
    (left, right) => left < right,
  ),
  '<=': comparison(
    (left, right) => left <= right,
    (left, right) => left <= right,
  ),
  '>': comparison(
    (left, right) => left > right,
    (left, right) => left > right,
  ),
  '>=': comparison(
    (left, right) => left >= right,
    (left, right) => left >= right,
  ),
  in: isOwnKeyOf,
};

export const UNARY: Readonly<Record<string, (value: unknown) => unknown>> = {
  '!': value => !value,
  '-': value => -numberOf(value),
  '+': numberOf,
  typeof: value => typeof value,
};

type Helper = (args: readonly unknown[], budget: Budget) => unknown;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markup(text: string, budget: Budget): string {
  budget.chargeText(text.length);
  return text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '');
}

/** Epoch seconds, as events have them, as ISO 8601; nothing for what is no time. */
function isoTime(seconds: number): string | null {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Halves of characters cannot be encoded. */
function percentEncoded(text: string, budget: Budget): string {
  budget.chargeText(3 * text.length);
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}

function charged(value: unknown, budget: Budget): string {
  const text = textOf(value, budget);
  budget.chargeSteps(1 + text.length / 16);
  budget.chargeText(text.length);
  return text;
}

const lengthOf = (value: unknown): number => Math.max(0, Math.trunc(numberOf(value)) || 0);

/** What is there already may be longer than what may be made. */
function cutting(value: unknown, most: unknown, budget: Budget): [text: string, most: number] {
  const text = textOf(value, budget);
  const length = lengthOf(most);
  budget.chargeSteps(1 + text.length / 16);
  budget.chargeText(Math.min(text.length, length));
  return [text, length];
}

function keysOf(value: unknown, budget: Budget): readonly string[] {
  const keys = isRecord(value) ? Object.keys(value) : [];
  budget.chargeSteps(1 + keys.length);
  return keys;
}

/** Fewer than the engine takes as arguments of one call. */
const numbers = (args: readonly unknown[]): number[] => args.map(numberOf);

/** The closed list of functions; each is pure. */
export const HELPERS: Readonly<Record<string, Helper>> = {
  'Array.isArray': ([value]) => Array.isArray(value),
  Boolean: ([value]) => Boolean(value),
  'JSON.stringify': ([value], budget) => jsonOf(value, budget),
  'Math.abs': ([value]) => Math.abs(numberOf(value)),
  'Math.ceil': ([value]) => Math.ceil(numberOf(value)),
  'Math.floor': ([value]) => Math.floor(numberOf(value)),
  'Math.max': args => Math.max(...numbers(args)),
  'Math.min': args => Math.min(...numbers(args)),
  'Math.round': ([value]) => Math.round(numberOf(value)),
  Number: ([value]) => numberOf(value),
  'Object.keys': ([value], budget) => keysOf(value, budget),
  'Object.values': ([value], budget) => keysOf(value, budget).map(key => ownValue(value, key)),
  String: ([value], budget) => textOf(value, budget),
  encodeURIComponent: ([value], budget) => percentEncoded(textOf(value, budget), budget),
  html: ([value], budget) => markup(textOf(value, budget), budget),
  isoTime: ([value]) => isoTime(numberOf(value)),
  plainText: ([value], budget) => plainText(charged(value, budget)),
  truncate: ([value, most], budget) => truncate(...cutting(value, most, budget)),
  truncateBytes: ([value, most], budget) => truncateToBytes(...cutting(value, most, budget)),
};

type Arguments = readonly unknown[];
type Method<Receiver> = (receiver: Receiver, args: Arguments, budget: Budget) => unknown;

const MAX_PARTS = 10_000;

const optional = (value: unknown): number | undefined => (value === undefined ? undefined : numberOf(value));
const text = (value: unknown, budget: Budget): string => textOf(value, budget);

/** A search may compare each place of the one with the whole of the other. */
function chargeSearch(receiver: string, value: unknown, budget: Budget): string {
  const needle = text(value, budget);
  budget.chargeSteps(1 + (receiver.length * (needle.length + 1)) / 1024);
  return needle;
}

function chargedText(value: string, budget: Budget): string {
  budget.chargeText(value.length);
  return value;
}

function paddingFor(receiver: string, [length, filler]: Arguments, budget: Budget): [number, string] {
  const size = numberOf(length);
  budget.chargeText(Number.isNaN(size) ? 0 : Math.max(size, receiver.length));
  return [size, filler === undefined ? ' ' : text(filler, budget)];
}

/** Each part that is found is replaced by the text as it is: `$` means nothing in it. */
function replaceIn(receiver: string, [from, to]: Arguments, budget: Budget, all: boolean): string {
  const needle = chargeSearch(receiver, from, budget);
  const replacement = text(to, budget);
  if (!all)
    return chargedText(
      receiver.replace(needle, () => replacement),
      budget,
    );
  const parts = receiver.split(needle);
  budget.chargeText(receiver.length + parts.length * replacement.length);
  return parts.join(replacement);
}

const STRING_METHODS: Readonly<Record<string, Method<string>>> = {
  at: (receiver, [index]) => receiver.at(numberOf(index)),
  endsWith: (receiver, [value], budget) => receiver.endsWith(chargeSearch(receiver, value, budget)),
  includes: (receiver, [value], budget) => receiver.includes(chargeSearch(receiver, value, budget)),
  indexOf: (receiver, [value], budget) => receiver.indexOf(chargeSearch(receiver, value, budget)),
  lastIndexOf: (receiver, [value], budget) => receiver.lastIndexOf(chargeSearch(receiver, value, budget)),
  padEnd: (receiver, args, budget) => receiver.padEnd(...paddingFor(receiver, args, budget)),
  padStart: (receiver, args, budget) => receiver.padStart(...paddingFor(receiver, args, budget)),
  repeat(receiver, [count], budget) {
    const times = Math.min(Math.max(Math.trunc(numberOf(count)) || 0, 0), Number.MAX_SAFE_INTEGER);
    budget.chargeText(receiver.length * times);
    return receiver === '' ? '' : receiver.repeat(times);
  },
  replace: (receiver, args, budget) => replaceIn(receiver, args, budget, false),
  replaceAll: (receiver, args, budget) => replaceIn(receiver, args, budget, true),
  slice: (receiver, [from, to], budget) => chargedText(receiver.slice(optional(from), optional(to)), budget),
  split(receiver, [separator], budget) {
    const parts = receiver.split(chargeSearch(receiver, separator, budget), MAX_PARTS);
    budget.chargeSteps(parts.length);
    return parts;
  },
  startsWith: (receiver, [value], budget) => receiver.startsWith(chargeSearch(receiver, value, budget)),
  substring: (receiver, [from, to], budget) =>
    chargedText(receiver.substring(numberOf(from), optional(to)), budget),
  toLowerCase: (receiver, _, budget) => chargedText(receiver.toLowerCase(), budget),
  toString: (receiver: string) => receiver,
  toUpperCase: (receiver, _, budget) => chargedText(receiver.toUpperCase(), budget),
  trim: (receiver, _, budget) => chargedText(receiver.trim(), budget),
  trimEnd: (receiver, _, budget) => chargedText(receiver.trimEnd(), budget),
  trimStart: (receiver, _, budget) => chargedText(receiver.trimStart(), budget),
};

type List = readonly unknown[];

function chargedList(list: List, budget: Budget): List {
  budget.chargeSteps(1 + list.length);
  return list;
}

const LIST_METHODS: Readonly<Record<string, Method<List>>> = {
  at: (receiver, [index]) => receiver.at(numberOf(index)),
  concat(receiver, args, budget) {
    for (const list of [receiver, ...args]) budget.chargeSteps(Array.isArray(list) ? 1 + list.length : 1);
    return receiver.concat(...args);
  },
  includes: (receiver, [value], budget) => chargedList(receiver, budget).includes(value),
  indexOf: (receiver, [value], budget) => chargedList(receiver, budget).indexOf(value),
  join(receiver, [separator], budget) {
    const between = separator === undefined ? ',' : text(separator, budget);
    const parts = chargedList(receiver, budget).map(item => text(item, budget));
    budget.chargeText(parts.reduce((sum, part) => sum + part.length + between.length, 0));
    return parts.join(between);
  },
  slice: (receiver, [from, to], budget) => chargedList(receiver, budget).slice(optional(from), optional(to)),
};

const NUMBER_METHODS: Readonly<Record<string, Method<number>>> = {
  toFixed: (receiver, [digits]) => receiver.toFixed(Math.min(Math.max(numberOf(digits ?? 0) || 0, 0), 100)),
  toString: (receiver: number) => String(receiver),
};

/** Every method there is that takes no function. */
export const METHODS: readonly string[] = [
  ...new Set([STRING_METHODS, LIST_METHODS, NUMBER_METHODS].flatMap(methods => Object.keys(methods))),
].sort();

/** Undefined when a value of this kind has no such method. */
export function methodOf(
  receiver: unknown,
  name: string,
): ((args: Arguments, budget: Budget) => unknown) | undefined {
  if (typeof receiver === 'string') return bindMethod(STRING_METHODS, name, receiver);
  if (typeof receiver === 'number') return bindMethod(NUMBER_METHODS, name, receiver);
  return Array.isArray(receiver) ? bindMethod(LIST_METHODS, name, receiver) : undefined;
}

function bindMethod<Receiver>(
  methods: Readonly<Record<string, Method<Receiver>>>,
  name: string,
  receiver: Receiver,
): ((args: Arguments, budget: Budget) => unknown) | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  return method && ((args, budget) => method(receiver, args, budget));
}

/** A regular expression of RE2's syntax, whose time grows with the text only. */
export interface Pattern {
  matches(text: string, budget: Budget): boolean;
  /** The first group, or all that fits where there is none; null when nothing does. */
  extract(text: string, budget: Budget): string | null;
}

const MAX_PATTERN_LENGTH = 1000;
/** Instructions it may be compiled to; repetitions of repetitions multiply. */
const MAX_INSTRUCTIONS = 2000;
const CHARACTERS_PER_STEP = 16;

/** The pattern, or what is wrong with it. */
export function compilePattern(text: string): Pattern | string {
  if (text.length > MAX_PATTERN_LENGTH) return `the pattern has more than ${MAX_PATTERN_LENGTH} characters`;
  const compiled = parse(text);
  if (typeof compiled === 'string') return compiled;
  const size = compiled.programSize();
  if (size > MAX_INSTRUCTIONS) return 'the pattern repeats too much';
  const charge = (length: number, budget: Budget): void =>
    budget.chargeSteps(1 + (length * Math.max(size, CHARACTERS_PER_STEP)) / CHARACTERS_PER_STEP ** 2);
  return {
    matches(subject, budget) {
      charge(subject.length, budget);
      return compiled.matcher(subject).find();
    },
    extract(subject, budget) {
      charge(subject.length, budget);
      const matcher = compiled.matcher(subject);
      if (!matcher.find()) return null;
      return matcher.group(matcher.groupCount() > 0 ? 1 : 0);
    },
  };
}

function parse(text: string): RE2JS | string {
  try {
    return RE2JS.compile(text);
  } catch {
    return 'the pattern is no regular expression of RE2; it knows neither look-around nor back references';
  }
}
