import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { Storage } from '../../storage/storage.ts';
import { isLeaseLost, type Lease, leaseLost } from '../../storage/stores/leases.ts';
import type { CommittedChange } from '../../storage/types.ts';

/** What a process holds while it leads. */
export interface LeaderTerm {
  readonly lease: Lease;
  /** False from the moment another may have taken over, by this process's own clock: asked before anything is done. */
  isCurrent(): boolean;
  /** Aborts when it is over; it never comes back. */
  readonly signal: AbortSignal;
  /** The store has refused a write: another leads already. */
  markLost(): void;
}

/** What runs while a process leads. */
export interface LeaderTask {
  /** With `inTime` what is under way may end, without it is cut off. */
  stop(inTime: boolean): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly storage: Pick<Storage, 'leases' | 'subscribe'>;
  /** Name of the lease. */
  readonly name: string;
  /** Id of this process. */
  readonly owner: string;
  /** Whether no other process can be there: then the lease needs no keeping. */
  readonly isAlone: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts what only one process may do. When it rejects, the lease is given back. */
  lead(term: LeaderTerm): Promise<LeaderTask>;
}

/** Takes the lease whenever it is free, and keeps it. */
export interface LeaderElection {
  /** Tries once before it resolves, so that a process that is alone leads from the start. Rejects when that fails. */
  start(): Promise<void>;
  isLeading(): boolean;
  /** Lets another take over at once. */
  stop(): Promise<void>;
}

/** How long a process that has died or is frozen keeps the others from leading. */
const LEASE_MS = 6000;
const RENEW_MS = 2000;
/** How often a process that does not lead tries to. */
const TRY_MS = 1000;
/** This process stops so long before its lease is over for the others: clocks run differently fast. */
const SAFETY_MARGIN_MS = 1000;
const LATE = 'the lease was not renewed in time';

export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { clock, logger, storage, name, owner } = options;
  const { leases } = storage;
  const faults = createCountedLog(logger, {
    fields: { lease: name },
    message: 'the lease cannot be taken or kept',
    over: 'the lease can be taken or kept again',
  });
  let present: { readonly term: LeaderTerm; readonly task: LeaderTask; end(): void } | undefined;
  let isEnding = false;
  let cancelNext: Cancel = () => {};
  const mutex = createMutex();
  let unsubscribe: Cancel = () => {};

  async function acquire(): Promise<void> {
    const askedAt = clock.monotonic();
    const lease = await leases.take(name, owner, LEASE_MS);
    if (lease === undefined) return;
    const { term, end } = hold(lease, askedAt);
    try {
      const task = await options.lead(term);
      present = { term, task, end };
      if (term.signal.aborted) await stepDown();
      else logger.info({ lease: name, epoch: lease.epoch }, 'this process leads');
    } catch (error) {
      end();
      await leases.release(lease).catch(() => {});
      throw error;
    }
  }

  /** Prolongs the lease beside whatever goes on, however long that takes to start or to end. */
  function hold(lease: Lease, takenAt: number): { readonly term: LeaderTerm; end(): void } {
    const abort = new AbortController();
    let deadline = 0;
    let cancelDeadline: Cancel = () => {};
    const renewing = createRepeat({ clock, interval: RENEW_MS, work: renew, faults });

    function end(): void {
      cancelDeadline();
      void renewing.stop();
      abort.abort();
    }

    function expire(reason: string): void {
      if (abort.signal.aborted) return;
      end();
      logger.warn({ lease: name, epoch: lease.epoch, reason }, 'this process leads no more');
      enqueue(stepDown);
    }

    /** Counted from before the store was asked: it may have answered long ago to a process that was frozen. */
    function extend(askedAt: number): void {
      deadline = askedAt + LEASE_MS - SAFETY_MARGIN_MS;
      cancelDeadline();
      cancelDeadline = clock.after(deadline - clock.monotonic(), () => expire(LATE));
    }

    async function renew(): Promise<void> {
      const askedAt = clock.monotonic();
      const isOurs = await leases.renew(lease, LEASE_MS);
      faults.recovered();
      if (abort.signal.aborted) return;
      // What was refused meanwhile is not made good by an answer that comes late.
      if (!isOurs) expire('another process leads');
      else if (clock.monotonic() >= deadline) expire(LATE);
      else extend(askedAt);
    }

    if (options.isAlone) deadline = Number.POSITIVE_INFINITY;
    else {
      extend(takenAt);
      renewing.start();
    }
    const term: LeaderTerm = {
      lease,
      isCurrent: () => !abort.signal.aborted && clock.monotonic() < deadline,
      signal: abort.signal,
      markLost: () => expire('another process leads'),
    };
    return { term, end };
  }

  /** Stops what the process led, once its time is over. */
  async function stepDown(): Promise<void> {
    const last = present;
    if (last === undefined || !last.term.signal.aborted) return;
    present = undefined;
    await last.task.stop(false);
  }

  async function tryAcquire(): Promise<void> {
    cancelNext();
    try {
      if (present === undefined) {
        await acquire();
        faults.recovered();
      }
    } catch (error) {
      faults.failed(error);
    }
    if (!isEnding) cancelNext = clock.after(TRY_MS, () => enqueue(tryAcquire));
  }

  /** One thing at a time: what is stopped has stopped before anything is started again. */
  function enqueue(step: () => Promise<void>): void {
    void mutex.run(async () => {
      if (!isEnding) await step();
    });
  }

  function onFact({ resource: noun, id }: CommittedChange): void {
    if (noun === 'leases' && (id === name || id === '*') && present === undefined) enqueue(tryAcquire);
  }

  return {
    async start() {
      await acquire();
      if (options.isAlone) return;
      unsubscribe = storage.subscribe(onFact);
      cancelNext = clock.after(TRY_MS, () => enqueue(tryAcquire));
    },
    isLeading: () => present?.term.isCurrent() === true,
    async stop() {
      isEnding = true;
      cancelNext();
      unsubscribe();
      await mutex.idle();
      if (present === undefined) return;
      const { term, task, end } = present;
      await task.stop(term.isCurrent());
      present = undefined;
      end();
      await leases.release(term.lease).catch(error => faults.failed(error));
    },
  };
}

/**
 * The store as one who leads may write it: every write is refused once another may lead, first by this process's own
 * clock, and for certain by the database's in the transaction itself.
 */
export function fencedStorage(storage: Storage, term: LeaderTerm): Storage {
  async function fenced<Result>(write: () => Promise<Result>): Promise<Result> {
    if (!term.isCurrent()) throw leaseLost(term.lease);
    try {
      return await write();
    } catch (error) {
      if (isLeaseLost(error)) term.markLost();
      throw error;
    }
  }
  return {
    ...storage,
    commit: operation => fenced(() => storage.commit(operation, term.lease)),
    transaction: work => fenced(() => storage.transaction(work, term.lease)),
  };
}
