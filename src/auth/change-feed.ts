import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru, type Lru } from '../lib/lru.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Storage } from '../storage/storage.ts';
import type { CommittedChange } from '../storage/types.ts';

/** How long a process uses its caches after it last polled the store for changes. */
const MAX_STALENESS_MS = 2000;
const POLL_INTERVAL_MS = 500;
const MAX_CACHED = 10_000;

/** Values cached by id. */
interface EntityCache<Value> {
  /** Throws `unavailable` when the store has not answered for 2 seconds whether something changed. */
  readonly get: (id: string) => Promise<Value>;
  /** Returns the cached value without reading the store. Throws as `get` does. */
  peek(id: string): { readonly value: Value } | undefined;
}

interface EntityCacheOptions<Value> {
  /** A change of this resource invalidates the entry of its id; one of `alsoInvalidatedBy` invalidates all entries. */
  readonly keyedBy: CommittedChange['resource'];
  readonly alsoInvalidatedBy?: readonly CommittedChange['resource'][];
  readonly read: (id: string) => Promise<Value>;
  /** False for a value that is read from the store each time. Everything is cached when left out. */
  readonly isCacheable?: (value: Value) => boolean;
}

/**
 * Caches of users, tokens, sessions and organizations, which every request needs. A commit of this process invalidates
 * them in the same moment; commits of others are notified, and polled for every half second besides.
 */
export interface ChangeFeed {
  cache<Value>(options: EntityCacheOptions<Value>): EntityCache<Value>;
  /** Resolves once no process can act on what it cached before the call. */
  readonly waitForPropagation: () => Promise<void>;
  stop(): void;
}

export interface FeedOptions {
  readonly storage: Pick<Storage, 'subscribe'> & { readonly users: Pick<Storage['users'], 'changes'> };
  /** Other processes use the same store. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process may have changed something; nothing is answered from caches until it resolves. */
  readonly changed: () => Promise<void>;
}

export async function openChangeFeed(options: FeedOptions): Promise<ChangeFeed> {
  const { storage, isShared, clock, logger } = options;
  const listeners: ((resource: CommittedChange['resource'] | '*', id: string) => void)[] = [];
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'changes of users cannot be read, so nobody is let in',
    over: 'changes of users can be read again',
  });
  let changes = -1;
  let polledAt = clock.monotonic();
  const asking = createRepeat({ clock, interval: POLL_INTERVAL_MS, work: poll, faults });

  const unsubscribe = storage.subscribe(({ resource, id }: CommittedChange) => {
    for (const listener of listeners) listener(resource, id);
  });

  /** Timed from before the query: a commit after the store has read is not in its answer. */
  async function poll(): Promise<void> {
    const begun = clock.monotonic();
    const now = await storage.users.changes();
    if (now !== changes) {
      for (const listener of listeners) listener('*', '*');
      await options.changed();
    }
    changes = now;
    polledAt = begun;
  }

  function assertFresh(): void {
    if (isShared && clock.monotonic() - polledAt > MAX_STALENESS_MS)
      throw new AppError('unavailable', 'the store does not say whether users have changed', {
        retryAfterSeconds: 1,
      });
  }

  if (isShared) {
    await poll();
    asking.start();
  }
  return {
    cache({ keyedBy, alsoInvalidatedBy = [], read, isCacheable = () => true }) {
      const cache = createCache(read, isCacheable);
      listeners.push((resource, id) => {
        if (resource === keyedBy) cache.invalidate(id);
        else if (resource === '*' || alsoInvalidatedBy.includes(resource)) cache.invalidate('*');
      });
      return {
        async get(id) {
          assertFresh();
          return cache.get(id);
        },
        peek(id) {
          assertFresh();
          return cache.known(id);
        },
      };
    },
    async waitForPropagation() {
      if (isShared) await clock.sleep(MAX_STALENESS_MS);
    },
    stop() {
      unsubscribe();
      void asking.stop();
    },
  };
}

/** Values by id. One that was being read while something changed is used once and not cached. */
function createCache<Value>(read: (id: string) => Promise<Value>, isCacheable: (value: Value) => boolean) {
  let known: Lru<string, { readonly value: Value }> = createLru(MAX_CACHED);
  let generation = 0;
  return {
    known: (id: string) => known.get(id),
    async get(id: string): Promise<Value> {
      const found = known.get(id);
      if (found !== undefined) return found.value;
      const begun = generation;
      const value = await read(id);
      if (generation === begun && isCacheable(value)) known.set(id, { value });
      return value;
    },
    invalidate(id: string): void {
      generation += 1;
      if (id === '*') known = createLru(MAX_CACHED);
      else known.delete(id);
    },
  };
}
