import { dirname } from 'node:path';
import { Kysely, sql } from 'kysely';
import type { Logger } from '../../lib/logger.ts';
import type { Database } from '../tables.ts';
import { type DatabaseRow, type ReadView, readPages } from '../view.ts';
import { sqliteDialect } from './dialect.ts';
import { explainFailure } from './errors.ts';
import { WORKER } from './sqlite.ts';
import { connectInThread, startReader } from './worker-client.ts';

/**
 * Reads `file` in a transaction of its own: in WAL mode that neither waits for a writer nor makes one wait. By default in
 * a thread of its own.
 */
export async function openSqliteView(file: string, logger: Logger, isInThread: boolean): Promise<ReadView> {
  const explain = (failure: Parameters<typeof explainFailure>[0]) =>
    explainFailure(failure, file, dirname(file));
  const { readerClient, close } = isInThread
    ? await connectInThread({ explain })
    : startReader({ script: WORKER, file, explain, logger });
  const db = new Kysely<Database>({ dialect: sqliteDialect(readerClient) });
  try {
    await readerClient.call({ kind: 'open-reader', database: file });
    await sql`begin`.execute(db);
    // The moment is that of the first read.
    await sql`select 1 from sqlite_schema limit 1`.execute(db);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    db,
    pages(table) {
      let after = Number.MIN_SAFE_INTEGER;
      return readPages(async limit => {
        const { rows } = await sql<{ numbered: number; [column: string]: unknown }>`
          select rowid as numbered, * from ${sql.table(table)} where rowid > ${after}
          order by rowid limit ${limit}`.execute(db);
        after = rows.at(-1)?.numbered ?? after;
        return rows.map(({ numbered: _, ...row }): DatabaseRow => row);
      });
    },
    close,
  };
}
