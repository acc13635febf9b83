import type { Kysely } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Mutex } from '../lib/mutex.ts';
import type { Backend } from './backend.ts';
import type { Storage, Transaction, WorkspaceTransaction } from './storage.ts';
import { addVersion, lastVersion, putDocument } from './stores/configuration.ts';
import { credentialTransaction } from './stores/credentials.ts';
import { requeue } from './stores/deliveries.ts';
import { ingestTokenTransaction } from './stores/ingest-tokens.ts';
import { readInstanceValue, readKeys, writeInstanceValue } from './stores/instance.ts';
import { assertHeld, type Lease } from './stores/leases.ts';
import { addMessage, removeMessage } from './stores/messages.ts';
import { minuteTransaction } from './stores/minutes.ts';
import { organizationTransaction } from './stores/organizations.ts';
import { deleteRemovedTarget, putRemovedTarget } from './stores/removed-targets.ts';
import { removeExpired } from './stores/retention.ts';
import { countSecrets, putSecret, removeSecret } from './stores/secrets.ts';
import {
  addSession,
  consumeLoginState,
  removeExpiredSessions,
  removeSession,
  touchSession,
} from './stores/sessions.ts';
import {
  addUser,
  countEnabledAdmins,
  incrementUserChanges,
  removeUser,
  revokeToken,
  updateUser,
  userStore,
} from './stores/users.ts';
import type { Database } from './tables.ts';
import { type CommittedChange, coalesceChanges, MANY, type RecordChange } from './types.ts';

/** All commits wait while a transaction is open, so one that hangs is ended. */
const MAX_OPEN_MS = 30_000;
const MAX_WAITING = 1_000;

/** Hands a fact to whoever tells the facts of a transaction. */
type OnChange = (change: CommittedChange) => void;

function workspaceTransaction(
  db: Kysely<Database>,
  workspace: string,
  onChange: OnChange,
): WorkspaceTransaction {
  /** Notes the fact of what is written, if that goes well. */
  function recorded<Result>(
    resource: CommittedChange['resource'],
    id: string,
    written: Promise<Result>,
  ): Promise<Result> {
    onChange({ workspace, resource, id });
    return written;
  }
  return {
    putSecret: row => recorded('secrets', row.name, putSecret(db, workspace, row)),
    removeSecret: name => recorded('secrets', name, removeSecret(db, workspace, name)),
    countSecrets: () => countSecrets(db, workspace),
    ...ingestTokenTransaction(db, workspace, recorded),
    ...minuteTransaction(db, workspace),
    putDocument: row => recorded('documents', String(row.revision), putDocument(db, workspace, row)),
    lastVersion: () => lastVersion(db, workspace),
    addVersion: row => recorded('versions', row.id, addVersion(db, workspace, row)),
    async requeue(filter, range) {
      const requeued = await requeue(db, workspace, filter, range);
      for (const { id } of requeued.rows) onChange({ workspace, resource: 'deliveries', id });
      return requeued;
    },
    putRemovedTarget: row => putRemovedTarget(db, workspace, row),
    deleteRemovedTarget: id => deleteRemovedTarget(db, workspace, id),
    addMessage: row => recorded('messages', row.id, addMessage(db, workspace, row)),
    removeMessage: id => recorded('messages', id, removeMessage(db, workspace, id)),
    removeExpired: (kind, before, ids) => removeExpired(db, workspace, { kind, before, ids }),
  };
}

function createTransaction(db: Kysely<Database>, onChange: OnChange): Transaction {
  const recordChange: RecordChange = (resource, id, written) => {
    onChange({ workspace: '*', resource, id });
    return written;
  };
  return {
    ...organizationTransaction(db, recordChange),
    ...credentialTransaction(db, recordChange),
    in: workspace => workspaceTransaction(db, workspace, onChange),
    countUsers: userStore(db).count,
    incrementUserChanges: () => incrementUserChanges(db),
    userById: userStore(db).byId,
    userByName: userStore(db).byName,
    userByIdentity: userStore(db).byIdentity,
    countEnabledAdmins: () => countEnabledAdmins(db),
    addUser: user => recordChange('users', user.id, addUser(db, user)),
    updateUser: user => recordChange('users', user.id, updateUser(db, user)),
    removeUser: id => recordChange('users', id, removeUser(db, id)),
    revokeToken: (token, now) => recordChange('tokens', token.id, revokeToken(db, token, now)),
    async addSession(session, most) {
      for (const id of await addSession(db, session, most))
        onChange({ workspace: '*', resource: 'sessions', id });
    },
    touchSession: (id, seenAt) => touchSession(db, id, seenAt),
    removeSession: id => recordChange('sessions', id, removeSession(db, id)),
    removeExpiredSessions: (now, idleBefore) =>
      recordChange('sessions', MANY, removeExpiredSessions(db, now, idleBefore)),
    consumeLoginState: (id, endsAt) => consumeLoginState(db, id, endsAt),
    async addKey(key) {
      await db.insertInto('keys').values(key).execute();
    },
    async updateKey(kid, change) {
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
function withTimeout<Result>(clock: Clock, work: Promise<Result>): Promise<Result> {
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
  { writer, leaseClock, notify }: Pick<Backend, 'writer' | 'leaseClock' | 'notify'>,
  { clock, publish }: { readonly clock: Clock; readonly publish: (change: CommittedChange) => void },
): Storage['transaction'] {
  let waiting = 0;

  async function run<Result>(work: (tx: Transaction) => Promise<Result>, lease?: Lease): Promise<Result> {
    const recorded: CommittedChange[] = [];
    // Kysely refuses every query on it once it is rolled back, so work that hangs cannot write later.
    const open = await writer.startTransaction().execute();
    try {
      if (lease !== undefined) await assertHeld(open, leaseClock, lease);
      const result = await withTimeout(clock, work(createTransaction(open, change => recorded.push(change))));
      const changes = coalesceChanges(recorded);
      await notify(open, changes);
      await open.commit().execute();
      changes.forEach(publish);
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
