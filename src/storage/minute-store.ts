import type { MinutesTable } from './tables.ts';

export type MinutesRow = Omit<MinutesTable, 'workspace'>;

/** What was recorded of components, a row for each and hour. */
export interface MinuteStore {
  /** In no order; ids of nothing are left out. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly MinutesRow[]>;
}

export interface MinuteTransaction {
  /** Adds rows, or their data behind that of the rows of the same ids; each id once. */
  appendMinutes(rows: readonly MinutesRow[]): Promise<void>;
}
