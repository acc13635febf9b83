import { addressPrefix } from '../lib/addresses.ts';
import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import type { AuditRow } from '../storage/stores/audit.ts';
import { organizationKey } from './tenant-name.ts';

/** An action, done or refused. It must hold no secret. */
export interface AuditEntry {
  /** Name of the caller; '' when it is not known. */
  readonly actor: string;
  /** The operation, as in `users.update`. */
  readonly action: string;
  /** Id or name of the object. */
  readonly target?: string;
  /** The changed fields, or the reason of the refusal. */
  readonly reason?: string;
  readonly address: string;
  readonly requestId?: string;
}

/** The record of actions. */
export interface Audit {
  /** On disk when it resolves. While the store cannot write, entries are kept in memory and written later. */
  record(entry: AuditEntry): Promise<void>;
  /**
   * Writes the first of its kind from an address at once, and those that follow within the minute as one entry with
   * their count: a flood of refusals is no flood of writes.
   */
  refused(entry: AuditEntry & { readonly reason: string }): void;
  /** Writes the entries that are still counted or waiting. */
  readonly stop: () => Promise<void>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'commit'>;
  readonly workspace: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const WINDOW_MS = 60_000;
const MOST_COUNTED = 1000;
const MOST_WAITING = 10_000;
const RETRY_MS = 5000;
/** Most characters of a field. */
const LONGEST_TEXT = 512;
const OTHER_ADDRESSES = 'other addresses';

export function createAudit({ storage, workspace, clock, ids, logger }: Dependencies): Audit {
  const faults = createCountedLog(logger.child({ component: 'audit' }), {
    fields: {},
    message: 'the audit cannot be written; its entries wait in memory',
    over: 'the audit is written again',
  });
  const waiting: AuditRow[] = [];
  const writing = new Set<Promise<void>>();
  const counted = createRefusalCounter(
    clock,
    ({ target: _, ...entry }, count) =>
      // Their objects may have differed.
      void write(rowOf(entry, 'refused', count)),
  );
  let cancel: (() => void) | undefined;

  function rowOf(entry: AuditEntry, result: AuditRow['result'], count = 1): AuditRow {
    const { actor, action, target = '', reason = '', address, requestId = '' } = entry;
    return {
      id: ids.next(),
      created_at: clock.now(),
      actor,
      action,
      target: target.slice(0, LONGEST_TEXT),
      result,
      reason: reason.slice(0, LONGEST_TEXT),
      address,
      request_id: requestId,
      count,
    };
  }

  function write(row: AuditRow): Promise<void> {
    const written = storage.commit({ kind: 'audit', workspace, row }).then(faults.recovered, error => {
      faults.failed(error);
      if (waiting.length < MOST_WAITING) waiting.push(row);
      cancel ??= clock.after(RETRY_MS, retryWaiting);
    });
    writing.add(written);
    return written.finally(() => writing.delete(written));
  }

  function retryWaiting(): void {
    cancel = undefined;
    for (const row of waiting.splice(0)) void write(row);
  }

  return {
    record: entry => write(rowOf(entry, 'ok')),
    refused(entry) {
      if (counted.isFirst(entry)) void write(rowOf(entry, 'refused'));
    },
    async stop() {
      counted.stop();
      cancel?.();
      retryWaiting();
      await Promise.all(writing);
    },
  };
}

type RefusedEntry = AuditEntry & { readonly reason: string };

/** Counts equal refusals for a minute; `report` gets the number of those after the first. */
function createRefusalCounter(clock: Clock, report: (entry: RefusedEntry, count: number) => void) {
  const entries = new Map<string, { readonly entry: RefusedEntry; count: number }>();
  let cancel = (): void => {};

  /** Forgets a caller without refusals in a whole window; one with more is reported again after the next window. */
  function flush(): void {
    for (const [key, one] of entries) {
      if (one.count === 0) entries.delete(key);
      else report(one.entry, one.count);
      one.count = 0;
    }
    if (entries.size > 0) cancel = clock.after(WINDOW_MS, flush);
  }

  /** Too many callers are counted together, by action and reason only. */
  function bucketOf(entry: RefusedEntry): RefusedEntry {
    const { action, reason } = entry;
    if (entries.has(keyOf(entry)) || entries.size < MOST_COUNTED) return entry;
    return { actor: '', action, reason, address: OTHER_ADDRESSES };
  }

  return {
    isFirst(given: RefusedEntry): boolean {
      const entry = bucketOf(given);
      const key = keyOf(entry);
      const known = entries.get(key);
      if (known !== undefined) {
        known.count += 1;
        return false;
      }
      if (entries.size === 0) cancel = clock.after(WINDOW_MS, flush);
      entries.set(key, { entry, count: 0 });
      return true;
    },
    stop(): void {
      cancel();
      for (const { entry, count } of entries.values()) if (count > 0) report(entry, count);
      entries.clear();
    },
  };
}

const keyOf = ({ action, reason, actor, address }: RefusedEntry): string =>
  [action, reason, actor, addressPrefix(address)].join('\n');

/** The audits of organizations, and the one of actions that concern none. */
export interface OrganizationAudits {
  /** Undefined for an action that is about no known organization. */
  readonly forOrganization: (organization: string | undefined) => Audit;
  /** Writes the entries that are still counted or waiting. */
  readonly stop: () => Promise<void>;
}

export function createOrganizationAudits(
  options: Omit<Parameters<typeof createAudit>[0], 'workspace'>,
): OrganizationAudits {
  const byWorkspace = new Map<string, Audit>();
  return {
    forOrganization(organization) {
      const workspace = organizationKey(organization);
      const known = byWorkspace.get(workspace) ?? createAudit({ ...options, workspace });
      byWorkspace.set(workspace, known);
      return known;
    },
    async stop() {
      await Promise.all([...byWorkspace.values()].map(audit => audit.stop()));
    },
  };
}
