import { type Kysely, type RawBuilder, sql } from 'kysely';
import { AppError } from '../lib/errors.ts';
import { leaseLost } from './lease-lost.ts';
import { unknownMigration } from './migrate.ts';
import { MIGRATIONS } from './migrations/index.ts';
import type { Fact, Lease, LeaseStore } from './storage.ts';
import type { Database } from './tables.ts';

/** What leases need to know of the database. */
export interface Tenure {
  /** Whether no other process can write while this one has the database open. */
  readonly isAlone: boolean;
  /** The database's own clock in milliseconds, as SQL; it stands still where one process is alone. */
  readonly now: RawBuilder<number>;
}

export interface LeaseOptions {
  readonly tenure: Tenure;
  readonly reader: Kysely<Database>;
  /** Takes a turn at what writes leases and nodes. */
  readonly write: <Result>(work: (db: Kysely<Database>) => Promise<Result>) => Promise<Result>;
  /** Tells that the lease has changed hands. */
  readonly changed: (db: Kysely<Database>, facts: readonly Fact[]) => Promise<void>;
}

const inForce = (db: Kysely<Database>, { now }: Tenure) =>
  db.selectFrom('leases').where('until', '>', now).select(['name', 'owner', 'epoch']);

const inForceAs = (db: Kysely<Database>, tenure: Tenure, { name, owner, epoch }: Lease) =>
  inForce(db, tenure).where('name', '=', name).where('owner', '=', owner).where('epoch', '=', epoch);

/**
 * Throws the error of `isLeaseLost` unless the lease is in force. Its row stays locked until the transaction ends, so
 * whoever takes the lease over waits for that end.
 */
export async function assertInForce(db: Kysely<Database>, tenure: Tenure, lease: Lease): Promise<void> {
  const query = inForceAs(db, tenure, lease);
  const found = await (tenure.isAlone ? query : query.forShare()).executeTakeFirst();
  if (found === undefined) throw leaseLost(lease);
}

/** Ends what processes left behind that had the database before this one, which has it alone. */
export async function endOthers(db: Kysely<Database>): Promise<void> {
  await db.updateTable('leases').set({ until: 0 }).where('until', '>', 0).execute();
  await db.deleteFrom('nodes').execute();
}

export function leaseStore({ tenure, reader, write, changed }: LeaseOptions): LeaseStore {
  const { isAlone, now } = tenure;
  const factOf = (name: string): Fact => ({ workspace: '*', noun: 'leases', id: name });

  /** A newer version may have changed the tables under this process, which still writes as the old ones were. */
  async function outdated(db: Kysely<Database>): Promise<AppError | undefined> {
    const unknown = isAlone ? undefined : await unknownMigration(db, MIGRATIONS);
    if (unknown === undefined) return undefined;
    return new AppError(
      'conflict',
      `a newer version of headgate has migrated the database (it has '${unknown}'), so this process may not lead any ` +
        'more; end it, or upgrade it',
    );
  }

  async function free(db: Kysely<Database>, { name, owner, epoch }: Lease): Promise<void> {
    const { numUpdatedRows } = await db
      .updateTable('leases')
      .set({ until: 0 })
      .where('name', '=', name)
      .where('owner', '=', owner)
      .where('epoch', '=', epoch)
      .where('until', '>', now)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) await changed(db, [factOf(name)]);
  }

  return {
    take: (name, owner, ttlMs) =>
      write(async db => {
        const refusal = await outdated(db);
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
            return isAlone
              ? update
              : update.where(({ or, eb }) => or([eb('leases.owner', '=', owner), isOver]));
          })
          .returning(['name', 'owner', 'epoch'])
          .executeTakeFirst();
        if (lease !== undefined) await changed(db, [factOf(name)]);
        return lease;
      }),
    renew: (lease, ttlMs) =>
      write(async db => {
        // Where time stands still there is nothing to prolong, and the disk is spared.
        if (isAlone) return (await inForceAs(db, tenure, lease).executeTakeFirst()) !== undefined;
        const refusal = await outdated(db);
        if (refusal !== undefined) {
          await free(db, lease);
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
    release: lease => write(db => free(db, lease)),
    holder: name => inForce(reader, tenure).where('name', '=', name).executeTakeFirst(),
  };
}
