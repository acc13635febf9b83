import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru, type Lru } from '../lib/lru.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Storage } from '../storage/storage.ts';
import type { CommittedChange } from '../storage/types.ts';

/** How long a process trusts what it remembers after it last asked the store whether something has changed. */
const MAX_STALENESS_MS = 2000;
const POLL_INTERVAL_MS = 500;
const MAX_CACHED = 10_000;

/** Something that is remembered by id. */
interface EntityCache<Value> {
  /** Throws `unavailable` when the store has not said for 2 seconds whether something changed. */
  get(id: string): Promise<Value>;
  /** What is remembered, without asking the store. Throws as `get` does. */
  peek(id: string): { readonly value: Value } | undefined;
}

interface EntityCacheOptions<Value> {
  /** An id of these facts is an id here; a fact of the others may be about any. */
  readonly keyedBy: CommittedChange['resource'];
  readonly alsoInvalidatedBy?: readonly CommittedChange['resource'][];
  readonly read: (id: string) => Promise<Value>;
  /** False for what is asked of the store each time. All is kept when left out. */
  readonly isCacheable?: (value: Value) => boolean;
}

/**
 * What every request needs to know of who may come in, remembered from the store. What this process commits it forgets in
 * the same moment; what others commit it hears of, and besides it asks every half second.
 */
export interface ChangeFeed {
  cache<Value>(options: EntityCacheOptions<Value>): EntityCache<Value>;
  /** Resolves once no process can act on what was remembered before the call. */
  waitForPropagation(): Promise<void>;
  stop(): void;
}

export interface FeedOptions {
  readonly storage: Pick<Storage, 'subscribe'> & { readonly users: Pick<Storage['users'], 'changes'> };
  /** Whether other processes have the same store. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process may have changed something; nothing that was known before counts until it resolves. */
  readonly changed: () => Promise<void>;
}

export async function openChangeFeed(options: FeedOptions): Promise<ChangeFeed> {
  const { storage, isShared, clock, logger } = options;
  const listeners: ((noun: CommittedChange['resource'] | '*', id: string) => void)[] = [];
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'whether users have changed cannot be read, so nobody is let in',
    over: 'whether users have changed can be read again',
  });
  let changes = -1;
  let polledAt = clock.monotonic();
  const asking = createRepeat({ clock, interval: POLL_INTERVAL_MS, work: poll, faults });

  const unsubscribe = storage.subscribe(({ resource: noun, id }: CommittedChange) => {
    for (const listener of listeners) listener(noun, id);
  });

  /** Counted from before the question: what is committed after the store has read is not in its answer. */
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
      listeners.push((noun, id) => {
        if (noun === keyedBy) cache.invalidate(id);
        else if (noun === '*' || alsoInvalidatedBy.includes(noun)) cache.invalidate('*');
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

/** What was read, by id. An answer that was on its way while something changed is used once and not remembered. */
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
