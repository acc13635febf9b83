import { type Kysely, sql } from 'kysely';
import type { LeaseOptions } from './leases.ts';
import type { NodeStore } from './storage.ts';
import type { Database } from './tables.ts';

export function nodeStore({ tenure, reader, write }: Omit<LeaseOptions, 'changed'>): NodeStore {
  const { now } = tenure;
  const live = (db: Kysely<Database>) =>
    db.selectFrom('nodes').where('until', '>', now).select(['id', 'url', 'version', 'started_at']);

  return {
    announce: (node, ttlMs) =>
      write(async db => {
        // Every start has another id, so those that were killed would pile up.
        await db.deleteFrom('nodes').where('until', '<=', now).where('id', '<>', node.id).execute();
        await db
          .insertInto('nodes')
          .values({ ...node, until: sql`${now} + ${sql.lit(Math.ceil(ttlMs))}` })
          .onConflict(conflict =>
            conflict
              .column('id')
              .doUpdateSet({ url: node.url, version: node.version, until: sql`excluded.until` })
              // Where time stands still a process that says the same again costs no write.
              .where(
                sql<boolean>`(nodes.url, nodes.version, nodes.until) <> (excluded.url, excluded.version, excluded.until)`,
              ),
          )
          .execute();
      }),
    leave: id =>
      write(async db => {
        await db.deleteFrom('nodes').where('id', '=', id).execute();
      }),
    live: () => live(reader).orderBy('started_at').orderBy('id').execute(),
    get: id => live(reader).where('id', '=', id).executeTakeFirst(),
  };
}
