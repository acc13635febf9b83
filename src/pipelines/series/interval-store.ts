/** What an interval is, beside those that were taken of its series. */
export type IntervalVerdict = 'new' | 'repeated' | 'overlapping' | 'outdated';

/**
 * The intervals of which increases of a series were taken, the latest 64. An interval is ]start, end] in epoch ms, whole
 * ones; where it has no start, it is its end alone, and only the same time repeats it.
 */
export interface IntervalStore {
  /** A slot for the intervals of a series. What ends at `takenUntil` or before it is outdated; NaN when nothing is. */
  allocate(takenUntil: number): number;
  release(slot: number): void;
  /** Takes an interval if it is new. `outdated`: it begins before the ones that are kept, so it may have been taken. */
  take(slot: number, start: number, end: number): IntervalVerdict;
}

export const createIntervalStore = (): IntervalStore => new BlockIntervalStore();

const KEPT = 64;
/** Two numbers for an interval, as ms from the base of its slot. */
const NUMBERS = 2 * KEPT;
const LARGEST = 2 ** 32 - 1;
/** Slots whose memory is allocated together. */
const SLOTS_A_BLOCK = 128;

/** Half a KiB a series: a hundred thousand of them must stay small. */
class BlockIntervalStore implements IntervalStore {
  readonly #blocks: Uint32Array[] = [];
  readonly #bases: number[] = [];
  readonly #counts: number[] = [];
  /** Ends of the latest intervals that are no longer kept; -Infinity before there is one. */
  readonly #floors: number[] = [];
  readonly #free: number[] = [];

  allocate(takenUntil: number): number {
    const slot = this.#free.pop() ?? this.#bases.length;
    if (slot % SLOTS_A_BLOCK === 0 && slot === this.#blocks.length * SLOTS_A_BLOCK)
      this.#blocks.push(new Uint32Array(SLOTS_A_BLOCK * NUMBERS));
    this.#bases[slot] = 0;
    this.#counts[slot] = 0;
    this.#floors[slot] = Number.isNaN(takenUntil) ? Number.NEGATIVE_INFINITY : Math.round(takenUntil);
    return slot;
  }

  release(slot: number): void {
    this.#free.push(slot);
  }

  take(slot: number, start: number, end: number): IntervalVerdict {
    const to = Math.round(end);
    const from = start < end ? Math.min(Math.round(start), to) : to;
    const floor = this.#floorOf(slot);
    if (to === floor) return 'repeated';
    const count = this.#counts[slot] ?? 0;
    const intervals = this.#intervalsOf(slot);
    const base = this.#bases[slot] ?? 0;
    let at = count;
    for (let before = count - 1; before >= 0; before--) {
      const otherFrom = base + (intervals[2 * before] ?? 0);
      const otherTo = base + (intervals[2 * before + 1] ?? 0);
      if (otherTo === to && (otherFrom === from || from === to)) return 'repeated';
      if (from < otherTo && otherFrom < to && from < to && otherFrom < otherTo) return 'overlapping';
      if (otherTo < from) break;
      if (otherTo > to) at = before;
    }
    if (from < floor) return 'outdated';
    return this.#insert(slot, at, from, to);
  }

  #floorOf(slot: number): number {
    return this.#floors[slot] ?? Number.NEGATIVE_INFINITY;
  }

  #intervalsOf(slot: number): Uint32Array {
    const within = (slot % SLOTS_A_BLOCK) * NUMBERS;
    const block = this.#blocks[Math.floor(slot / SLOTS_A_BLOCK)] ?? new Uint32Array(0);
    return block.subarray(within, within + NUMBERS);
  }

  /** Inserts an interval at a place in the order of ends; the earliest goes when there are too many. */
  #insert(slot: number, at: number, from: number, to: number): IntervalVerdict {
    const intervals = this.#intervalsOf(slot);
    let place = at;
    if (this.#counts[slot] === KEPT) {
      const earliest = (this.#bases[slot] ?? 0) + (intervals[1] ?? 0);
      this.#floors[slot] = place === 0 ? to : earliest;
      if (place === 0) return 'new';
      intervals.copyWithin(0, 2);
      place--;
      this.#counts[slot] = KEPT - 1;
    }
    if (!this.#makeReachable(slot, from, to)) return 'outdated';
    const count = this.#counts[slot] ?? 0;
    place = Math.min(place, count);
    intervals.copyWithin(2 * place + 2, 2 * place, 2 * count);
    const base = this.#bases[slot] ?? 0;
    intervals[2 * place] = from - base;
    intervals[2 * place + 1] = to - base;
    this.#counts[slot] = count + 1;
    return 'new';
  }

  /** Moves the base so that an interval can be written down; forgets those that are over 49 days before it. */
  #makeReachable(slot: number, from: number, to: number): boolean {
    const base = this.#bases[slot] ?? 0;
    const count = this.#counts[slot] ?? 0;
    if (count > 0 && from >= base && to - base <= LARGEST) return true;
    const intervals = this.#intervalsOf(slot);
    const latest = base + (intervals[2 * count - 1] ?? 0);
    let earliest = from;
    for (let one = 0; one < count; one++) earliest = Math.min(earliest, base + (intervals[2 * one] ?? 0));
    if (count > 0 && latest - from > LARGEST) return false;
    if (count > 0 && to - earliest > LARGEST) {
      this.#floors[slot] = latest;
      this.#counts[slot] = 0;
      this.#bases[slot] = from;
      return true;
    }
    for (let one = 0; one < 2 * count; one++) intervals[one] = base + (intervals[one] ?? 0) - earliest;
    this.#bases[slot] = earliest;
    return true;
  }
}
