import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Transaction, UserRow } from '../storage/storage.ts';
import { addNewUser, changeUser } from './user-changes.ts';

/** Somebody who is to belong to an organization. */
interface Joining {
  readonly user: UserRow;
  /**
   * Whether the one-time password of the call is now their `first` or `another`, which has ended their tokens, or they
   * have `kept` the one of an organization, or have `none` because an identity provider says who they are.
   */
  readonly password: 'first' | 'another' | 'kept' | 'none';
}

interface Joiner {
  readonly username: string;
  /** Of the one-time password of the call. */
  readonly hash: string;
  /** Whether it takes the place of one that others may know, of another organization. */
  readonly replaces?: boolean;
}

/**
 * The user of a name, made where there is none. Whoever belongs to no organization is given the password: whoever had
 * added them before has seen the one of before, and might still sign in with it.
 */
export async function joining(
  tx: Transaction,
  { clock, ids }: { readonly clock: Pick<Clock, 'now'>; readonly ids: Ids },
  { username, hash, replaces = false }: Joiner,
): Promise<Joining> {
  const known = await tx.userByName(username);
  if (known === undefined) {
    const user = await addNewUser(tx, { clock, ids }, personOf(username, hash));
    return { user, password: 'first' };
  }
  const belongs = (await tx.membershipsOf(known.id)).length > 0;
  if (known.password === '' && (belongs || known.issuer !== null)) return { user: known, password: 'none' };
  if (belongs && !replaces) return { user: known, password: 'kept' };
  const password = { hash, isInitial: true };
  const { after } = await changeUser(tx, known.id, { now: clock.now(), password });
  return { user: after, password: 'another' };
}

/** Somebody who must choose a password of their own at the first sign-in. */
const personOf = (username: string, hash: string) =>
  ({ username, email: username, hash, password: '', role: 'user', disabled: false, kind: 'person' }) as const;
