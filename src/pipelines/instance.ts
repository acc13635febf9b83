import type { Replica } from './replica.ts';
import type { Row } from './rows.ts';

/** One process of an engine, as far as one feed tells. */
export interface Instance {
  readonly name: string;
  readonly feed: FeedState;
  /** Good readings that named it since the start. */
  readings: number;
  /** The feed's reading that last named it. */
  page: number;
  /** A push brought a series for the second time: its first round is over, and what is new from here on was born. */
  repeated: boolean;
  /** It is known from a snapshot. */
  restored: boolean;
  /** Monotonic ms of the last sign of life. */
  lifeAt: number;
  /** `readings` at the last sweep. */
  sweptReadings: number;
  readonly replicas: Map<Row, Replica>;
}

/** What an instance needs to know of the url or the sender it is read from. */
export interface FeedState {
  /** Number of the present reading. */
  page: number;
  /** A reading may lack series that exist: absence means nothing. */
  readonly partial: boolean;
  /** Why it cannot be read; null while it can. */
  unreachable: string | null;
  /** Its instances that have a component. */
  active: number;
}

export const createInstance = (name: string, feed: FeedState): Instance => ({
  name,
  feed,
  readings: 0,
  page: 0,
  repeated: false,
  restored: false,
  lifeAt: Number.NEGATIVE_INFINITY,
  sweptReadings: 0,
  replicas: new Map(),
});
