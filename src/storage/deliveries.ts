import { type Kysely, sql } from 'kysely';
import { idFloor } from '../lib/ids.ts';
import { ATTEMPT_COLUMNS, DELIVERY_COLUMNS } from './columns.ts';
import { countOf } from './counting.ts';
import type { DeliveryFilter, DeliveryStore } from './storage.ts';
import type { Database } from './tables.ts';

export function selectDeliveries(db: Kysely<Database>, workspace: string, filter: DeliveryFilter = {}) {
  let matching = db.selectFrom('deliveries').where('workspace', '=', workspace);
  if (filter.state !== undefined) matching = matching.where('state', '=', filter.state);
  if (filter.target !== undefined) matching = matching.where('target', '=', filter.target);
  if (filter.notification !== undefined) matching = matching.where('notification', '=', filter.notification);
  if (filter.incident !== undefined) matching = matching.where('incident_id', '=', filter.incident);
  if (filter.since !== undefined) matching = matching.where('id', '>=', idFloor(filter.since));
  if (filter.until !== undefined) matching = matching.where('id', '<', idFloor(filter.until));
  return matching;
}

export function deliveryStore(db: Kysely<Database>, workspace: string): DeliveryStore {
  // The state is written out, because SQLite takes a partial index only for what it can read in the text.
  const waitingFor = (target: string, after: string) =>
    selectDeliveries(db, workspace, { target })
      .where('state', '=', sql.lit('waiting'))
      .where('id', '>', after)
      .orderBy('id')
      .select(DELIVERY_COLUMNS);

  return {
    get: id =>
      selectDeliveries(db, workspace).where('id', '=', id).select(DELIVERY_COLUMNS).executeTakeFirst(),
    async list(filter, { offset, limit }) {
      const matching = selectDeliveries(db, workspace, filter);
      const [rows, total] = await Promise.all([
        matching.orderBy('id', 'desc').select(DELIVERY_COLUMNS).offset(offset).limit(limit).execute(),
        countOf(matching),
      ]);
      return { rows, total };
    },
    waiting: (target, after, limit) => waitingFor(target, after).limit(limit).execute(),
    waitingEnds: (target, after, limit) =>
      waitingFor(target, after)
        .where('status', '=', 'OK')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('deliveries as earlier')
                .whereRef('earlier.workspace', '=', 'deliveries.workspace')
                .whereRef('earlier.incident_id', '=', 'deliveries.incident_id')
                .whereRef('earlier.target', '=', 'deliveries.target')
                .whereRef('earlier.seq', '<', 'deliveries.seq')
                .where('earlier.state', '=', 'waiting')
                .select('earlier.id'),
            ),
          ),
        )
        .limit(limit)
        .execute(),
    async waitingByTarget() {
      const counted = await selectDeliveries(db, workspace)
        .where('state', '=', sql.lit('waiting'))
        .groupBy('target')
        .select(eb => [
          'target',
          eb.fn.countAll<number | string>().as('count'),
          eb.fn.min<string>('id').as('first'),
        ])
        .execute();
      if (counted.length === 0) return [];
      const ids = counted.map(({ first }) => first);
      const firsts = await selectDeliveries(db, workspace)
        .where('id', 'in', ids)
        .select(['id', 'created_at'])
        .execute();
      const madeAt = new Map(firsts.map(row => [row.id, row.created_at]));
      // One that is settled between the two reads was the oldest no more.
      return counted.flatMap(({ target, count, first }) => {
        const oldest = madeAt.get(first);
        return oldest === undefined ? [] : [{ target, count: Number(count), oldest }];
      });
    },
    async told(incidentId, target) {
      const rows = await selectDeliveries(db, workspace, { incident: incidentId })
        .where('status', '=', 'ALARM')
        .where(eb =>
          eb.or([
            eb.and([eb('target', '=', target), eb('state', '=', 'sent')]),
            eb('instead_of', '=', target),
          ]),
        )
        .select('target')
        .distinct()
        .orderBy('target')
        .execute();
      const targets = rows.map(row => row.target);
      return { isReached: targets.includes(target), standIns: targets.filter(other => other !== target) };
    },
    async overtaken(incidentId, target, seq) {
      const row = await selectDeliveries(db, workspace, { state: 'sent', target, incident: incidentId })
        .where('seq', '>', seq)
        .select('id')
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },
    // More than '' instead of not null, because SQLite searches an index for a range and walks through one for the other.
    async standIns() {
      const { rows } = await sql<{ target: string }>`
        select distinct r.target from deliveries r where r.workspace = ${workspace} and r.instead_of > ''
        and (
          coalesce((
            select i.state from incidents i where i.workspace = r.workspace and i.id = r.incident_id), '') = 'open'
          or exists (
            select 1 from deliveries d where d.workspace = r.workspace and d.incident_id = r.incident_id
            and d.state = 'waiting'))`.execute(db);
      return rows.map(row => row.target);
    },
    // Written out, as above.
    inBatch: batch =>
      selectDeliveries(db, workspace)
        .where('state', '=', sql.lit('waiting'))
        .where('batch', '=', batch)
        .orderBy('id')
        .select(DELIVERY_COLUMNS)
        .execute(),
    attempts: deliveryId =>
      db
        .selectFrom('attempts')
        .where('workspace', '=', workspace)
        .where('delivery_id', '=', deliveryId)
        .orderBy('number')
        .select(ATTEMPT_COLUMNS)
        .execute(),
  };
}
