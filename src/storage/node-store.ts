import type { NodeTable } from './tables.ts';

export type NodeRow = Omit<NodeTable, 'until'>;

/** The running processes of one database, by its own clock as leases are. */
export interface NodeStore {
  /** Says for `ttlMs` from now that the process runs. */
  announce(node: NodeRow, ttlMs: number): Promise<void>;
  /** Says that it ends. */
  leave(id: string): Promise<void>;
  /** Those that run, the longest running first. */
  live(): Promise<readonly NodeRow[]>;
  /** The process while it runs. */
  get(id: string): Promise<NodeRow | undefined>;
}
