import type { BrowserSessions } from '../auth/sessions/sessions.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Storage } from '../storage/storage.ts';
import type { RetentionKind } from '../storage/stores/retention.ts';

/** Retention of each kind, in milliseconds. */
export type RetentionPeriods = Readonly<
  Record<Exclude<RetentionKind, 'events' | 'received' | 'silences'>, number>
>;

export const retentionOf = (settings: Settings['retention']): RetentionPeriods => ({
  deliveries: settings.deliveries.ms,
  incidents: settings.incidents.ms,
  versions: settings.versions.ms,
  messages: settings.messages.ms,
  audit: settings.audit.ms,
  minutes: settings.minutes.ms,
  hours: settings.hours.ms,
});

export interface SweepOptions {
  /** Read at each sweep. */
  readonly workspaces: () => Promise<readonly string[]>;
  /** Kinds to sweep; all when omitted. */
  readonly kinds?: readonly RetentionKind[];
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Read at each sweep, so that a reload counts for the next. */
  readonly retention: () => RetentionPeriods;
  /** External events that changed nothing and are kept, in a workspace; the last 1,000,000 by default. */
  readonly maxReceived?: number;
  /** Called with the number of rows that each batch removed. */
  readonly removed: (kind: RetentionKind, count: number) => void;
}

/** Removes rows that ended longer ago than their retention. */
export interface RetentionSweep {
  start(): void;
  /** Begins no further batch and waits for the one under way. */
  stop(): Promise<void>;
}

/** A start has more urgent things to do. */
const FIRST_AFTER_MS = 60_000;
const EVERY_MS = 600_000;
/** Rows in one transaction, while nothing else is written. */
const BATCH = 250;
/** Between two batches, so that other work gets the writer and the processor. */
const PAUSE_MS = 10;
/** About 200 MB of a store. */
const MAX_RECEIVED = 1_000_000;

/** Deliveries before the events they refer to, and incidents after both. */
const ORDER: readonly RetentionKind[] = [
  'deliveries',
  'events',
  'received',
  'incidents',
  'versions',
  'messages',
  'silences',
  'audit',
  'minutes',
  'hours',
];

export function createRetentionSweep(options: SweepOptions): RetentionSweep {
  const { clock, logger, storage, kinds = ORDER, maxReceived = MAX_RECEIVED } = options;
  const abort = new AbortController();
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'what is old cannot be removed',
    over: 'what is old is removed again',
  });
  const sweeping = createRepeat({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    interval: EVERY_MS,
    work: sweepOnce,
    faults,
  });

  async function removeAll(workspace: string, kind: RetentionKind, before: number): Promise<number> {
    let total = 0;
    let after: string | undefined = '';
    while (after !== undefined && !abort.signal.aborted) {
      const { ids, next } = await storage
        .in(workspace)
        .retention.findExpired(kind, { before, after, limit: BATCH });
      if (ids.length > 0) {
        const count = await storage.transaction(tx => tx.in(workspace).removeExpired(kind, before, ids));
        options.removed(kind, count);
        total += count;
      }
      after = next;
      if (after !== undefined) await clock.sleep(PAUSE_MS, abort.signal);
    }
    return total;
  }

  async function beforeOf(workspace: string, kind: RetentionKind, now: number): Promise<number> {
    const before = now - retentionMs(kind, options.retention());
    if (kind !== 'received') return before;
    return Math.max(before, (await storage.in(workspace).retention.receivedBefore(maxReceived)) ?? before);
  }

  async function sweepOnce(): Promise<void> {
    const now = clock.now();
    const counts: Partial<Record<RetentionKind, number>> = {};
    for (const workspace of await options.workspaces())
      for (const kind of kinds) {
        const count = await removeAll(workspace, kind, await beforeOf(workspace, kind, now));
        if (count > 0) counts[kind] = (counts[kind] ?? 0) + count;
      }
    if (Object.keys(counts).length > 0)
      logger.info(counts, 'removed what is over for longer than it is kept');
  }

  return {
    start: () => sweeping.start(),
    async stop() {
      abort.abort();
      await sweeping.stop();
    },
  };
}

/**
 * Events are removed with their deliveries, and external ones that changed nothing when they would be, an incident never
 * before its events, and silences with incidents.
 */
function retentionMs(kind: RetentionKind, retention: RetentionPeriods): number {
  if (kind === 'events' || kind === 'received') return retention.deliveries;
  if (kind === 'silences') return retention.incidents;
  return kind === 'incidents' ? Math.max(retention.incidents, retention.deliveries) : retention[kind];
}

const SESSIONS_EVERY_MS = 600_000;

/** Removes ended sessions at intervals. The returned function stops it after the sweep under way. */
export function sweepSessions(
  sessions: Pick<BrowserSessions, 'sweep'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'sessions that are over cannot be removed',
    over: 'sessions that are over are removed again',
  });

  const sweeping = createRepeat({
    clock,
    interval: SESSIONS_EVERY_MS,
    work: async () => {
      await sessions.sweep();
    },
    faults,
  });
  sweeping.start();
  return () => sweeping.stop();
}

export interface RemovalOptions {
  readonly storage: Pick<Storage, 'organizations' | 'leases' | 'transaction'>;
  /** The key of a workspace in the store, and the name of the lease of whichever process leads it. */
  readonly keyOf: (workspace: { readonly organization: string; readonly id: string }) => string;
  readonly leaseOf: (key: string) => string;
  /** Who holds that lease meanwhile: nobody that leads. */
  readonly owner: string;
  /** Removes the files that this process has of a workspace. */
  readonly removeFiles: (key: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Processes have ended what they did for a removed workspace by then. */
const ENDED_AFTER_MS = 60_000;
/** Until then its id is taken, so that every process removes its own files of it. */
const FREE_AFTER_MS = 600_000;
const REMOVE_EVERY_MS = 30_000;
const CLEARING_LEASE_MS = 60_000;

/** Removes what removed workspaces have kept. */
export function createWorkspaceRemoval(options: RemovalOptions): Pick<RetentionSweep, 'start' | 'stop'> {
  const { storage, keyOf, leaseOf, owner, removeFiles, clock, logger } = options;
  const abort = new AbortController();
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'what removed workspaces have kept cannot be removed',
    over: 'what removed workspaces have kept is removed again',
  });
  const removing = createRepeat({ clock, interval: REMOVE_EVERY_MS, work: removeAll, faults });

  async function removeAll(): Promise<void> {
    for (const workspace of await storage.organizations.removedWorkspaces()) {
      const ms = clock.now() - workspace.updated_at;
      if (ms < ENDED_AFTER_MS || abort.signal.aborted) continue;
      const key = keyOf(workspace);
      await removeFiles(key);
      if (!(await isCleared(key)) || ms < FREE_AFTER_MS) continue;
      await storage.transaction(async tx => {
        await tx.incrementUserChanges();
        await tx.forgetWorkspace(workspace.organization, workspace.id);
      });
      logger.info({ workspace: key }, 'nothing is left of a removed workspace');
    }
  }

  /** False while another process does it, or still leads the workspace. */
  async function isCleared(key: string): Promise<boolean> {
    const lease = await storage.leases.take(leaseOf(key), owner, CLEARING_LEASE_MS);
    if (lease === undefined) return false;
    try {
      while (!abort.signal.aborted) {
        if (await storage.transaction(tx => tx.in(key).clear(BATCH))) return true;
        if (!(await storage.leases.renew(lease, CLEARING_LEASE_MS))) return false;
        await clock.sleep(PAUSE_MS, abort.signal);
      }
      return false;
    } finally {
      await storage.leases.release(lease);
    }
  }

  return {
    start: () => removing.start(),
    async stop() {
      abort.abort();
      await removing.stop();
    },
  };
}
