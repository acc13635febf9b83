import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage, Transaction, UserRow } from '../../storage/storage.ts';
import type { Audits } from '../audits.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { parseEmail } from '../members.ts';
import type { Accounts, Identified } from './accounts.ts';
import type { Claims } from './provider.ts';
import { type RefusalReason, SignInRefused } from './refusal.ts';

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction' | 'users' | 'organizations'>;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Of each organization. */
  readonly auditOf: Audits['of'];
  readonly logger: Logger;
}

type Readers = Pick<Transaction, 'userByIdentity' | 'userByName' | 'membershipsOf'>;

/**
 * Members of organizations. Somebody is found by the identity that was bound before, else by a verified address that is
 * a member's, whose user is then bound to that identity for good. Nobody is added, and no claim gives a role.
 */
export function createMemberAccounts({ storage, feed, clock, auditOf, logger }: Dependencies): Accounts {
  const readers: Readers = {
    userByIdentity: storage.users.byIdentity,
    userByName: storage.users.byName,
    membershipsOf: storage.organizations.membershipsOf,
  };

  async function found(read: Readers, told: Identified): Promise<UserRow> {
    const { refused, user } = await memberIn(read, told);
    if (refused === undefined) return user;
    const { issuer, subject, address, requestId } = told;
    logger.warn(
      { issuer, subject, reason: refused },
      'sign-in refused of somebody whom the identity provider has sent',
    );
    const target = user?.id ?? '';
    const entry = { actor: '', action: 'auth.sso', target, reason: refused, address, requestId };
    for (const { organization } of await read.membershipsOf(target)) auditOf(organization).refused(entry);
    throw new SignInRefused(refused);
  }

  /** Answers the user before and after; both are the same when another sign-in was faster. */
  const bind = (told: Identified): Promise<{ readonly before: UserRow; readonly after: UserRow }> =>
    storage.transaction(async tx => {
      const version = await tx.numberUserChange();
      const before = await found(tx, told);
      if (isSettled(before, told)) return { before, after: before };
      const holder = await tx.userByIdentity(told.issuer, told.subject);
      if (holder !== undefined && holder.id !== before.id)
        await tx.updateUser({ ...holder, issuer: null, subject: null });
      const after = vouchedFor(before, told, { version, now: clock.now() });
      await tx.updateUser(after);
      return { before, after };
    });

  async function recorded({ id, username }: UserRow, told: Identified): Promise<void> {
    const { issuer, subject, address, requestId } = told;
    const entry = { actor: username, action: 'members.bind', target: id, address, requestId };
    for (const { organization } of await storage.organizations.membershipsOf(id))
      await auditOf(organization).record({ ...entry, reason: `${issuer} ${subject}` });
    logger.info({ user: username, issuer, subject }, 'member bound to an identity of the provider');
  }

  return {
    wanted: () => ['email', 'email_verified'],

    async isAdmin({ id }) {
      const memberships = await storage.organizations.membershipsOf(id);
      return memberships.some(({ role }) => role !== 'user');
    },

    async admit(told) {
      const member = await found(readers, told);
      if (isSettled(member, told)) return member;
      const { before, after } = await bind(told);
      if (after.version !== before.version) await feed.takenOver();
      if (after !== before) await recorded(after, told);
      return after;
    },
  };
}

type Finding =
  | { readonly refused?: never; readonly user: UserRow }
  /** `user` is the member whom it concerns. */
  | { readonly refused: RefusalReason; readonly user?: UserRow };

/** The member, or why there is none to let in. */
async function memberIn(
  { userByIdentity, userByName, membershipsOf }: Readers,
  { issuer, subject, claims }: Identified,
): Promise<Finding> {
  const isMember = async ({ id }: UserRow) => (await membershipsOf(id)).length > 0;
  const open = (user: UserRow): Finding =>
    user.disabled === 1 ? { refused: 'not-allowed', user } : { user };
  const bound = await userByIdentity(issuer, subject);
  if (bound !== undefined && (await isMember(bound))) return open(bound);
  const email = verifiedEmail(claims);
  if (email === undefined && bound === undefined) return { refused: 'unverified' };
  const name = email === undefined ? undefined : memberName(email);
  const user = name === undefined ? undefined : await userByName(name);
  if (user === undefined || !(await isMember(user))) return { refused: 'no-member' };
  if (user.issuer === issuer && user.subject !== subject) return { refused: 'other-account', user };
  return open(user);
}

/** Whether nothing is left to write at a sign-in. */
const isSettled = (user: UserRow, { issuer, subject }: Identified): boolean =>
  user.issuer === issuer && user.subject === subject && user.force_password_change === 0;

/**
 * The user bound to the identity. Nobody who comes by the provider is asked for another password, so one that somebody
 * else has chosen is over, with the tokens it has given.
 */
function vouchedFor(
  user: UserRow,
  { issuer, subject }: Identified,
  { version, now }: { readonly version: number; readonly now: number },
): UserRow {
  const bound = { ...user, issuer, subject, updated_at: now };
  if (user.force_password_change === 0) return bound;
  return { ...bound, version, password: '', force_password_change: 0 };
}

/** Some providers write every claim as a text. */
const verifiedEmail = ({ email, email_verified: verified }: Claims): string | undefined =>
  typeof email === 'string' && (verified === true || verified === 'true') ? email : undefined;

/** The name of the user with that address, if one can have it. */
function memberName(email: string): string | undefined {
  // They would be spelled as an address that nobody has verified.
  if ([...email].some(becomesAscii)) return undefined;
  try {
    return parseEmail(email);
  } catch {
    return undefined;
  }
}

/** As the Kelvin sign, which is a k in lower case. */
const becomesAscii = (letter: string): boolean =>
  letter > '\x7f' && letter.normalize('NFC').toLowerCase() <= '\x7f';
