import { childOf } from './schema-walk.ts';

/** The item of a list that is called like the one at `step` of `list`, or else stands there; the entry of a map. */
export function counterpart(now: unknown, list: unknown, step: PropertyKey): unknown {
  const name = nameOf(childOf(list, step));
  if (!Array.isArray(now) || name === undefined) return childOf(now, step);
  return now.find(item => nameOf(item) === name);
}

export const nameOf = (item: unknown): unknown => childOf(item, 'id') ?? childOf(item, 'name');
