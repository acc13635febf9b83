import type { Kysely } from 'kysely';
import { INGEST_TOKEN_COLUMNS } from './columns.ts';
import { orConflict } from './conflicts.ts';
import { countOf } from './counting.ts';
import type { IngestTokenStore, IngestTokenTransaction } from './ingest-token-store.ts';
import type { Fact } from './storage.ts';
import type { Database } from './tables.ts';

const ofWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('ingest_tokens').where('workspace', '=', workspace);

export const ingestTokenStore = (db: Kysely<Database>, workspace: string): IngestTokenStore => ({
  list: () => ofWorkspace(db, workspace).orderBy('id').select(INGEST_TOKEN_COLUMNS).execute(),
});

/** `noted` hands on the fact of what is written. */
export function ingestTokensIn(
  db: Kysely<Database>,
  workspace: string,
  noted: <Result>(noun: Fact['noun'], id: string, written: Promise<Result>) => Promise<Result>,
): IngestTokenTransaction {
  const changed = <Result>(id: string, written: Promise<Result>): Promise<Result> =>
    noted('ingest-tokens', id, written);
  const one = (id: string) =>
    db.updateTable('ingest_tokens').where('workspace', '=', workspace).where('id', '=', id);
  return {
    addIngestToken: row =>
      changed(
        row.id,
        orConflict(
          db
            .insertInto('ingest_tokens')
            .values({ ...row, workspace })
            .execute(),
          `ingest token '${row.id}' exists already; choose another id`,
        ),
      ),
    countIngestTokens: () => countOf(ofWorkspace(db, workspace)),
    changeIngestToken: (id, change) =>
      changed(id, one(id).set(change).returning(INGEST_TOKEN_COLUMNS).executeTakeFirst()),
    // One statement, so that of two rotations at once neither brings back what the other has let go.
    rotateIngestToken: (id, { digest, issued_at, formerEndsAt }) =>
      changed(
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
      changed(
        id,
        db
          .deleteFrom('ingest_tokens')
          .where('workspace', '=', workspace)
          .where('id', '=', id)
          .returning(INGEST_TOKEN_COLUMNS)
          .executeTakeFirst(),
      ),
    async useIngestTokens(uses) {
      for (const { id, at } of uses)
        await one(id)
          .where(where => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
          .set({ last_used_at: at })
          .execute();
    },
  };
}
