import type { Budget } from './budget.ts';

/** What expressions read. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object that was made by nobody's class: all that an event holds. */
export function isRecord(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Nothing for functions, symbols and instances of classes. */
function plain(value: unknown): unknown {
  if (typeof value === 'object')
    return value === null || Array.isArray(value) || isRecord(value) ? value : undefined;
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
}

/** A property of the value's own; nothing for what is inherited, for getters, and of what has no properties. */
export function ownValue(value: unknown, key: unknown): unknown {
  if (typeof key !== 'string' && typeof key !== 'number') return undefined;
  if (typeof value === 'string' || Array.isArray(value)) {
    if (key === 'length') return value.length;
    const index = typeof key === 'number' ? key : /^\d{1,15}$/.test(key) ? Number(key) : -1;
    return plain(value[index]);
  }
  if (!isRecord(value)) return undefined;
  return plain(Object.getOwnPropertyDescriptor(value, key)?.value);
}

/** A copy that holds plain data only, each part of it counted. */
export function plainCopy(value: unknown, budget: Budget, depth = 0): unknown {
  budget.step(depth > MAX_DEPTH ? Infinity : 1);
  const data = plain(value);
  if (typeof data === 'string') budget.text(data.length);
  if (typeof data === 'bigint') return String(data);
  if (typeof data !== 'object' || data === null) return data;
  if (Array.isArray(data)) return data.map(item => plainCopy(item, budget, depth + 1));
  const entries = Object.keys(data).map((key): [string, unknown] => {
    budget.text(key.length);
    return [key, plainCopy(ownValue(data, key), budget, depth + 1)];
  });
  return Object.fromEntries(entries);
}

const MAX_DEPTH = 64;

/** Nothing for what is missing, JSON for lists and objects. */
export function textOf(value: unknown, budget: Budget): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object') return jsonOf(value, budget);
  return String(plain(value) ?? '');
}

export function jsonOf(value: unknown, budget: Budget): string {
  const text = JSON.stringify(plainCopy(value, budget)) ?? 'null';
  budget.text(text.length);
  return text;
}

/** Lists and objects are no numbers. */
export const numberOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Number.NaN : Number(value);
