import { addressPrefix } from '../lib/address-prefix.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const MESSAGES = {
  failed: 'login failed',
  limited: 'login refused by the rate limit',
} as const;
type Kind = keyof typeof MESSAGES;

const SPAN_MS = 60_000;
const MOST_ADDRESSES = 1000;
const MOST_USERS = 5;
const REST = 'other addresses';

export interface LoginLog {
  /**
   * The first of a kind from an address is logged at once, what follows within the minute as one line with its count.
   * `user` is given only when such a user exists: an unknown name may be a password typed into the wrong field.
   */
  refused(kind: Kind, address: string, user?: string): void;
}

interface Entry {
  readonly kind: Kind;
  readonly address: string;
  count: number;
  users: Set<string>;
}

export function createLoginLog({ clock, logger }: { clock: Clock; logger: Logger }): LoginLog {
  const entries = new Map<string, Entry>();

  function write(entry: Entry): void {
    const { kind, address, count, users } = entry;
    logger.warn({ address, count, users: [...users] }, MESSAGES[kind]);
    entry.count = 0;
    entry.users = new Set();
  }

  /** Who was quiet for a whole span is forgotten; of who goes on, the next line is again a span away. */
  function flush(): void {
    for (const [key, entry] of entries)
      if (entry.count > 0) write(entry);
      else entries.delete(key);
    if (entries.size > 0) clock.after(SPAN_MS, flush);
  }

  function entryOf(kind: Kind, address: string): { entry: Entry; isNew: boolean } {
    const prefix = addressPrefix(address);
    const known = entries.get(`${kind} ${prefix}`);
    if (known !== undefined) return { entry: known, isNew: false };
    const shown = entries.size < MOST_ADDRESSES ? prefix : REST;
    const key = `${kind} ${shown}`;
    const rest = entries.get(key);
    if (rest !== undefined) return { entry: rest, isNew: false };
    const entry: Entry = { kind, address: shown, count: 0, users: new Set() };
    if (entries.size === 0) clock.after(SPAN_MS, flush);
    entries.set(key, entry);
    return { entry, isNew: true };
  }

  return {
    refused(kind, address, user) {
      const { entry, isNew } = entryOf(kind, address);
      entry.count += 1;
      if (user !== undefined && entry.users.size < MOST_USERS) entry.users.add(user);
      if (isNew) write(entry);
    },
  };
}
