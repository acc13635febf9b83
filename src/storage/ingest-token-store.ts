import type { IngestTokenTable } from './tables.ts';

export type IngestTokenRow = Omit<IngestTokenTable, 'workspace'>;

export interface IngestTokenStore {
  /** All of them, by id. */
  list(): Promise<readonly IngestTokenRow[]>;
}

/** What a transaction does with the ingest tokens of a workspace. */
export interface IngestTokenTransaction {
  /** Refused with `conflict` when the id exists. */
  addIngestToken(row: IngestTokenRow): Promise<void>;
  countIngestTokens(): Promise<number>;
  /** Answers the row as it is now; undefined when there is none. */
  changeIngestToken(
    id: string,
    change: Partial<Pick<IngestTokenRow, 'description' | 'enabled' | 'expires_at'>>,
  ): Promise<IngestTokenRow | undefined>;
  /**
   * Puts another digest in the place of the present one, which is the former one until `formerEndsAt` (epoch ms), or gone
   * at once where that is null. Whatever was the former one before is gone. Answers the row as it is now.
   */
  rotateIngestToken(
    id: string,
    turn: Pick<IngestTokenRow, 'digest' | 'issued_at'> & { readonly formerEndsAt: number | null },
  ): Promise<IngestTokenRow | undefined>;
  /** Answers what it removed. */
  removeIngestToken(id: string): Promise<IngestTokenRow | undefined>;
  /** Books when tokens were last used (epoch ms); an earlier time than the present one changes nothing. */
  useIngestTokens(uses: readonly { readonly id: string; readonly at: number }[]): Promise<void>;
}
