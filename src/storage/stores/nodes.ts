import { type Kysely, sql } from 'kysely';
import type { Database, NodeTable } from '../tables.ts';
import type { LeaseOptions } from './leases.ts';

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

export function nodeStore({ leaseClock, reader, write }: Omit<LeaseOptions, 'onChange'>): NodeStore {
  const { now } = leaseClock;
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
