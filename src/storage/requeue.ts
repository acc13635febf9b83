import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { selectDeliveries } from './deliveries.ts';
import type { Requeued, RequeueFilter } from './storage.ts';
import type { Database } from './tables.ts';

export interface RequeueRange {
  /** Epoch ms. */
  readonly now: number;
  readonly after: string;
  readonly limit: number;
}

type Candidate = { id: string; target: string; incident_id: string; seq: number };

/** As `WorkspaceTransaction.requeue` says. */
export async function requeue(
  db: Kysely<Database>,
  workspace: string,
  { states, id, ...filter }: RequeueFilter,
  { now, after, limit }: RequeueRange,
): Promise<Requeued> {
  let matching = selectDeliveries(db, workspace, filter).where('state', 'in', states).where('id', '>', after);
  if (id !== undefined) matching = matching.where('id', '=', id);
  const found = await matching
    .orderBy('id')
    .select(['id', 'target', 'incident_id', 'seq'])
    .select(eb => overtaken(eb).as('is_overtaken'))
    .limit(limit)
    .execute();
  const again = found.filter(row => Number(row.is_overtaken) === 0);
  const rows: Pick<Candidate, 'id' | 'target'>[] = [];
  for (const row of again) rows.push(...(await putBack(db, workspace, row, now)));
  return {
    rows,
    overtaken: found.length - again.length,
    next: found.length < limit ? undefined : found.at(-1)?.id,
  };
}

/** 1 when the target has got a later event of the incident: an alarm that comes after its end would stay for ever. */
const overtaken = (eb: ExpressionBuilder<Database, 'deliveries'>) =>
  eb
    .case()
    .when(
      eb.exists(
        eb
          .selectFrom('deliveries as later')
          .whereRef('later.workspace', '=', 'deliveries.workspace')
          .whereRef('later.incident_id', '=', 'deliveries.incident_id')
          .whereRef('later.target', '=', 'deliveries.target')
          .whereRef('later.seq', '>', 'deliveries.seq')
          .where('later.state', '=', 'sent')
          .select('later.id'),
      ),
    )
    .then(1)
    .else(0)
    .end();

/** The delivery, and those of the incident's end that were skipped because it had not arrived. */
function putBack(
  db: Kysely<Database>,
  workspace: string,
  { id, incident_id, target, seq }: Candidate,
  now: number,
): Promise<Pick<Candidate, 'id' | 'target'>[]> {
  return db
    .updateTable('deliveries')
    .set({
      state: 'waiting',
      next_at: null,
      settled_at: null,
      retried_from: sql<number>`attempts`,
      // Never the same twice, by which a settlement knows what it has not seen yet.
      retried_at: sql<number>`case when retried_at >= ${now} then retried_at + 1 else ${now} end`,
      batch: null,
    })
    .where('workspace', '=', workspace)
    .where('incident_id', '=', incident_id)
    .where('target', '=', target)
    .where(eb => eb.or([eb('id', '=', id), eb.and([eb('seq', '>', seq), eb('state', '=', 'skipped')])]))
    .returning(['id', 'target'])
    .execute();
}
