import { type Kysely, type RawBuilder, sql } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import { unknownMigration } from '../migrations/migrate.ts';
import type { Database } from '../tables.ts';
import type { CommittedChange } from '../types.ts';

/** The leave to do what only one process may do. `epoch` grows with every change of owner. */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  readonly epoch: number;
}

/**
 * Leases end by the database's own clock, whatever the clocks of processes say. On SQLite time stands still for them:
 * one process has the file, so another owner gets a lease at once, and opening the file ends all of them.
 * All reject with `conflict` in a process that is older than the tables: the newer one is to have the leases.
 */
export interface LeaseStore {
  /**
   * Takes the lease for `ttlMs` when it is free, over or the owner's already; undefined while another has it. A lease
   * that was free or over, or that comes from another owner, gets a greater epoch.
   */
  take(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Prolongs it to `ttlMs` from now; false when it is over or another's. */
  renew(lease: Lease, ttlMs: number): Promise<boolean>;
  /** Frees it at once for others; nothing happens when it is over or another's. */
  release(lease: Lease): Promise<void>;
  /** The lease as it is held now; undefined when it is free or over. */
  holder(name: string): Promise<Lease | undefined>;
}

/** The clock by which leases end. */
export interface LeaseClock {
  /** True when no other process can write while this one has the database open. */
  readonly isExclusive: boolean;
  /** The database's own clock in milliseconds, as SQL; it stands still where one process is alone. */
  readonly now: RawBuilder<number>;
}

export interface LeaseOptions {
  readonly leaseClock: LeaseClock;
  readonly reader: Kysely<Database>;
  /** Runs work on the connection that writes leases and nodes, one at a time. */
  readonly write: <Result>(work: (db: Kysely<Database>) => Promise<Result>) => Promise<Result>;
  /** Called when a lease has changed hands, in the transaction that changed it. */
  readonly onChange: (db: Kysely<Database>, changes: readonly CommittedChange[]) => Promise<void>;
}

class LeaseLost extends AppError {}

export const leaseLost = ({ name, owner, epoch }: Lease): AppError =>
  new LeaseLost(
    'conflict',
    `the lease '${name}' is not that of '${owner}' at epoch ${epoch} any more, so nothing was written; another process ` +
      'leads or will',
  );

/** True when a write was refused because its lease is over or another's: the process that gets this leads no more. */
export const isLeaseLost = (error: unknown): boolean => error instanceof LeaseLost;

const heldLeases = (db: Kysely<Database>, { now }: LeaseClock) =>
  db.selectFrom('leases').where('until', '>', now).select(['name', 'owner', 'epoch']);

const heldAs = (db: Kysely<Database>, leaseClock: LeaseClock, { name, owner, epoch }: Lease) =>
  heldLeases(db, leaseClock).where('name', '=', name).where('owner', '=', owner).where('epoch', '=', epoch);

/**
 * Throws the error of `isLeaseLost` unless the lease is held. Its row stays locked until the transaction ends, so the
 * process that takes the lease over waits for that end.
 */
export async function assertHeld(db: Kysely<Database>, leaseClock: LeaseClock, lease: Lease): Promise<void> {
  const query = heldAs(db, leaseClock, lease);
  const found = await (leaseClock.isExclusive ? query : query.forShare()).executeTakeFirst();
  if (found === undefined) throw leaseLost(lease);
}

/** Ends what processes left behind that had the database before this one, which has it alone. */
export async function removeLeftoverLeases(db: Kysely<Database>): Promise<void> {
  await db.updateTable('leases').set({ until: 0 }).where('until', '>', 0).execute();
  await db.deleteFrom('nodes').execute();
}

export function leaseStore({ leaseClock, reader, write, onChange }: LeaseOptions): LeaseStore {
  const { isExclusive, now } = leaseClock;
  const changeOf = (name: string): CommittedChange => ({ workspace: '*', resource: 'leases', id: name });

  /** A newer version may have changed the tables under this process, which still writes as the old ones were. */
  async function upgradeRefusal(db: Kysely<Database>): Promise<AppError | undefined> {
    const unknown = isExclusive ? undefined : await unknownMigration(db, MIGRATIONS);
    if (unknown === undefined) return undefined;
    return new AppError(
      'conflict',
      `a newer version of headgate has migrated the database (it has '${unknown}'), so this process may not lead any ` +
        'more; end it, or upgrade it',
    );
  }

  async function releaseLease(db: Kysely<Database>, { name, owner, epoch }: Lease): Promise<void> {
    const { numUpdatedRows } = await db
      .updateTable('leases')
      .set({ until: 0 })
      .where('name', '=', name)
      .where('owner', '=', owner)
      .where('epoch', '=', epoch)
      .where('until', '>', now)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) await onChange(db, [changeOf(name)]);
  }

  return {
    take: (name, owner, ttlMs) =>
      write(async db => {
        const refusal = await upgradeRefusal(db);
        if (refusal !== undefined) throw refusal;
        const isOver = sql<boolean>`leases.until <= ${now}`;
        const lease = await db
          .insertInto('leases')
          .values({ name, owner, epoch: 1, until: sql`${now} + ${sql.lit(Math.ceil(ttlMs))}` })
          .onConflict(conflict => {
            const update = conflict.column('name').doUpdateSet({
              owner,
              epoch: sql`leases.epoch + case when leases.owner <> ${owner} or ${isOver} then 1 else 0 end`,
              until: sql`excluded.until`,
            });
            return isExclusive ? update : update.where(eb => eb.or([eb('leases.owner', '=', owner), isOver]));
          })
          .returning(['name', 'owner', 'epoch'])
          .executeTakeFirst();
        if (lease !== undefined) await onChange(db, [changeOf(name)]);
        return lease;
      }),
    renew: (lease, ttlMs) =>
      write(async db => {
        // Where time stands still there is nothing to prolong, and the disk is spared.
        if (isExclusive) return (await heldAs(db, leaseClock, lease).executeTakeFirst()) !== undefined;
        const refusal = await upgradeRefusal(db);
        if (refusal !== undefined) {
          await releaseLease(db, lease);
          throw refusal;
        }
        const { numUpdatedRows } = await db
          .updateTable('leases')
          .set({ until: sql`${now} + ${sql.lit(Math.ceil(ttlMs))}` })
          .where('name', '=', lease.name)
          .where('owner', '=', lease.owner)
          .where('epoch', '=', lease.epoch)
          .where('until', '>', now)
          .executeTakeFirst();
        return numUpdatedRows > 0n;
      }),
    release: lease => write(db => releaseLease(db, lease)),
    holder: name => heldLeases(reader, leaseClock).where('name', '=', name).executeTakeFirst(),
  };
}

/** What a workspace knows of the process that sends for it. */
export interface SendingTransaction {
  /**
   * Says that from now on what is due until then (epoch ms) may be sent. When a process before has never said that it
   * ended, each first delivery of its ordering key that was due by what that process said counts as sent without an
   * answer. Answers how many these are.
   */
  beginSending(until: number): Promise<number>;
  /** Nothing that is due later is sent before this is said. It never becomes earlier. */
  extendSending(until: number): Promise<void>;
  /** Says that nothing is being sent any more, and that every outcome is written. */
  endSending(): Promise<void>;
}

export const sendingTransaction = (db: Kysely<Database>, workspace: string): SendingTransaction => {
  const extend = async (until: number): Promise<void> => {
    await db
      .insertInto('sending')
      .values({ workspace, until })
      .onConflict(conflict =>
        conflict.column('workspace').doUpdateSet({ until }).where('sending.until', '<', until),
      )
      .execute();
  };
  return {
    async beginSending(until) {
      const left = await db
        .selectFrom('sending')
        .where('workspace', '=', workspace)
        .select('until')
        .executeTakeFirst();
      const cut = left === undefined ? 0 : await markCut(db, workspace, left.until);
      await extend(until);
      return cut;
    },
    extendSending: extend,
    async endSending() {
      await db.deleteFrom('sending').where('workspace', '=', workspace).execute();
    },
  };
};

const CUT = 'the process ended without a stop: it may have been sent already';

/** The state is written out, because SQLite takes a partial index only for what it can read in the text. */
async function markCut(db: Kysely<Database>, workspace: string, until: number): Promise<number> {
  const heads = db
    .selectFrom('deliveries')
    .where('workspace', '=', workspace)
    .where('state', '=', sql.lit('waiting'))
    .select(['id', 'next_at'])
    .select(eb =>
      eb.fn
        .agg<number>('row_number')
        .over(over => over.partitionBy(['target', 'notification', 'subject']).orderBy('id'))
        .as('place'),
    );
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ unknown_attempts: sql<number>`unknown_attempts + 1`, last_error: CUT })
    .where('workspace', '=', workspace)
    .where('id', 'in', eb =>
      eb
        .selectFrom(heads.as('head'))
        .where('place', '=', 1)
        .where(or => or.or([or('next_at', 'is', null), or('next_at', '<=', until)]))
        .select('id'),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
