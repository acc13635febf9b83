import type { Page, PageRequest } from './page.ts';
import type { AuditTable } from './tables.ts';

export type AuditRow = Omit<AuditTable, 'workspace'>;

export interface AuditFilter {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly result?: AuditRow['result'];
  /** Epoch ms: then or later. */
  readonly since?: number;
  /** Epoch ms: before. */
  readonly until?: number;
}

/** What was done and refused. There is no way to change it. */
export interface AuditStore {
  /** Newest first. */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>>;
}
