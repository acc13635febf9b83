import type { Kysely } from 'kysely';
import { INCIDENT_COLUMNS } from './columns.ts';
import { countOf } from './counting.ts';
import type { IncidentStore } from './storage.ts';
import type { Database } from './tables.ts';

export function incidentStore(db: Kysely<Database>, workspace: string): IncidentStore {
  const all = () => db.selectFrom('incidents').where('workspace', '=', workspace);

  return {
    open: () => all().where('state', '=', 'open').orderBy('id').select(INCIDENT_COLUMNS).execute(),
    get: id => all().where('id', '=', id).select(INCIDENT_COLUMNS).executeTakeFirst(),
    async list({ state, notification }, { offset, limit }) {
      let matching = all();
      if (state !== undefined) matching = matching.where('state', '=', state);
      if (notification !== undefined) matching = matching.where('notification', '=', notification);
      const [rows, total] = await Promise.all([
        matching.orderBy('id', 'desc').select(INCIDENT_COLUMNS).offset(offset).limit(limit).execute(),
        countOf(matching),
      ]);
      return { rows, total };
    },
    async openByCondition() {
      const counted = await all()
        .where('state', '=', 'open')
        .groupBy('condition')
        .select(eb => ['condition', eb.fn.countAll<number | string>().as('count')])
        .execute();
      return counted.map(({ condition, count }) => ({ condition, count: Number(count) }));
    },
  };
}
