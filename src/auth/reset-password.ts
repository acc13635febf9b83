import type { Clock } from '../lib/clock.ts';
import { notFound } from '../lib/errors.ts';
import type { Storage } from '../storage/storage.ts';
import type { Audit } from './audit.ts';
import { assertGoodPassword } from './password-rules.ts';
import { createPasswords } from './passwords.ts';
import { assertHasPassword, changeUser, findUser } from './user-changes.ts';
import { factsOf, type UserFacts } from './users.ts';

interface Dependencies {
  readonly storage: Pick<Storage, 'users' | 'transaction'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whoever asks, as the audit names them. */
  readonly actor: string;
}

/**
 * Gives a user another password, to be changed at the next login, without asking who calls: for whoever may write the
 * store itself. Throws `not-found`, `conflict` for a user of no password here, `invalid-request` for one that is not
 * allowed.
 */
export async function resetPassword(
  { storage, audit, clock, actor }: Dependencies,
  reference: string,
  password: string,
): Promise<UserFacts> {
  const { users } = storage;
  const user = await findUser({ userById: users.byId, userByName: users.byName }, reference);
  if (user === undefined) throw notFound('user', reference);
  assertHasPassword(user);
  assertGoodPassword(password, user.username);
  const hash = await createPasswords().hash(password);
  const { after } = await storage.transaction(tx =>
    changeUser(tx, user.id, { now: clock.now(), password: { hash, isInitial: true } }),
  );
  await audit.record({ actor, action: 'users.resetPassword', target: user.id, address: 'local' });
  return factsOf(after);
}
