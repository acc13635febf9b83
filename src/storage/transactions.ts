import type { Kysely } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Mutex } from '../lib/mutex.ts';
import type { Backend } from './backend.ts';
import { credentialTransaction } from './credentials.ts';
import { putDocument } from './documents.ts';
import { coalesce, MANY, type OfInstallation } from './facts.ts';
import { ingestTokensIn } from './ingest-tokens.ts';
import { readInstanceValue, readKeys, writeInstanceValue } from './instance.ts';
import { dropTarget, keepTarget } from './kept-targets.ts';
import { assertInForce } from './leases.ts';
import { addMessage, removeMessage } from './messages.ts';
import { minutesIn } from './minutes.ts';
import { organizationTransaction } from './organizations.ts';
import { requeue } from './requeue.ts';
import { removeOld } from './retention.ts';
import { countSecrets, putSecret, removeSecret } from './secrets.ts';
import { addSession, removeEndedSessions, removeSession, touchSession, useState } from './sessions.ts';
import type { Fact, Lease, Storage, Transaction, WorkspaceTransaction } from './storage.ts';
import type { Database } from './tables.ts';
import {
  addUser,
  countEnabledAdmins,
  numberUserChange,
  removeUser,
  revokeToken,
  updateUser,
  userStore,
} from './users.ts';
import { addVersion, lastVersion } from './versions.ts';

/** All commits wait while a transaction is open, so one that hangs is ended. */
const MAX_OPEN_MS = 30_000;
const MAX_WAITING = 1_000;

/** Hands a fact to whoever tells the facts of a transaction. */
type Note = (fact: Fact) => void;

function transactionIn(db: Kysely<Database>, workspace: string, note: Note): WorkspaceTransaction {
  /** Notes the fact of what is written, if that goes well. */
  function noted<Result>(noun: Fact['noun'], id: string, written: Promise<Result>): Promise<Result> {
    note({ workspace, noun, id });
    return written;
  }
  return {
    putSecret: row => noted('secrets', row.name, putSecret(db, workspace, row)),
    removeSecret: name => noted('secrets', name, removeSecret(db, workspace, name)),
    countSecrets: () => countSecrets(db, workspace),
    ...ingestTokensIn(db, workspace, noted),
    ...minutesIn(db, workspace),
    putDocument: row => noted('documents', String(row.revision), putDocument(db, workspace, row)),
    lastVersion: () => lastVersion(db, workspace),
    addVersion: row => noted('versions', row.id, addVersion(db, workspace, row)),
    async requeue(filter, range) {
      const requeued = await requeue(db, workspace, filter, range);
      for (const { id } of requeued.rows) note({ workspace, noun: 'deliveries', id });
      return requeued;
    },
    keepTarget: row => keepTarget(db, workspace, row),
    dropTarget: id => dropTarget(db, workspace, id),
    addMessage: row => noted('messages', row.id, addMessage(db, workspace, row)),
    removeMessage: id => noted('messages', id, removeMessage(db, workspace, id)),
    removeOld: (kind, before, ids) => removeOld(db, workspace, { kind, before, ids }),
  };
}

function transactionOn(db: Kysely<Database>, note: Note): Transaction {
  const ofInstallation: OfInstallation = (noun, id, written) => {
    note({ workspace: '*', noun, id });
    return written;
  };
  return {
    ...organizationTransaction(db, ofInstallation),
    ...credentialTransaction(db, ofInstallation),
    in: workspace => transactionIn(db, workspace, note),
    countUsers: userStore(db).count,
    numberUserChange: () => numberUserChange(db),
    userById: userStore(db).byId,
    userByName: userStore(db).byName,
    userByIdentity: userStore(db).byIdentity,
    countEnabledAdmins: () => countEnabledAdmins(db),
    addUser: user => ofInstallation('users', user.id, addUser(db, user)),
    updateUser: user => ofInstallation('users', user.id, updateUser(db, user)),
    removeUser: id => ofInstallation('users', id, removeUser(db, id)),
    revokeToken: (token, now) => ofInstallation('tokens', token.id, revokeToken(db, token, now)),
    async addSession(session, most) {
      for (const id of await addSession(db, session, most)) note({ workspace: '*', noun: 'sessions', id });
    },
    touchSession: (id, seenAt) => touchSession(db, id, seenAt),
    removeSession: id => ofInstallation('sessions', id, removeSession(db, id)),
    removeEndedSessions: (now, idleBefore) =>
      ofInstallation('sessions', MANY, removeEndedSessions(db, now, idleBefore)),
    useState: (id, endsAt) => useState(db, id, endsAt),
    async addKey(key) {
      await db.insertInto('keys').values(key).execute();
    },
    async turnKey(kid, change) {
      await db.updateTable('keys').set(change).where('kid', '=', kid).execute();
    },
    async removeKey(kid) {
      await db.deleteFrom('keys').where('kid', '=', kid).execute();
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
 * or another transaction: both wait for its own end. What it has written is seen by others once it has ended, and
 * published then.
 */
export function runTransactions(
  mutex: Mutex,
  { writer, tenure, notify }: Pick<Backend, 'writer' | 'tenure' | 'notify'>,
  { clock, publish }: { readonly clock: Clock; readonly publish: (fact: Fact) => void },
): Storage['transaction'] {
  let waiting = 0;

  async function run<Result>(work: (tx: Transaction) => Promise<Result>, lease?: Lease): Promise<Result> {
    const noted: Fact[] = [];
    // Kysely refuses every query on it once it is rolled back, so work that hangs cannot write later.
    const open = await writer.startTransaction().execute();
    try {
      if (lease !== undefined) await assertInForce(open, tenure, lease);
      const result = await within(clock, work(transactionOn(open, fact => noted.push(fact))));
      const facts = coalesce(noted);
      await notify(open, facts);
      await open.commit().execute();
      facts.forEach(publish);
      return result;
    } catch (error) {
      await open.rollback().execute();
      throw error;
    }
  }

  return async (work, lease) => {
    if (waiting >= MAX_WAITING) {
      throw new AppError('unavailable', `${waiting} changes wait for the database already; try again`, {
        retryAfterSeconds: 5,
      });
    }
    waiting += 1;
    try {
      return await mutex.run(() => run(work, lease));
    } finally {
      waiting -= 1;
    }
  };
}
