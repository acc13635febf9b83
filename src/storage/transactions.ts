import type { Kysely } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { readInstanceValue, readKeys, writeInstanceValue } from './instance.ts';
import { addMessage, removeMessage } from './messages.ts';
import { removeOld } from './retention.ts';
import { countSecrets, putSecret, removeSecret } from './secrets.ts';
import type { Storage, Transaction, WorkspaceTransaction } from './storage.ts';
import type { Database } from './tables.ts';
import type { Turns } from './turns.ts';
import { addUser, userStore } from './users.ts';
import { addVersion } from './versions.ts';

/** All commits wait while a transaction is open, so one that hangs is ended. */
const MAX_OPEN_MS = 30_000;
const MAX_WAITING = 1_000;

function transactionIn(db: Kysely<Database>, workspace: string): WorkspaceTransaction {
  return {
    putSecret: row => putSecret(db, workspace, row),
    removeSecret: name => removeSecret(db, workspace, name),
    countSecrets: () => countSecrets(db, workspace),
    addVersion: row => addVersion(db, workspace, row),
    addMessage: row => addMessage(db, workspace, row),
    removeMessage: id => removeMessage(db, workspace, id),
    removeOld: (kind, before, ids) => removeOld(db, workspace, { kind, before, ids }),
  };
}

function transactionOn(db: Kysely<Database>): Transaction {
  return {
    in: workspace => transactionIn(db, workspace),
    countUsers: userStore(db).count,
    addUser: user => addUser(db, user),
    async addKey(key) {
      await db.insertInto('keys').values(key).execute();
    },
    keys: () => readKeys(db),
    instanceValue: name => readInstanceValue(db, name),
    setInstanceValue: (name, value) => writeInstanceValue(db, name, value),
  };
}

/** Settles as `work` does, or rejects when that takes too long. */
function within<Result>(clock: Clock, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(MAX_OPEN_MS, () =>
      reject(
        new AppError(
          'unavailable',
          `a change took longer than ${MAX_OPEN_MS / 1000} s and was rolled back; try again`,
          {
            retryAfterSeconds: 5,
          },
        ),
      ),
    );
    work.then(resolve, reject).finally(cancel);
  });
}

/**
 * Runs administration on the writer, one transaction at a time and never amid a batch. Work must not wait for a commit
 * or another transaction: both wait for its own end. What it has written is seen by others once it has ended.
 */
export function runTransactions(
  turns: Turns,
  writer: Kysely<Database>,
  clock: Clock,
): Storage['transaction'] {
  let waiting = 0;

  async function run<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    // Kysely refuses every query on it once it is rolled back, so work that hangs cannot write later.
    const open = await writer.startTransaction().execute();
    try {
      const result = await within(clock, work(transactionOn(open)));
      await open.commit().execute();
      return result;
    } catch (error) {
      await open.rollback().execute();
      throw error;
    }
  }

  return async work => {
    if (waiting >= MAX_WAITING) {
      throw new AppError('unavailable', `${waiting} changes wait for the database already; try again`, {
        retryAfterSeconds: 5,
      });
    }
    waiting += 1;
    try {
      return await turns.take(() => run(work));
    } finally {
      waiting -= 1;
    }
  };
}
