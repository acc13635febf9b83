import type { Kysely } from 'kysely';
import { DELIVERY_COLUMNS, GROUP_COLUMNS } from './columns.ts';
import { selectDeliveries } from './deliveries.ts';
import type { GroupStore } from './group-store.ts';
import type { Database } from './tables.ts';

export const groupStore = (db: Kysely<Database>, workspace: string): GroupStore => ({
  resting: () => db.selectFrom('groups').where('workspace', '=', workspace).select(GROUP_COLUMNS).execute(),
  members: (after, limit) =>
    selectDeliveries(db, workspace, { state: 'grouped' })
      .where('id', '>', after)
      .orderBy('id')
      .select(DELIVERY_COLUMNS)
      .limit(limit)
      .execute(),
});
