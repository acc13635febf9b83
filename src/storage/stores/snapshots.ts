import type { Kysely } from 'kysely';
import { columnsOf } from '../queries.ts';
import type { Database, SnapshotTable } from '../tables.ts';
import type { WithoutWorkspace } from '../types.ts';

export type SnapshotRow = WithoutWorkspace<SnapshotTable>;

export const SNAPSHOT_COLUMNS = columnsOf<SnapshotRow>({ id: true, part: true, data: true });

/** The part that is written last: with it a snapshot is whole. */
export const SUMMARY_PART = 0;

/** What is known of the components of a workspace, for the next process that leads it. */
export interface SnapshotStore {
  /** The part of that number of the whole snapshot; undefined when there is none. */
  part(number: number): Promise<SnapshotRow | undefined>;
}

export interface SnapshotTransaction {
  /** Adds a part, numbered from 1, of a snapshot that is not whole yet. */
  addSnapshotPart(row: SnapshotRow): Promise<void>;
  /** Adds the summary of a snapshot, which is whole then, and removes all others. */
  completeSnapshot(row: Omit<SnapshotRow, 'part'>): Promise<void>;
  /** Removes what was left behind of snapshots that were never whole. */
  removePartialSnapshots(): Promise<void>;
}

const wholeId = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('snapshots').where('workspace', '=', workspace).where('part', '=', SUMMARY_PART).select('id');

export const snapshotStore = (db: Kysely<Database>, workspace: string): SnapshotStore => ({
  part: number =>
    db
      .selectFrom('snapshots')
      .where('workspace', '=', workspace)
      .where('part', '=', number)
      .where('id', 'in', wholeId(db, workspace))
      .select(SNAPSHOT_COLUMNS)
      .executeTakeFirst(),
});

export const snapshotTransaction = (db: Kysely<Database>, workspace: string): SnapshotTransaction => ({
  async addSnapshotPart(row) {
    await db
      .insertInto('snapshots')
      .values({ ...row, workspace })
      .execute();
  },
  async completeSnapshot(row) {
    await db.deleteFrom('snapshots').where('workspace', '=', workspace).where('id', '<>', row.id).execute();
    await db
      .insertInto('snapshots')
      .values({ ...row, part: SUMMARY_PART, workspace })
      .execute();
  },
  async removePartialSnapshots() {
    await db
      .deleteFrom('snapshots')
      .where('workspace', '=', workspace)
      .where('id', 'not in', wholeId(db, workspace))
      .execute();
  },
});
