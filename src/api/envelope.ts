import type { ListPage } from '../resources/paging.ts';
import type { RouteAnswer, Shape } from './operation.ts';

/** `{items, count}`, and with `limit` also the position of the page. */
function envelope<Item>(page: ListPage<Item>, wire: (item: Item) => object | string): object {
  const items = page.items.map(wire);
  const paging =
    page.limit === undefined ? {} : { offset: page.offset, limit: page.limit, totalCount: page.total };
  return { items, count: items.length, ...paging };
}

/** A single object is sent as a list too. */
const single = (item: object | string): object => ({ items: [item], count: 1 });

/** Answers with a page of objects. */
export const list = <Item>(
  shape: Shape,
  wire: (item: Item) => object | string,
): RouteAnswer<ListPage<Item>> => ({
  kind: 'list',
  shape,
  make: page => envelope(page, wire),
});

/** Answers with one object. */
export const item = <Output>(
  shape: Shape,
  wire: (output: Output) => object | string,
): RouteAnswer<Output> => ({
  kind: 'item',
  shape,
  make: output => single(wire(output)),
});

/** Answers with one object or none. */
export const optional = <Output>(
  shape: Shape,
  wire: (output: Output) => object,
): RouteAnswer<Output | undefined> => ({
  kind: 'optional',
  shape,
  make: output => (output === undefined ? { items: [], count: 0 } : single(wire(output))),
});

/** Times on the wire are ISO 8601 in UTC. */
export const isoTime = (epochMs: number): string => new Date(epochMs).toISOString();

export const isoTimeOrNull = (epochMs: number | null): string | null =>
  epochMs === null ? null : isoTime(epochMs);
