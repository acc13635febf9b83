import type { Listed } from '../resources/paging.ts';

/** `{items, count}`, and with `limit` also where in the whole the page lies. */
export function envelope<Item>(page: Listed<Item>, wire: (item: Item) => object): object {
  const items = page.items.map(wire);
  const paging =
    page.limit === undefined ? {} : { offset: page.offset, limit: page.limit, totalCount: page.total };
  return { items, count: items.length, ...paging };
}

/** One object still travels as a list. */
export const single = (item: object): object => ({ items: [item], count: 1 });

/** One object or none. */
export const optional = (item: object | undefined): object =>
  item === undefined ? { items: [], count: 0 } : single(item);

export const asItIs = <Item extends object>(item: Item): object => item;

/** Our times on the wire: ISO 8601 in UTC. */
export const isoTime = (epochMs: number): string => new Date(epochMs).toISOString();

export const isoTimeOrNull = (epochMs: number | null): string | null =>
  epochMs === null ? null : isoTime(epochMs);
