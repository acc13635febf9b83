import type { Budget } from './budget.ts';
import { isRecord, jsonOf, numberOf, ownValue, textOf } from './values.ts';

type Helper = (args: readonly unknown[], budget: Budget) => unknown;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markup(text: string, budget: Budget): string {
  budget.text(text.length);
  return text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '');
}

/** Epoch seconds, as events have them, as ISO 8601; nothing for what is no time. */
function isoTime(seconds: number): string | null {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

function keysOf(value: unknown, budget: Budget): readonly string[] {
  const keys = isRecord(value) ? Object.keys(value) : [];
  budget.step(1 + keys.length);
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
  html: ([value], budget) => markup(textOf(value, budget), budget),
  isoTime: ([value]) => isoTime(numberOf(value)),
};
