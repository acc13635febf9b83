import { type Kysely, sql } from 'kysely';
import { columnsOf, countRows, eachOf, refuseDuplicate } from '../queries.ts';
import type { ComponentGroupTable, ComponentTable, Database } from '../tables.ts';
import type { WithoutWorkspace } from '../types.ts';

export type ComponentRow = WithoutWorkspace<ComponentTable>;

export const COMPONENT_COLUMNS = columnsOf<ComponentRow>({
  identity: true,
  kind: true,
  id: true,
  pipeline: true,
  seen_at: true,
});

export type ComponentGroupRow = WithoutWorkspace<ComponentGroupTable>;

const GROUP_COLUMNS = columnsOf<ComponentGroupRow>({
  id: true,
  name: true,
  description: true,
  created_at: true,
});

/** Ids that inputs and outputs were given, and groups that were made by themselves. */
export interface ComponentStore {
  /** In no order; unknown ones are omitted. At most 2,000 a call. */
  byIdentities(identities: readonly string[]): Promise<readonly ComponentRow[]>;
  count(): Promise<number>;
  /** By id. */
  groups(): Promise<readonly ComponentGroupRow[]>;
  group(id: string): Promise<ComponentGroupRow | undefined>;
}

export interface ComponentTransaction {
  /** As `ComponentStore.byIdentities`. */
  componentsByIdentities(identities: readonly string[]): Promise<readonly ComponentRow[]>;
  /** Those that have one of the ids, of either kind; at most 2,000 a call. */
  componentsByIds(ids: readonly string[]): Promise<readonly ComponentRow[]>;
  /** Refused with `conflict` when an identity is there, or an id is taken among those of its kind. At most 2,000 a call. */
  addComponents(rows: readonly ComponentRow[]): Promise<void>;
  /** Moves `seen_at` on to `at` (epoch ms) where it is less than `before`; unknown identities are left alone. */
  touchComponents(
    identities: readonly string[],
    times: { readonly at: number; readonly before: number },
  ): Promise<void>;
  /** Removes up to `limit`, beginning with those that were seen the longest time ago. */
  removeOldestComponents(limit: number): Promise<void>;
  countComponentGroups(): Promise<number>;
  /** Refused with `conflict` when the id exists. */
  addComponentGroup(row: ComponentGroupRow): Promise<void>;
  /** Adds it or replaces what is said of it. */
  putComponentGroup(row: ComponentGroupRow): Promise<void>;
  removeComponentGroup(id: string): Promise<void>;
}

const ofWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('components').where('workspace', '=', workspace);

const groupsOfWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('component_groups').where('workspace', '=', workspace);

async function byIdentities(
  db: Kysely<Database>,
  workspace: string,
  identities: readonly string[],
): Promise<readonly ComponentRow[]> {
  if (identities.length === 0) return [];
  return ofWorkspace(db, workspace)
    .where('identity', 'in', eachOf(identities))
    .select(COMPONENT_COLUMNS)
    .execute();
}

export const componentStore = (db: Kysely<Database>, workspace: string): ComponentStore => ({
  byIdentities: identities => byIdentities(db, workspace, identities),
  count: () => countRows(ofWorkspace(db, workspace)),
  groups: () => groupsOfWorkspace(db, workspace).select(GROUP_COLUMNS).orderBy('id').execute(),
  group: id => groupsOfWorkspace(db, workspace).where('id', '=', id).select(GROUP_COLUMNS).executeTakeFirst(),
});

export const componentTransaction = (db: Kysely<Database>, workspace: string): ComponentTransaction => ({
  countComponentGroups: () => countRows(groupsOfWorkspace(db, workspace)),
  addComponentGroup: row =>
    refuseDuplicate(
      db
        .insertInto('component_groups')
        .values({ ...row, workspace })
        .execute(),
      `group '${row.id}'`,
    ),
  async putComponentGroup(row) {
    const { name, description } = row;
    await db
      .insertInto('component_groups')
      .values({ ...row, workspace })
      .onConflict(conflict => conflict.columns(['workspace', 'id']).doUpdateSet({ name, description }))
      .execute();
  },
  async removeComponentGroup(id) {
    await db.deleteFrom('component_groups').where('workspace', '=', workspace).where('id', '=', id).execute();
  },
  componentsByIdentities: identities => byIdentities(db, workspace, identities),
  async componentsByIds(ids) {
    if (ids.length === 0) return [];
    return ofWorkspace(db, workspace).where('id', 'in', eachOf(ids)).select(COMPONENT_COLUMNS).execute();
  },
  async addComponents(rows) {
    if (rows.length === 0) return;
    const byIdentity = Object.fromEntries(rows.map(({ identity, ...row }) => [identity, row]));
    await sql`insert into components (workspace, identity, kind, id, pipeline, seen_at)
      select cast(${workspace} as text), key, value ->> 'kind', value ->> 'id', value ->> 'pipeline',
        cast(value ->> 'seen_at' as bigint)
      from json_each(${JSON.stringify(byIdentity)})`.execute(db);
  },
  async touchComponents(identities, { at, before }) {
    if (identities.length === 0) return;
    await db
      .updateTable('components')
      .set({ seen_at: at })
      .where('workspace', '=', workspace)
      .where('identity', 'in', identities)
      .where('seen_at', '<', before)
      .execute();
  },
  async removeOldestComponents(limit) {
    await sql`delete from components where workspace = ${workspace} and identity in (
      select identity from components where workspace = ${workspace} order by seen_at, identity limit ${limit})`.execute(
      db,
    );
  },
});
