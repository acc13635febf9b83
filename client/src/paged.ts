import type { CallOptions } from './call-options.ts';

/** A part of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly offset: number;
  readonly limit: number;
  /** How many there are in all. */
  readonly totalCount: number;
}

/** A list that is read as it is needed: `for await (const one of client.inputs.list())`. */
export interface Paged<Item> extends AsyncIterable<Item> {
  /** One page: where the input says, or the first. */
  page(): Promise<Page<Item>>;
  /** Every item, over all pages. */
  all(): Promise<Item[]>;
}

/** How many items an iterator asks for at a time; the server answers up to 1000. */
const PAGE = 200;

interface Place {
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/** Reads by offset and limit. `limit` of the input is the size of its pages, and an iteration goes on to the end. */
export function paged(
  read: (place: Required<Place>, options: CallOptions) => Promise<Page<unknown>>,
  place: Place,
  options: CallOptions,
): Paged<unknown> {
  const first = place.offset ?? 0;
  const limit = place.limit ?? PAGE;

  async function* items(): AsyncGenerator<unknown> {
    for (let offset = first; ; ) {
      const page = await read({ offset, limit }, options);
      yield* page.items;
      offset += page.items.length;
      // A server may have less room for a page than was asked for.
      if (page.items.length === 0 || offset >= page.totalCount) return;
    }
  }

  return {
    [Symbol.asyncIterator]: items,
    page: () => read({ offset: first, limit }, options),
    async all() {
      const all: unknown[] = [];
      for await (const item of items()) all.push(item);
      return all;
    },
  };
}
