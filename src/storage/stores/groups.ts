import type { Kysely } from 'kysely';
import { columnsOf } from '../queries.ts';
import type { Database, DeliveryGroupTable, DeliveryTable } from '../tables.ts';
import { DELIVERY_COLUMNS, selectDeliveries } from './deliveries.ts';

export type GroupRow = Omit<DeliveryGroupTable, 'workspace'>;

const GROUP_COLUMNS = columnsOf<GroupRow>({ id: true, interval_ends_at: true });

export interface GroupStore {
  /** Groups that were sent, with the end of their group interval. It may be over for some. */
  withinInterval(): Promise<readonly GroupRow[]>;
  /** Deliveries that wait in their groups, with an id after `after`, oldest first. */
  readonly members: (after: string, limit: number) => Promise<readonly Omit<DeliveryTable, 'workspace'>[]>;
}

export const groupStore = (db: Kysely<Database>, workspace: string): GroupStore => ({
  withinInterval: () =>
    db.selectFrom('groups').where('workspace', '=', workspace).select(GROUP_COLUMNS).execute(),
  members: (after, limit) =>
    selectDeliveries(db, workspace, { state: 'grouped' })
      .where('id', '>', after)
      .orderBy('id')
      .select(DELIVERY_COLUMNS)
      .limit(limit)
      .execute(),
});
