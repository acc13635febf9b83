import { type Kysely, sql } from 'kysely';
import { columnsOf, eachOf } from '../queries.ts';
import type { AcknowledgementTable, Database } from '../tables.ts';
import type { RecordChange, WithoutWorkspace } from '../types.ts';

export type AcknowledgementRow = WithoutWorkspace<AcknowledgementTable>;

const COLUMNS = columnsOf<AcknowledgementRow>({
  incident: true,
  acknowledged: true,
  changed_at: true,
  changed_by: true,
  note: true,
});

export interface AcknowledgementStore {
  /** Those of these incidents that somebody has acknowledged, also where it was taken back. */
  ofIncidents(incidents: readonly string[]): Promise<readonly AcknowledgementRow[]>;
  /** Those of all open incidents, or of one if it is open. */
  ofOpen(incident?: string): Promise<readonly AcknowledgementRow[]>;
}

export interface AcknowledgementTransaction {
  /** Adds it or replaces the one of its incident. False where the incident is not open; then nothing changes. */
  putAcknowledgement(row: AcknowledgementRow): Promise<boolean>;
}

export const acknowledgementStore = (db: Kysely<Database>, workspace: string): AcknowledgementStore => ({
  ofIncidents: async incidents =>
    incidents.length === 0
      ? []
      : db
          .selectFrom('acknowledgements')
          .where('workspace', '=', workspace)
          .where('incident', 'in', eachOf(incidents))
          .select(COLUMNS)
          .execute(),
  ofOpen(incident) {
    const all = db
      .selectFrom('acknowledgements')
      .where('workspace', '=', workspace)
      .where(
        sql<boolean>`exists (select 1 from incidents i where i.workspace = acknowledgements.workspace
          and i.id = acknowledgements.incident and i.state = 'open')`,
      );
    return (incident === undefined ? all : all.where('incident', '=', incident)).select(COLUMNS).execute();
  },
});

export const acknowledgementTransaction = (
  db: Kysely<Database>,
  workspace: string,
  recordChange: RecordChange,
): AcknowledgementTransaction => ({
  async putAcknowledgement(row) {
    const incident = await db
      .selectFrom('incidents')
      .where('workspace', '=', workspace)
      .where('id', '=', row.incident)
      .select('state')
      .executeTakeFirst();
    if (incident?.state !== 'open') return false;
    const { incident: _, ...change } = row;
    await recordChange(
      'incidents',
      row.incident,
      db
        .insertInto('acknowledgements')
        .values({ ...row, workspace })
        .onConflict(conflict => conflict.columns(['workspace', 'incident']).doUpdateSet(change))
        .execute(),
    );
    return true;
  },
});
