import type { QueueHold } from '../../delivery/limits/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Components } from '../../pipelines/components/component.ts';
import type { MinuteRecorder } from '../../pipelines/history/recorder.ts';
import type { Storage } from '../../storage/storage.ts';

/** Answered where only the leading process can do the work; the caller retries in a moment. */
export const notLeading = (): AppError =>
  new AppError('unavailable', 'this process does not lead, and the one that does cannot be asked', {
    isForCaller: true,
    retryAfterSeconds: 1,
  });

/** What holds every delivery while no process leads. */
export const NOT_LED: QueueHold = { kind: 'not-led' };

/** The inputs and outputs of a process that reads no pipeline. */
export const NO_COMPONENTS: Components = {
  revision: 0,
  all: () => [],
  status() {
    throw notLeading();
  },
  silentMs: () => 0,
  lastDataAt: () => null,
  hosts: () => [],
  presence() {
    throw notLeading();
  },
  unreadMs: () => 0,
  hasMetric: () => false,
  measure: () => undefined,
  queueUsage: () => undefined,
  usual: () => undefined,
  observed: () => undefined,
  pipeline: () => undefined,
  pipelines: () => [],
};

/** The minutes of a process that records none. */
export const NO_MINUTES: Pick<MinuteRecorder, 'last' | 'recordedCount'> = {
  last: () => undefined,
  recordedCount: () => 0,
};

export interface LeaderUrlOptions {
  readonly storage: Pick<Storage, 'leases' | 'nodes'>;
  readonly lease: string;
  /** Id of this process. */
  readonly node: string;
  readonly isLeading: () => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A change of leader is noticed after this time at the latest. */
const KNOWN_MS = 500;

/** Address of the process that leads; undefined when this one does. Throws `unavailable` when none is known. */
export function leaderUrl({ storage, lease, node, isLeading, clock }: LeaderUrlOptions) {
  let cached: { readonly url: Promise<string | undefined>; readonly askedAt: number } | undefined;

  async function ask(): Promise<string | undefined> {
    const holder = await storage.leases.holder(lease);
    if (holder === undefined || holder.owner === node) return undefined;
    return (await storage.nodes.get(holder.owner))?.url;
  }

  return async (): Promise<string | undefined> => {
    if (isLeading()) return undefined;
    if (cached === undefined || clock.monotonic() - cached.askedAt > KNOWN_MS)
      cached = { url: ask(), askedAt: clock.monotonic() };
    const url = await cached.url;
    if (url === undefined) throw notLeading();
    return url;
  };
}
