import type { Cancel, Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import type { Fact, Lease, Storage } from '../storage/storage.ts';

/** What a process holds while it leads. */
export interface Tenure {
  readonly lease: Lease;
  /** False from the moment another may have taken over, by this process's own clock: asked before anything is done. */
  holds(): boolean;
  /** Aborts when it is over. */
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

export function createLeadership(options: LeadershipOptions): Leadership {
  const { clock, logger, storage, name, owner } = options;
  const { leases } = storage;
  const faults = createFaultLog(logger, {
    fields: { lease: name },
    message: 'the lease cannot be taken or kept',
    over: 'the lease can be taken or kept again',
  });
  let present: { readonly tenure: Tenure; readonly leading: Leading; end(): void } | undefined;
  let deadline = 0;
  let isOver = false;
  let cancelNext: Cancel = () => {};
  let cancelDeadline: Cancel = () => {};
  let work: Promise<void> = Promise.resolve();
  let unsubscribe: Cancel = () => {};

  /** Counted from before the store was asked: it may have answered long ago to a process that was frozen. */
  function prolong(askedAt: number): void {
    if (options.isAlone) {
      deadline = Number.POSITIVE_INFINITY;
      return;
    }
    deadline = askedAt + LEASE_MS - MARGIN_MS;
    cancelDeadline();
    cancelDeadline = clock.after(deadline - clock.monotonic(), () => enqueue(loseIfLate));
  }

  async function take(): Promise<void> {
    const askedAt = clock.monotonic();
    const lease = await leases.take(name, owner, LEASE_MS);
    if (lease === undefined) return;
    prolong(askedAt);
    const abort = new AbortController();
    const tenure: Tenure = {
      lease,
      holds: () => !abort.signal.aborted && clock.monotonic() < deadline,
      signal: abort.signal,
      lost: () => {
        abort.abort();
        enqueue(() => lose('another process leads'));
      },
    };
    try {
      present = { tenure, leading: await options.lead(tenure), end: () => abort.abort() };
      logger.info({ lease: name, epoch: lease.epoch }, 'this process leads');
    } catch (error) {
      abort.abort();
      cancelDeadline();
      await leases.release(lease).catch(() => {});
      throw error;
    }
  }

  async function renew({ tenure }: { readonly tenure: Tenure }): Promise<void> {
    const askedAt = clock.monotonic();
    if (!(await leases.renew(tenure.lease, LEASE_MS))) await lose('another process leads');
    else prolong(askedAt);
  }

  async function loseIfLate(): Promise<void> {
    if (present !== undefined && clock.monotonic() >= deadline)
      await lose('the lease was not renewed in time');
  }

  async function lose(reason: string): Promise<void> {
    const lost = present;
    if (lost === undefined) return;
    present = undefined;
    cancelDeadline();
    lost.end();
    logger.warn({ lease: name, epoch: lost.tenure.lease.epoch, reason }, 'this process leads no more');
    await lost.leading.stop(false);
  }

  async function turn(): Promise<void> {
    cancelNext();
    try {
      await loseIfLate();
      await (present === undefined ? take() : renew(present));
      faults.passed();
    } catch (error) {
      faults.failed(error);
      await loseIfLate();
    }
    if (!isOver) cancelNext = clock.after(present === undefined ? TRY_MS : RENEW_MS, () => enqueue(turn));
  }

  /** One thing at a time: what is stopped has stopped before anything is started again. */
  function enqueue(step: () => Promise<void>): void {
    work = work.then(async () => {
      if (!isOver) await step();
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
      cancelNext = clock.after(present === undefined ? TRY_MS : RENEW_MS, () => enqueue(turn));
    },
    isLeading: () => present?.tenure.holds() === true,
    async stop() {
      isOver = true;
      cancelNext();
      unsubscribe();
      await work;
      const last = present;
      if (last === undefined) return;
      await last.leading.stop(last.tenure.holds());
      present = undefined;
      cancelDeadline();
      last.end();
      await leases.release(last.tenure.lease).catch(error => faults.failed(error));
    },
  };
}
