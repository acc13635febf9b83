/** A priority queue: the item that comes before all others is at hand, adding and taking cost the logarithm of the size. */
export interface Heap<Item> {
  readonly size: number;
  push(item: Item): void;
  /** The first, left in place. */
  peek(): Item | undefined;
  pop(): Item | undefined;
  /** Takes all out, in no order. */
  drain(): Item[];
}

/** `before` says whether one item comes before another; equal ones come in any order. */
export function createHeap<Item>(before: (one: Item, other: Item) => boolean): Heap<Item> {
  let items: Item[] = [];

  function place(item: Item, from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = items[above];
      if (parent === undefined || !before(item, parent)) break;
      items[at] = parent;
      at = above;
    }
    items[at] = item;
  }

  /** The place below `at` that must move up into it. */
  function firstBelow(at: number): number {
    const left = 2 * at + 1;
    const [one, other] = [items[left], items[left + 1]];
    return one !== undefined && other !== undefined && before(other, one) ? left + 1 : left;
  }

  /** Moves the hole at the top to the bottom, where the last item is put and then rises. */
  function refill(last: Item): void {
    let hole = 0;
    for (let child = firstBelow(hole); child < items.length; child = firstBelow(hole)) {
      const item = items[child];
      if (item === undefined) break;
      items[hole] = item;
      hole = child;
    }
    place(last, hole);
  }

  return {
    get size() {
      return items.length;
    },
    push: item => place(item, items.length),
    peek: () => items[0],
    pop() {
      const top = items[0];
      const last = items.pop();
      if (last !== undefined && items.length > 0) refill(last);
      return top;
    },
    drain() {
      const all = items;
      items = [];
      return all;
    },
  };
}
