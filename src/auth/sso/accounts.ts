import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage, Transaction, UserRow } from '../../storage/storage.ts';
import type { Audit } from '../audit.ts';
import type { ChangeFeed } from '../change-feed.ts';
import type { Role } from '../permissions.ts';
import { newUserRow, parseUsername, roleOf } from '../users.ts';
import type { Claims } from './provider.ts';
import { SignInRefused } from './refusal.ts';
import { decideRole, groupsIn } from './roles.ts';
import type { OpenidSettings } from './settings.ts';

/** Somebody as the provider knows them. */
export interface Identified {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
  /** Of the browser that they came with. */
  readonly address: string;
  readonly requestId: string;
}

/** Who of this server somebody of the provider is. */
export interface Accounts {
  /** The claims by which that is decided. */
  wanted(settings: OpenidSettings): readonly string[];
  /** Throws `SignInRefused` for whoever may not come in. */
  admit(told: Identified, settings: OpenidSettings): Promise<UserRow>;
  /** Whether passwords may end once this user has come in by the provider. */
  isAdmin(user: UserRow): Promise<boolean>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction' | 'users'>;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
}

/**
 * Users are made at the first sign-in, with the role of their groups. A name that a local user has is never theirs.
 */
export function createAccounts({ storage, feed, clock, ids, audit, logger }: Dependencies): Accounts {
  function roleFor(told: Identified, present: Role | undefined, settings: OpenidSettings): Role {
    const claim = groupsIn(told.claims[settings.groupField]);
    const decision = decideRole(claim, present, settings);
    const fields = { subject: told.subject, claim: settings.groupField };
    if (claim === undefined) logger.warn(fields, 'the identity provider told no groups of a user');
    if (decision.kind !== 'refused') return decision.role;
    logger.warn(fields, 'sign-in refused, as no group of the user has a role');
    throw new SignInRefused('not-allowed');
  }

  async function add(told: Identified, settings: OpenidSettings): Promise<UserRow> {
    return storage.transaction(async tx => {
      const version = await tx.numberUserChange();
      // Of two first sign-ins at the same moment one makes the user, and the other finds it then.
      const known = await tx.userByIdentity(told.issuer, told.subject);
      if (known !== undefined) return known;
      const user = newUserRow({
        id: ids.next(),
        username: await freeName(tx, told),
        password: '',
        role: roleFor(told, undefined, settings),
        created_at: clock.now(),
        version,
        issuer: told.issuer,
        subject: told.subject,
      });
      await tx.addUser(user);
      logger.info({ user: user.username, role: user.role }, 'user of the identity provider added');
      return user;
    });
  }

  async function setRole(id: string, role: Role): Promise<UserRow | undefined> {
    return storage.transaction(async tx => {
      const version = await tx.numberUserChange();
      const user = await tx.userById(id);
      if (user === undefined || user.role === role) return user;
      if (user.role === 'admin' && (await tx.countEnabledAdmins()) < 2) {
        logger.warn(
          { user: user.username, role },
          'the last admin stays one, whatever the identity provider says',
        );
        return user;
      }
      const after = { ...user, role, version, updated_at: clock.now() };
      await tx.updateUser(after);
      logger.info({ user: user.username, from: user.role, role }, 'role set by the identity provider');
      return after;
    });
  }

  async function recorded(action: 'users.create' | 'users.update', user: UserRow): Promise<UserRow> {
    const entry = { actor: 'identity provider', action, target: user.id, address: 'local' };
    await audit.record({ ...entry, reason: `role ${user.role}` });
    return user;
  }

  return {
    wanted: ({ groupField }) => [groupField, 'preferred_username', 'email'],
    isAdmin: async ({ role }) => role === 'admin',

    async admit(told, settings) {
      const user = await storage.users.byIdentity(told.issuer, told.subject);
      if (user === undefined) return recorded('users.create', await add(told, settings));
      if (user.disabled === 1) throw new SignInRefused('not-allowed');
      const role = roleFor(told, roleOf(user), settings);
      if (role === user.role) return user;
      const after = await setRole(user.id, role);
      if (after === undefined) throw new SignInRefused('not-allowed');
      if (after.version === user.version) return after;
      await feed.takenOver();
      return recorded('users.update', after);
    },
  };
}

/** What the provider calls them, unless somebody else is called so here. */
async function freeName(tx: Transaction, { issuer, subject, claims }: Identified): Promise<string> {
  const { preferred_username: preferred, email } = claims;
  const names = [preferred, email, subject].flatMap(spelled);
  for (const name of names) if ((await tx.userByName(name)) === undefined) return name;
  const mark = createHash('sha256').update(`${issuer}|${subject}`).digest('hex').slice(0, 8);
  return `${names[0] ?? 'user'}-${mark}`;
}

function spelled(name: unknown): string[] {
  if (typeof name !== 'string') return [];
  try {
    const username = parseUsername(name);
    return username === '' ? [] : [username];
  } catch {
    return [];
  }
}
