import type { Cancel, Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat, type Repeat } from '../../lib/repeat.ts';
import type { Storage } from '../../storage/storage.ts';
import { isLeaseLost, type Lease, leaseLost } from '../../storage/stores/leases.ts';
import type { CommittedChange } from '../../storage/types.ts';

/** A process leads from one to the next loss of its lease. */
export interface LeaderTerm {
  readonly lease: Lease;
  /** False from the moment another may have taken over, by this process's own clock. Ask before each piece of work. */
  isCurrent(): boolean;
  /** Aborts when the term ends; the term never comes back. */
  readonly signal: AbortSignal;
  /** Ends the term because the store has refused a write: another process leads already. */
  markLost(): void;
}

/** Runs while a process leads. */
export interface LeaderTask {
  /** With `inTime` work under way may end, without it is cut off. */
  stop(inTime: boolean): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly storage: Pick<Storage, 'leases' | 'subscribe'>;
  /** Name of the lease. */
  readonly name: string;
  /** Id of this process. */
  readonly owner: string;
  /** True when no other process can exist, so that the lease need not be renewed. */
  readonly isAlone: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the work that only one process may do. When it rejects, the lease is released. */
  readonly lead: (term: LeaderTerm) => Promise<LeaderTask>;
}

/** Takes the lease whenever it is free, and renews it. */
export interface LeaderElection {
  /** Tries once before it resolves, so that a process that is alone leads from the start. Rejects when that fails. */
  start(): Promise<void>;
  isLeading(): boolean;
  /** Lets another take over at once. */
  stop(): Promise<void>;
}

/** A process that has died or is frozen keeps the others from leading for this time. */
const LEASE_MS = 6000;
const RENEW_MS = 2000;
/** Between two attempts of a process that does not lead. */
const TRY_MS = 1000;
/** This process stops so long before its lease ends for the others, as clocks run at different speeds. */
const SAFETY_MARGIN_MS = 1000;
const LATE = 'the lease was not renewed in time';

export const createLeaderElection = (options: LeaderElectionOptions): LeaderElection =>
  new LeaseElection(options);

class LeaseElection implements LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #faults: CountedLog;
  /** One thing at a time: what is stopped has stopped before anything is started again. */
  readonly #mutex = createMutex();
  #current: { readonly term: LeaseTerm; readonly task: LeaderTask } | undefined;
  #isStopping = false;
  #cancelNext: Cancel = () => {};
  #unsubscribe: Cancel = () => {};

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: { lease: options.name },
      message: 'the lease cannot be taken or kept',
      over: 'the lease can be taken or kept again',
    });
  }

  async start(): Promise<void> {
    const { isAlone, storage } = this.#options;
    await this.#acquire();
    if (isAlone) return;
    this.#unsubscribe = storage.subscribe(change => this.#onChange(change));
    this.#tryLater();
  }

  isLeading(): boolean {
    return this.#current?.term.isCurrent() === true;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancelNext();
    this.#unsubscribe();
    await this.#mutex.idle();
    if (this.#current === undefined) return;
    const { term, task } = this.#current;
    await task.stop(term.isCurrent());
    this.#current = undefined;
    term.end();
    await this.#options.storage.leases.release(term.lease).catch(error => this.#faults.failed(error));
  }

  async #acquire(): Promise<void> {
    const { clock, logger, name, owner, isAlone, lead } = this.#options;
    const { leases } = this.#options.storage;
    const acquiredAt = clock.monotonic();
    const lease = await leases.take(name, owner, LEASE_MS);
    if (lease === undefined) return;
    const term = new LeaseTerm({
      ...{ lease, acquiredAt, isAlone, leases, clock, faults: this.#faults },
      onExpired: reason => {
        logger.warn({ lease: name, epoch: lease.epoch, reason }, 'this process leads no more');
        this.#enqueue(() => this.#stepDown());
      },
    });
    try {
      const task = await lead(term);
      this.#current = { term, task };
      if (term.signal.aborted) await this.#stepDown();
      else logger.info({ lease: name, epoch: lease.epoch }, 'this process leads');
    } catch (error) {
      term.end();
      await leases.release(lease).catch(() => {});
      throw error;
    }
  }

  /** Stops the task of a term that has ended. */
  async #stepDown(): Promise<void> {
    const last = this.#current;
    if (last === undefined || !last.term.signal.aborted) return;
    this.#current = undefined;
    await last.task.stop(false);
  }

  async #tryAcquire(): Promise<void> {
    this.#cancelNext();
    try {
      if (this.#current === undefined) {
        await this.#acquire();
        this.#faults.recovered();
      }
    } catch (error) {
      this.#faults.failed(error);
    }
    if (!this.#isStopping) this.#tryLater();
  }

  #tryLater(): void {
    this.#cancelNext = this.#options.clock.after(TRY_MS, () => this.#enqueue(() => this.#tryAcquire()));
  }

  #enqueue(step: () => Promise<void>): void {
    void this.#mutex.run(async () => {
      if (!this.#isStopping) await step();
    });
  }

  #onChange({ resource, id }: CommittedChange): void {
    const isOfLease = resource === 'leases' && (id === this.#options.name || id === '*');
    if (isOfLease && this.#current === undefined) this.#enqueue(() => this.#tryAcquire());
  }
}

interface LeaseTermOptions extends Pick<LeaderElectionOptions, 'isAlone' | 'clock'> {
  readonly lease: Lease;
  /** Just before the store was asked for the lease, on the monotonic clock. */
  readonly acquiredAt: number;
  readonly leases: Pick<Storage['leases'], 'renew'>;
  readonly faults: CountedLog;
  /** Called once, unless the term is ended by this process. */
  readonly onExpired: (reason: string) => void;
}

/** Renews its lease beside everything else, however long the task takes to start or to stop. */
class LeaseTerm implements LeaderTerm {
  readonly #options: LeaseTermOptions;
  readonly #abort = new AbortController();
  readonly #renewal: Repeat;
  /** On the monotonic clock. */
  #deadline = Number.POSITIVE_INFINITY;
  #cancelDeadline: Cancel = () => {};

  constructor(options: LeaseTermOptions) {
    const { clock, faults, isAlone, acquiredAt } = options;
    this.#options = options;
    this.#renewal = createRepeat({ clock, interval: RENEW_MS, work: () => this.#renew(), faults });
    if (isAlone) return;
    this.#extend(acquiredAt);
    this.#renewal.start();
  }

  get lease(): Lease {
    return this.#options.lease;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  isCurrent(): boolean {
    return !this.signal.aborted && this.#options.clock.monotonic() < this.#deadline;
  }

  markLost(): void {
    this.#expire('another process leads');
  }

  end(): void {
    this.#cancelDeadline();
    void this.#renewal.stop();
    this.#abort.abort();
  }

  #expire(reason: string): void {
    if (this.signal.aborted) return;
    this.end();
    this.#options.onExpired(reason);
  }

  /** Counts from before the store was asked: it may have answered long ago to a process that was frozen. */
  #extend(askedAt: number): void {
    const { clock } = this.#options;
    this.#deadline = askedAt + LEASE_MS - SAFETY_MARGIN_MS;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(this.#deadline - clock.monotonic(), () => this.#expire(LATE));
  }

  async #renew(): Promise<void> {
    const { clock, leases, lease, faults } = this.#options;
    const askedAt = clock.monotonic();
    const isOurs = await leases.renew(lease, LEASE_MS);
    faults.recovered();
    if (this.signal.aborted) return;
    // A late answer does not make good what was refused meanwhile.
    if (!isOurs) this.markLost();
    else if (clock.monotonic() >= this.#deadline) this.#expire(LATE);
    else this.#extend(askedAt);
  }
}

/**
 * Refuses every write once another process may lead, first by this process's own clock, and for certain by the
 * database's clock in the transaction itself.
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
