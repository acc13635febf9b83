import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru, type Lru } from '../lib/lru.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Fact, Storage } from '../storage/storage.ts';

/** How long a process trusts what it remembers after it last asked the store whether something has changed. */
const TRUST_MS = 2000;
const ASK_MS = 500;
const REMEMBERED = 10_000;

/** Something that is remembered by id. */
interface Memory<Value> {
  /** Throws `unavailable` when the store has not said for 2 seconds whether something changed. */
  get(id: string): Promise<Value>;
  /** What is remembered, without asking the store. Throws as `get` does. */
  known(id: string): { readonly value: Value } | undefined;
}

interface MemoryOptions<Value> {
  /** An id of these facts is an id here; a fact of the others may be about any. */
  readonly by: Fact['noun'];
  readonly alsoOn?: readonly Fact['noun'][];
  readonly read: (id: string) => Promise<Value>;
  /** False for what is asked of the store each time. All is kept when left out. */
  readonly isKept?: (value: Value) => boolean;
}

/**
 * What every request needs to know of who may come in, remembered from the store. What this process commits it forgets in
 * the same moment; what others commit it hears of, and besides it asks every half second.
 */
export interface ChangeFeed {
  memory<Value>(options: MemoryOptions<Value>): Memory<Value>;
  /** Resolves once no process can act on what was remembered before the call. */
  takenOver(): Promise<void>;
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
  const hearing: ((noun: Fact['noun'] | '*', id: string) => void)[] = [];
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'whether users have changed cannot be read, so nobody is let in',
    over: 'whether users have changed can be read again',
  });
  let changes = -1;
  let askedAt = clock.monotonic();
  const asking = createRepeat({ clock, interval: ASK_MS, work: ask, faults });

  const unsubscribe = storage.subscribe(({ noun, id }: Fact) => {
    for (const hear of hearing) hear(noun, id);
  });

  /** Counted from before the question: what is committed after the store has read is not in its answer. */
  async function ask(): Promise<void> {
    const begun = clock.monotonic();
    const now = await storage.users.changes();
    if (now !== changes) {
      for (const hear of hearing) hear('*', '*');
      await options.changed();
    }
    changes = now;
    askedAt = begun;
  }

  function assertFresh(): void {
    if (isShared && clock.monotonic() - askedAt > TRUST_MS)
      throw new AppError('unavailable', 'the store does not say whether users have changed', {
        retryAfterSeconds: 1,
      });
  }

  if (isShared) {
    await ask();
    asking.start();
  }
  return {
    memory({ by, alsoOn = [], read, isKept = () => true }) {
      const memory = createMemory(read, isKept);
      hearing.push((noun, id) => {
        if (noun === by) memory.forget(id);
        else if (noun === '*' || alsoOn.includes(noun)) memory.forget('*');
      });
      return {
        async get(id) {
          assertFresh();
          return memory.get(id);
        },
        known(id) {
          assertFresh();
          return memory.known(id);
        },
      };
    },
    async takenOver() {
      if (isShared) await clock.sleep(TRUST_MS);
    },
    stop() {
      unsubscribe();
      void asking.stop();
    },
  };
}

/** What was read, by id. An answer that was on its way while something changed is used once and not remembered. */
function createMemory<Value>(read: (id: string) => Promise<Value>, isKept: (value: Value) => boolean) {
  let known: Lru<string, { readonly value: Value }> = createLru(REMEMBERED);
  let turn = 0;
  return {
    known: (id: string) => known.get(id),
    async get(id: string): Promise<Value> {
      const found = known.get(id);
      if (found !== undefined) return found.value;
      const begun = turn;
      const value = await read(id);
      if (turn === begun && isKept(value)) known.set(id, { value });
      return value;
    },
    forget(id: string): void {
      turn += 1;
      if (id === '*') known = createLru(REMEMBERED);
      else known.delete(id);
    },
  };
}
