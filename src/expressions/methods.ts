import type { Budget } from './budget.ts';
import { numberOf, textOf } from './values.ts';

type Arguments = readonly unknown[];
type Method<Receiver> = (receiver: Receiver, args: Arguments, budget: Budget) => unknown;

const MOST_PARTS = 10_000;

const optional = (value: unknown): number | undefined => (value === undefined ? undefined : numberOf(value));
const text = (value: unknown, budget: Budget): string => textOf(value, budget);

/** A search may compare each place of the one with the whole of the other. */
function sought(receiver: string, value: unknown, budget: Budget): string {
  const needle = text(value, budget);
  budget.step(1 + (receiver.length * (needle.length + 1)) / 1024);
  return needle;
}

function made(value: string, budget: Budget): string {
  budget.text(value.length);
  return value;
}

function padded(receiver: string, [length, filler]: Arguments, budget: Budget): [number, string] {
  const size = numberOf(length);
  budget.text(Number.isFinite(size) ? Math.max(size, receiver.length) : 0);
  return [size, filler === undefined ? ' ' : text(filler, budget)];
}

/** Each part that is found is replaced by the text as it is: `$` means nothing in it. */
function replaced(receiver: string, [from, to]: Arguments, budget: Budget, all: boolean): string {
  const needle = sought(receiver, from, budget);
  const replacement = text(to, budget);
  if (!all)
    return made(
      receiver.replace(needle, () => replacement),
      budget,
    );
  const parts = receiver.split(needle);
  budget.text(receiver.length + parts.length * replacement.length);
  return parts.join(replacement);
}

const STRING_METHODS: Readonly<Record<string, Method<string>>> = {
  at: (receiver, [index]) => receiver.at(numberOf(index)),
  endsWith: (receiver, [value], budget) => receiver.endsWith(sought(receiver, value, budget)),
  includes: (receiver, [value], budget) => receiver.includes(sought(receiver, value, budget)),
  indexOf: (receiver, [value], budget) => receiver.indexOf(sought(receiver, value, budget)),
  lastIndexOf: (receiver, [value], budget) => receiver.lastIndexOf(sought(receiver, value, budget)),
  padEnd: (receiver, args, budget) => receiver.padEnd(...padded(receiver, args, budget)),
  padStart: (receiver, args, budget) => receiver.padStart(...padded(receiver, args, budget)),
  repeat(receiver, [count], budget) {
    const times = Math.min(Math.max(Math.trunc(numberOf(count)) || 0, 0), Number.MAX_SAFE_INTEGER);
    budget.text(receiver.length * times);
    return receiver === '' ? '' : receiver.repeat(times);
  },
  replace: (receiver, args, budget) => replaced(receiver, args, budget, false),
  replaceAll: (receiver, args, budget) => replaced(receiver, args, budget, true),
  slice: (receiver, [from, to], budget) => made(receiver.slice(optional(from), optional(to)), budget),
  split(receiver, [separator], budget) {
    const parts = receiver.split(sought(receiver, separator, budget), MOST_PARTS);
    budget.step(parts.length);
    return parts;
  },
  startsWith: (receiver, [value], budget) => receiver.startsWith(sought(receiver, value, budget)),
  substring: (receiver, [from, to], budget) => made(receiver.substring(numberOf(from), optional(to)), budget),
  toLowerCase: (receiver, _, budget) => made(receiver.toLowerCase(), budget),
  toString: (receiver: string) => receiver,
  toUpperCase: (receiver, _, budget) => made(receiver.toUpperCase(), budget),
  trim: (receiver, _, budget) => made(receiver.trim(), budget),
  trimEnd: (receiver, _, budget) => made(receiver.trimEnd(), budget),
  trimStart: (receiver, _, budget) => made(receiver.trimStart(), budget),
};

type List = readonly unknown[];

function counted(list: List, budget: Budget): List {
  budget.step(1 + list.length);
  return list;
}

const LIST_METHODS: Readonly<Record<string, Method<List>>> = {
  at: (receiver, [index]) => receiver.at(numberOf(index)),
  concat(receiver, args, budget) {
    for (const list of [receiver, ...args]) budget.step(Array.isArray(list) ? 1 + list.length : 1);
    return receiver.concat(...args);
  },
  includes: (receiver, [value], budget) => counted(receiver, budget).includes(value),
  indexOf: (receiver, [value], budget) => counted(receiver, budget).indexOf(value),
  join(receiver, [separator], budget) {
    const between = separator === undefined ? ',' : text(separator, budget);
    const parts = counted(receiver, budget).map(item => text(item, budget));
    budget.text(parts.reduce((sum, part) => sum + part.length + between.length, 0));
    return parts.join(between);
  },
  slice: (receiver, [from, to], budget) => counted(receiver, budget).slice(optional(from), optional(to)),
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
  if (typeof receiver === 'string') return bound(STRING_METHODS, name, receiver);
  if (typeof receiver === 'number') return bound(NUMBER_METHODS, name, receiver);
  return Array.isArray(receiver) ? bound(LIST_METHODS, name, receiver) : undefined;
}

function bound<Receiver>(
  methods: Readonly<Record<string, Method<Receiver>>>,
  name: string,
  receiver: Receiver,
): ((args: Arguments, budget: Budget) => unknown) | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  return method && ((args, budget) => method(receiver, args, budget));
}
