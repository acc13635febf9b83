import { type Kysely, sql } from 'kysely';
import { columnsOf, countRows, refuseDuplicate } from '../queries.ts';
import type { Database, SilenceTable } from '../tables.ts';
import type { Page, PageRequest, RecordChange, WithoutWorkspace } from '../types.ts';

export type SilenceRow = WithoutWorkspace<SilenceTable>;

const SILENCE_COLUMNS = columnsOf<SilenceRow>({
  id: true,
  matchers: true,
  starts_at: true,
  ends_at: true,
  until_resolved: true,
  comment: true,
  created_by: true,
  created_at: true,
});

type SilenceState = 'pending' | 'active' | 'expired';

export interface SilenceStore {
  get(id: string): Promise<SilenceRow | undefined>;
  /** Newest first; `now` (epoch ms) is the time that states are meant at. */
  list(filter: SilenceFilter, page: PageRequest): Promise<Page<SilenceRow>>;
  /** Those that are not over at `now` (epoch ms). */
  unexpired(now: number): Promise<readonly SilenceRow[]>;
  /** True when it held an alarm back. */
  hasHeldBack(id: string): Promise<boolean>;
  /** The open incidents of which silences held alarms back. */
  openHeldBack(): Promise<readonly HeldBack[]>;
}

/** An alarm of the incident waited for the end of the silence. */
interface HeldBack {
  readonly silence: string;
  readonly incident: string;
}

interface SilenceFilter {
  readonly state?: SilenceState | undefined;
  readonly now: number;
}

export interface SilenceTransaction {
  /** Refused with `conflict` when the id exists. */
  addSilence(row: SilenceRow): Promise<void>;
  countUnexpiredSilences(now: number): Promise<number>;
  /** Changes one that is not over at `now`, and until when what it holds back waits. Answers the row as it is now; undefined when there is none. */
  updateSilence(
    id: string,
    change: Partial<Pick<SilenceRow, 'starts_at' | 'ends_at' | 'until_resolved' | 'comment'>>,
    now: number,
  ): Promise<SilenceRow | undefined>;
}

const ofWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('silences').where('workspace', '=', workspace);

/** Ids of the incidents of which it held alarms back. */
export const silencedBy = (db: Kysely<Database>, workspace: string, silence: string) =>
  db
    .selectFrom('silenced_incidents')
    .where('workspace', '=', workspace)
    .where('silence', '=', silence)
    .select('incident');

export const silenceStore = (db: Kysely<Database>, workspace: string): SilenceStore => ({
  get: id => ofWorkspace(db, workspace).where('id', '=', id).select(SILENCE_COLUMNS).executeTakeFirst(),
  async list({ state, now }, { offset, limit }) {
    let matching = ofWorkspace(db, workspace);
    if (state === 'expired') matching = matching.where('ends_at', '<=', now);
    else if (state !== undefined)
      matching = matching.where('ends_at', '>', now).where('starts_at', state === 'active' ? '<=' : '>', now);
    const [rows, total] = await Promise.all([
      matching
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .select(SILENCE_COLUMNS)
        .offset(offset)
        .limit(limit)
        .execute(),
      countRows(matching),
    ]);
    return { rows, total };
  },
  unexpired: now =>
    ofWorkspace(db, workspace).where('ends_at', '>', now).orderBy('id').select(SILENCE_COLUMNS).execute(),
  async hasHeldBack(id) {
    const row = await silencedBy(db, workspace, id).limit(1).executeTakeFirst();
    return row !== undefined;
  },
  // The state is written out, because SQLite takes a partial index only for what it can read in the text.
  openHeldBack: () =>
    db
      .selectFrom('incidents as i')
      .innerJoin('silenced_incidents as s', join =>
        join.onRef('s.workspace', '=', 'i.workspace').onRef('s.incident', '=', 'i.id'),
      )
      .where('i.workspace', '=', workspace)
      .where('i.state', '=', sql.lit('open'))
      .select(['s.silence', 's.incident'])
      .execute(),
});

export const silenceTransaction = (
  db: Kysely<Database>,
  workspace: string,
  recordChange: RecordChange,
): SilenceTransaction => ({
  addSilence: row =>
    recordChange(
      'silences',
      row.id,
      refuseDuplicate(
        db
          .insertInto('silences')
          .values({ ...row, workspace })
          .execute(),
        `silence '${row.id}'`,
      ),
    ),
  countUnexpiredSilences: now => countRows(ofWorkspace(db, workspace).where('ends_at', '>', now)),
  async updateSilence(id, change, now) {
    const row = await recordChange(
      'silences',
      id,
      db
        .updateTable('silences')
        .where('workspace', '=', workspace)
        .where('id', '=', id)
        .where('ends_at', '>', now)
        .set(change)
        .returning(SILENCE_COLUMNS)
        .executeTakeFirst(),
    );
    if (row !== undefined && change.ends_at !== undefined)
      await db
        .updateTable('deliveries')
        .where('workspace', '=', workspace)
        .where('silenced_by', '=', id)
        .where(sql<boolean>`state = 'grouped'`)
        .set({ next_at: change.ends_at })
        .execute();
    return row;
  },
});
