import { dropReplica } from './replica.ts';
import type { Room } from './room.ts';
import type { Identity } from './rows.ts';
import { createSeriesTable, type SeriesTable } from './series.ts';
import { releaseSlots, type Slots } from './slots.ts';
import type { FeedState, Instance, Row } from './state.ts';

/** Where the last value of a series is known from before the process began. */
export interface Restored {
  readonly value: number;
  /** Epoch ms as the sender stamped it, or NaN. */
  readonly time: number;
}

/** What is read from one url, or pushed by one sender. */
export interface Feed extends FeedState {
  /** The name of its own instance. */
  readonly name: string;
  readonly pipeline: Omit<Identity, 'kind' | 'type' | 'engineId'>;
  /** That of its pipeline. */
  room: Room;
  readonly series: SeriesTable;
  readonly instances: Map<string, Instance>;
  readonly restored: Map<string, Restored>;
  /** Sweeps `restored` has lasted while the feed was read. */
  restoredAge: number;
  /** Epoch seconds at which the process says it began; NaN when it does not say. */
  startTime: number;
  /** The process began anew between the last reading and the present one. */
  restarted: boolean;
}

export const createFeed = (name: string, { pipeline, room, partial }: FeedParts, slots: Slots): Feed => ({
  name,
  pipeline,
  room,
  partial,
  page: 0,
  unreachable: null,
  active: 0,
  series: createSeriesTable(slots),
  instances: new Map(),
  restored: new Map(),
  restoredAge: 0,
  startTime: Number.NaN,
  restarted: false,
});

/** What all feeds of a pipeline have in common. */
export type FeedParts = Pick<Feed, 'pipeline' | 'room' | 'partial'>;

/** What has been silent that long is forgotten: series, instances and components alike. */
export const FORGET_MS = 24 * 3_600_000;
export const SWEEP_MS = 600_000;
const OLDEST_AGE = FORGET_MS / SWEEP_MS;

/**
 * Lets go of series nobody saw for a day. A series ages only while its instance is read, for an
 * instance that cannot be read proves nothing about its series; an instance silent for a day goes as a
 * whole, and is a new one should it return.
 */
export function sweepFeed(feed: Feed, slots: Slots, forgotten: ReadonlySet<Row>, monotonic: number): void {
  const gone = new Set<Instance>();
  const read = new Set<Instance>();
  for (const instance of feed.instances.values()) {
    if (monotonic - instance.lifeAt >= FORGET_MS) gone.add(instance);
    else if (instance.readings !== instance.sweptReadings) read.add(instance);
    instance.sweptReadings = instance.readings;
  }
  for (const head of feed.series.heads()) {
    const replica = slots.replica[head];
    const ages = replica === undefined ? read.size > 0 : read.has(replica.instance);
    const age = (slots.age[head] ?? 0) + (ages ? 1 : 0);
    slots.age[head] = age;
    const lost = replica !== undefined && (gone.has(replica.instance) || forgotten.has(replica.row));
    if (!lost && age <= OLDEST_AGE) continue;
    feed.series.remove(head);
    releaseSlots(slots, head);
    feed.room.series--;
  }
  for (const instance of feed.instances.values()) {
    for (const replica of instance.replicas.values()) if (replica.slots === 0) dropReplica(replica);
    if (gone.has(instance)) feed.instances.delete(instance.name);
  }
  if (read.size > 0) feed.restoredAge++;
  if (feed.instances.size === 0 || feed.restoredAge > OLDEST_AGE) feed.restored.clear();
}

/** Gives back all a feed holds; the components stay. */
export function dropFeed(feed: Feed, slots: Slots): void {
  for (const head of feed.series.heads()) releaseSlots(slots, head);
  for (const instance of feed.instances.values())
    for (const replica of instance.replicas.values()) dropReplica(replica);
  feed.room.series -= feed.series.size;
  feed.series.clear();
  feed.instances.clear();
  feed.restored.clear();
}
