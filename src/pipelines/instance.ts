import { unsliced } from '../lib/unsliced.ts';
import type { FeedState, Instance } from './state.ts';

export const createInstance = (name: string, feed: FeedState): Instance => ({
  name: unsliced(name),
  feed,
  readings: 0,
  page: 0,
  repeated: false,
  restored: false,
  lifeAt: Number.NEGATIVE_INFINITY,
  sweptReadings: 0,
  replicas: new Map(),
});
