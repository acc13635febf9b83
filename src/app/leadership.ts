import type { Cancel, Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Fact, Lease, Storage } from '../storage/storage.ts';

/** What a process holds while it leads. */
export interface Tenure {
  readonly lease: Lease;
  /** False from the moment another may have taken over, by this process's own clock: asked before anything is done. */
  holds(): boolean;
  /** Aborts when it is over; it never comes back. */
  readonly signal: AbortSignal;
  /** The store has refused a write: another leads already. */
  lost(): void;
}

/** What runs while a process leads. */
export interface Leading {
  /** With `inTime` what is under way may end, without it is cut off. */
  stop(inTime: boolean): Promise<void>;
}

export interface LeadershipOptions {
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
  lead(tenure: Tenure): Promise<Leading>;
}

/** Takes the lease whenever it is free, and keeps it. */
export interface Leadership {
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
const MARGIN_MS = 1000;
const LATE = 'the lease was not renewed in time';

export function createLeadership(options: LeadershipOptions): Leadership {
  const { clock, logger, storage, name, owner } = options;
  const { leases } = storage;
  const faults = createFaultLog(logger, {
    fields: { lease: name },
    message: 'the lease cannot be taken or kept',
    over: 'the lease can be taken or kept again',
  });
  let present: { readonly tenure: Tenure; readonly leading: Leading; end(): void } | undefined;
  let isEnding = false;
  let cancelNext: Cancel = () => {};
  const mutex = createMutex();
  let unsubscribe: Cancel = () => {};

  async function take(): Promise<void> {
    const askedAt = clock.monotonic();
    const lease = await leases.take(name, owner, LEASE_MS);
    if (lease === undefined) return;
    const { tenure, end } = keep(lease, askedAt);
    try {
      const leading = await options.lead(tenure);
      present = { tenure, leading, end };
      if (tenure.signal.aborted) await drop();
      else logger.info({ lease: name, epoch: lease.epoch }, 'this process leads');
    } catch (error) {
      end();
      await leases.release(lease).catch(() => {});
      throw error;
    }
  }

  /** Prolongs the lease beside whatever goes on, however long that takes to start or to end. */
  function keep(lease: Lease, takenAt: number): { readonly tenure: Tenure; end(): void } {
    const abort = new AbortController();
    let deadline = 0;
    let cancelDeadline: Cancel = () => {};
    const renewing = createRepeat({ clock, interval: RENEW_MS, work: renew, faults });

    function end(): void {
      cancelDeadline();
      void renewing.stop();
      abort.abort();
    }

    function over(reason: string): void {
      if (abort.signal.aborted) return;
      end();
      logger.warn({ lease: name, epoch: lease.epoch, reason }, 'this process leads no more');
      enqueue(drop);
    }

    /** Counted from before the store was asked: it may have answered long ago to a process that was frozen. */
    function prolong(askedAt: number): void {
      deadline = askedAt + LEASE_MS - MARGIN_MS;
      cancelDeadline();
      cancelDeadline = clock.after(deadline - clock.monotonic(), () => over(LATE));
    }

    async function renew(): Promise<void> {
      const askedAt = clock.monotonic();
      const isOurs = await leases.renew(lease, LEASE_MS);
      faults.passed();
      if (abort.signal.aborted) return;
      // What was refused meanwhile is not made good by an answer that comes late.
      if (!isOurs) over('another process leads');
      else if (clock.monotonic() >= deadline) over(LATE);
      else prolong(askedAt);
    }

    if (options.isAlone) deadline = Number.POSITIVE_INFINITY;
    else {
      prolong(takenAt);
      renewing.start();
    }
    const tenure: Tenure = {
      lease,
      holds: () => !abort.signal.aborted && clock.monotonic() < deadline,
      signal: abort.signal,
      lost: () => over('another process leads'),
    };
    return { tenure, end };
  }

  /** Stops what the process led, once its time is over. */
  async function drop(): Promise<void> {
    const last = present;
    if (last === undefined || !last.tenure.signal.aborted) return;
    present = undefined;
    await last.leading.stop(false);
  }

  async function turn(): Promise<void> {
    cancelNext();
    try {
      if (present === undefined) {
        await take();
        faults.passed();
      }
    } catch (error) {
      faults.failed(error);
    }
    if (!isEnding) cancelNext = clock.after(TRY_MS, () => enqueue(turn));
  }

  /** One thing at a time: what is stopped has stopped before anything is started again. */
  function enqueue(step: () => Promise<void>): void {
    void mutex.run(async () => {
      if (!isEnding) await step();
    });
  }

  function hear({ noun, id }: Fact): void {
    if (noun === 'leases' && (id === name || id === '*') && present === undefined) enqueue(turn);
  }

  return {
    async start() {
      await take();
      if (options.isAlone) return;
      unsubscribe = storage.subscribe(hear);
      cancelNext = clock.after(TRY_MS, () => enqueue(turn));
    },
    isLeading: () => present?.tenure.holds() === true,
    async stop() {
      isEnding = true;
      cancelNext();
      unsubscribe();
      await mutex.idle();
      if (present === undefined) return;
      const { tenure, leading, end } = present;
      await leading.stop(tenure.holds());
      present = undefined;
      end();
      await leases.release(tenure.lease).catch(error => faults.failed(error));
    },
  };
}
