import type { Kysely } from 'kysely';
import { columnsOf, countRows, refuseDuplicate } from '../queries.ts';
import type { Database, IngestTokenTable } from '../tables.ts';
import type { RecordChange } from '../types.ts';

export type IngestTokenRow = Omit<IngestTokenTable, 'workspace'>;

const INGEST_TOKEN_COLUMNS = columnsOf<IngestTokenRow>({
  id: true,
  pipeline: true,
  description: true,
  enabled: true,
  created_at: true,
  expires_at: true,
  last_used_at: true,
  digest: true,
  issued_at: true,
  former_digest: true,
  former_ends_at: true,
});

export interface IngestTokenStore {
  /** All of them, by id. */
  readonly list: () => Promise<readonly IngestTokenRow[]>;
}

export interface IngestTokenTransaction {
  /** Refused with `conflict` when the id exists. */
  addIngestToken(row: IngestTokenRow): Promise<void>;
  countIngestTokens(): Promise<number>;
  /** Answers the row as it is now; undefined when there is none. */
  updateIngestToken(
    id: string,
    change: Partial<Pick<IngestTokenRow, 'description' | 'enabled' | 'expires_at'>>,
  ): Promise<IngestTokenRow | undefined>;
  /**
   * Puts another digest in the place of the present one, which is the former one until `formerEndsAt` (epoch ms), or gone
   * at once where that is null. Whatever was the former one before is gone. Answers the row as it is now.
   */
  rotateIngestToken(
    id: string,
    next: Pick<IngestTokenRow, 'digest' | 'issued_at'> & { readonly formerEndsAt: number | null },
  ): Promise<IngestTokenRow | undefined>;
  /** Answers what it removed. */
  removeIngestToken(id: string): Promise<IngestTokenRow | undefined>;
  /** Records when tokens were last used (epoch ms); an earlier time than the present one changes nothing. */
  recordIngestTokenUses(uses: readonly { readonly id: string; readonly at: number }[]): Promise<void>;
}

const ofWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('ingest_tokens').where('workspace', '=', workspace);

export const ingestTokenStore = (db: Kysely<Database>, workspace: string): IngestTokenStore => ({
  list: () => ofWorkspace(db, workspace).orderBy('id').select(INGEST_TOKEN_COLUMNS).execute(),
});

export function ingestTokenTransaction(
  db: Kysely<Database>,
  workspace: string,
  recordChange: RecordChange,
): IngestTokenTransaction {
  const recordTokenChange = <Result>(id: string, written: Promise<Result>): Promise<Result> =>
    recordChange('ingest-tokens', id, written);
  const one = (id: string) =>
    db.updateTable('ingest_tokens').where('workspace', '=', workspace).where('id', '=', id);
  return {
    addIngestToken: row =>
      recordTokenChange(
        row.id,
        refuseDuplicate(
          db
            .insertInto('ingest_tokens')
            .values({ ...row, workspace })
            .execute(),
          `ingest token '${row.id}'`,
        ),
      ),
    countIngestTokens: () => countRows(ofWorkspace(db, workspace)),
    updateIngestToken: (id, change) =>
      recordTokenChange(id, one(id).set(change).returning(INGEST_TOKEN_COLUMNS).executeTakeFirst()),
    // One statement, so that of two rotations at once neither brings back what the other has let go.
    rotateIngestToken: (id, { digest, issued_at, formerEndsAt }) =>
      recordTokenChange(
        id,
        one(id)
          .set(row => ({
            digest,
            issued_at,
            former_digest: formerEndsAt === null ? null : row.ref('digest'),
            former_ends_at: formerEndsAt,
          }))
          .returning(INGEST_TOKEN_COLUMNS)
          .executeTakeFirst(),
      ),
    removeIngestToken: id =>
      recordTokenChange(
        id,
        db
          .deleteFrom('ingest_tokens')
          .where('workspace', '=', workspace)
          .where('id', '=', id)
          .returning(INGEST_TOKEN_COLUMNS)
          .executeTakeFirst(),
      ),
    async recordIngestTokenUses(uses) {
      for (const { id, at } of uses)
        await one(id)
          .where(where => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
          .set({ last_used_at: at })
          .execute();
    },
  };
}
