import type { Meaning } from './engines/profile.ts';
import type { Replica } from './state.ts';

/** One slot for each thing a raw series says, in columns: a million of them must stay small. */
export interface Slots {
  last: Float64Array;
  /** Epoch ms of the last value as the sender stamped it; NaN when it does not. */
  time: Float64Array;
  /** Number of the instance's reading that last showed the series. */
  seen: Uint32Array;
  /** Sweeps since then. */
  age: Uint8Array;
  /** The next slot of the same series, or -1. */
  next: Int32Array;
  /** The numbers of what the text of the series is made of, for its first slot; `series.ts` gives them. */
  readonly parts: { name: Int32Array; labels: Int32Array };
  /** Undefined for a series the profile has no use for. */
  readonly replica: (Replica | undefined)[];
  readonly meaning: (Meaning | undefined)[];
  /** Slots in use. */
  count: number;
  readonly limit: number;
  readonly free: number[];
}

export function createSlots(limit: number): Slots {
  return {
    last: new Float64Array(0),
    time: new Float64Array(0),
    seen: new Uint32Array(0),
    age: new Uint8Array(0),
    next: new Int32Array(0),
    parts: { name: new Int32Array(0), labels: new Int32Array(0) },
    replica: [],
    meaning: [],
    count: 0,
    limit,
    free: [],
  };
}

/** A slot of its own, or -1 when there are no more. `next` is the slot of the same series it is chained to, or -1. */
export function takeSlot(
  slots: Slots,
  replica: Replica | undefined,
  meaning: Meaning | undefined,
  next: number,
): number {
  if (slots.count === slots.limit) return -1;
  const slot = slots.free.pop() ?? slots.replica.length;
  if (slot >= slots.last.length) grow(slots);
  slots.replica[slot] = replica;
  slots.meaning[slot] = meaning;
  slots.next[slot] = next;
  slots.age[slot] = 0;
  slots.seen[slot] = 0;
  slots.time[slot] = Number.NaN;
  slots.count++;
  if (replica !== undefined) replica.slots++;
  return slot;
}

/** Gives back a slot and all that are chained to it. */
export function releaseSlots(slots: Slots, head: number): void {
  for (let slot = head; slot >= 0; slot = slots.next[slot] ?? -1) {
    const replica = slots.replica[slot];
    if (replica !== undefined) replica.slots--;
    slots.replica[slot] = undefined;
    slots.meaning[slot] = undefined;
    slots.free.push(slot);
    slots.count--;
  }
}

function grow(slots: Slots): void {
  const size = Math.max(1024, slots.last.length * 2);
  slots.last = into(new Float64Array(size), slots.last);
  slots.time = into(new Float64Array(size), slots.time);
  slots.seen = into(new Uint32Array(size), slots.seen);
  slots.age = into(new Uint8Array(size), slots.age);
  slots.next = into(new Int32Array(size), slots.next);
  slots.parts.name = into(new Int32Array(size), slots.parts.name);
  slots.parts.labels = into(new Int32Array(size), slots.parts.labels);
}

function into<Column extends { set(values: Column): void }>(larger: Column, smaller: Column): Column {
  larger.set(smaller);
  return larger;
}
