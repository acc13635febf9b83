import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru, type Lru } from '../lib/lru.ts';
import type { Fact, Storage, UserRow } from '../storage/storage.ts';

/** How long a process trusts what it remembers after it last asked the store whether users have changed. */
const TRUST_MS = 2000;
const ASK_MS = 500;
const REMEMBERED = 10_000;

/**
 * Users, given-back tokens and ended sessions as every request needs them, remembered from the store. What this process
 * commits it forgets in the same moment; what others commit it hears of, and besides it asks every half second.
 */
export interface UserDirectory {
  /** Throws `unavailable` when the store has not said for 2 seconds whether something changed. */
  find(id: string): Promise<UserRow | undefined>;
  /** Whether the token was given back. Throws as `find` does. */
  isRevoked(tokenId: string): Promise<boolean>;
  /** Whether the browser's session is still there. Throws as `find` does. */
  hasSession(id: string): Promise<boolean>;
  /** Resolves once no process can act on what was remembered before the call. */
  takenOver(): Promise<void>;
  stop(): void;
}

export interface DirectoryOptions {
  readonly storage: Pick<Storage, 'users' | 'sessions' | 'subscribe'>;
  /** Whether other processes have the same store. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process may have changed something; nothing that was known before counts until it resolves. */
  readonly changed: () => Promise<void>;
}

export async function openUserDirectory(options: DirectoryOptions): Promise<UserDirectory> {
  const { storage, isShared, clock, logger } = options;
  const users = createMemory((id: string) => storage.users.byId(id));
  const revoked = createMemory((id: string) => storage.users.isRevoked(id));
  const sessions = createMemory(async (id: string) => (await storage.sessions.byId(id)) !== undefined);
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'whether users have changed cannot be read, so nobody is let in',
    over: 'whether users have changed can be read again',
  });
  let changes = -1;
  let askedAt = clock.monotonic();
  let cancel = (): void => {};

  const unsubscribe = storage.subscribe(({ noun, id }: Fact) => {
    if (noun === 'users') users.forget(id);
    if (noun === 'tokens') revoked.forget(id);
    if (noun === 'sessions') sessions.forget(id);
  });

  /** Counted from before the question: what is committed after the store has read is not in its answer. */
  async function ask(): Promise<void> {
    const begun = clock.monotonic();
    const now = await storage.users.changes();
    if (now !== changes) {
      users.forget('*');
      revoked.forget('*');
      sessions.forget('*');
      await options.changed();
    }
    changes = now;
    askedAt = begun;
  }

  function askLater(): void {
    cancel = clock.after(ASK_MS, () => {
      ask().then(faults.passed, faults.failed).finally(askLater);
    });
  }

  function assertFresh(): void {
    if (isShared && clock.monotonic() - askedAt > TRUST_MS)
      throw new AppError('unavailable', 'the store does not say whether users have changed', {
        retryAfterSeconds: 1,
      });
  }

  if (isShared) {
    await ask();
    askLater();
  }
  return {
    async find(id) {
      assertFresh();
      return users.get(id);
    },
    async isRevoked(tokenId) {
      assertFresh();
      return revoked.get(tokenId);
    },
    async hasSession(id) {
      assertFresh();
      return sessions.get(id);
    },
    async takenOver() {
      if (isShared) await clock.sleep(TRUST_MS);
    },
    stop() {
      unsubscribe();
      cancel();
      cancel = () => {};
    },
  };
}

/** What was read, by id. An answer that was on its way while something changed is used once and not remembered. */
function createMemory<Value>(read: (id: string) => Promise<Value>) {
  let known: Lru<string, { readonly value: Value }> = createLru(REMEMBERED);
  let turn = 0;
  return {
    async get(id: string): Promise<Value> {
      const found = known.get(id);
      if (found !== undefined) return found.value;
      const begun = turn;
      const value = await read(id);
      if (turn === begun) known.set(id, { value });
      return value;
    },
    forget(id: string): void {
      turn += 1;
      if (id === '*') known = createLru(REMEMBERED);
      else known.delete(id);
    },
  };
}
