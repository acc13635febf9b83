import type { Kysely } from 'kysely';
import { VERSION_FACTS } from './columns.ts';
import { orConflict } from './conflicts.ts';
import { countOf } from './counting.ts';
import type { ConfigVersionRow, VersionStore } from './storage.ts';
import type { Database } from './tables.ts';

export function versionStore(db: Kysely<Database>, workspace: string): VersionStore {
  const all = () => db.selectFrom('config_versions').where('workspace', '=', workspace);
  const newestFirst = () => all().orderBy('id', 'desc');

  return {
    get: id =>
      all()
        .where('id', '=', id)
        .select([...VERSION_FACTS, 'files'])
        .executeTakeFirst(),
    last: () => lastVersion(db, workspace),
    count: () => countOf(all()),
    async list({ offset, limit }) {
      const [rows, total] = await Promise.all([
        newestFirst().select(VERSION_FACTS).offset(offset).limit(limit).execute(),
        countOf(all()),
      ]);
      return { rows, total };
    },
  };
}

export const lastVersion = (db: Kysely<Database>, workspace: string): Promise<ConfigVersionRow | undefined> =>
  db
    .selectFrom('config_versions')
    .where('workspace', '=', workspace)
    .select([...VERSION_FACTS, 'files'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();

export const addVersion = (db: Kysely<Database>, workspace: string, row: ConfigVersionRow): Promise<void> =>
  orConflict(
    db
      .insertInto('config_versions')
      .values({ ...row, workspace })
      .execute(),
    `version '${row.id}' of the configuration exists already`,
  );
