import type { Clock } from '../lib/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { notLeading } from './follower.ts';

export interface LeaderOptions {
  readonly storage: Pick<Storage, 'leases' | 'nodes'>;
  readonly lease: string;
  /** Id of this process. */
  readonly node: string;
  readonly isLeading: () => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A leader that has changed is noticed after so long at the latest. */
const KNOWN_MS = 500;

/** Address of the process that leads; undefined when this one does. Throws `unavailable` when nobody is known to. */
export function leaderUrl({ storage, lease, node, isLeading, clock }: LeaderOptions) {
  let known: { readonly url: Promise<string | undefined>; readonly askedAt: number } | undefined;

  async function ask(): Promise<string | undefined> {
    const holder = await storage.leases.holder(lease);
    if (holder === undefined || holder.owner === node) return undefined;
    return (await storage.nodes.get(holder.owner))?.url;
  }

  return async (): Promise<string | undefined> => {
    if (isLeading()) return undefined;
    if (known === undefined || clock.monotonic() - known.askedAt > KNOWN_MS)
      known = { url: ask(), askedAt: clock.monotonic() };
    const url = await known.url;
    if (url === undefined) throw notLeading();
    return url;
  };
}
