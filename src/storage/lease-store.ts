/** The leave to do what only one process may do. `epoch` grows with every change of owner. */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  readonly epoch: number;
}

/**
 * Leases end by the database's own clock, whatever the clocks of processes say. On SQLite time stands still for them:
 * one process has the file, so what another owner asks for is his at once, and opening the file ends all of them.
 * All reject with `conflict` in a process that is older than the tables: the newer one is to have the leases.
 */
export interface LeaseStore {
  /**
   * Takes the lease for `ttlMs` when it is free, over or the owner's already; undefined while another has it. A lease
   * that was free or over, or that comes from another owner, gets a greater epoch.
   */
  take(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Prolongs it to `ttlMs` from now; false when it is over or another's. */
  renew(lease: Lease, ttlMs: number): Promise<boolean>;
  /** Frees it at once for others; nothing happens when it is over or another's. */
  release(lease: Lease): Promise<void>;
  /** Who has it now; undefined when nobody does. */
  holder(name: string): Promise<Lease | undefined>;
}
