import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { Audit, OrganizationAudits } from '../audit.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { parseEmail } from '../organizations/members.ts';
import { ROLES, type Role } from '../permissions.ts';
import type { OpenidSettings } from '../settings.ts';
import { newUserRow, parseUsername, roleOf } from '../users/user.ts';
import { claimShape, readGroups } from './groups.ts';
import type { ProviderClaims } from './provider.ts';
import { type RefusalReason, SignInRefused } from './refusal.ts';

/** A person as the provider knows them. */
interface ProviderIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: ProviderClaims;
  /** Address of the browser. */
  readonly address: string;
  readonly requestId: string;
}

/** Finds the user of an identity of the provider. */
export interface AccountLinking {
  /** The claims that `resolveUser` needs. */
  requiredClaims(settings: OpenidSettings): readonly string[];
  /** Throws `SignInRefused` for an identity that is not allowed in. */
  resolveUser(identity: ProviderIdentity, settings: OpenidSettings): Promise<UserRow>;
  /** True for a user whose sign-in by the provider allows to switch off passwords. */
  isAdmin(user: UserRow): Promise<boolean>;
}

interface ProvisioningDependencies {
  readonly storage: Pick<Storage, 'transaction' | 'users'>;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
}

/**
 * Provisions users at their first sign-in, with the role of their groups. They never get the name of a local user.
 */
export function createUserProvisioning({
  storage,
  feed,
  clock,
  ids,
  audit,
  logger,
}: ProvisioningDependencies): AccountLinking {
  async function provision(identity: ProviderIdentity, settings: OpenidSettings): Promise<UserRow> {
    return storage.transaction(async tx => {
      const version = await tx.incrementUserChanges();
      // Of two first sign-ins at the same moment one adds the user, and the other finds it.
      const known = await tx.userByIdentity(identity.issuer, identity.subject);
      if (known !== undefined) return known;
      const user = newUserRow({
        id: ids.next(),
        username: await availableUsername(tx, identity),
        password: '',
        role: roleFor(identity, undefined, { settings, logger }),
        created_at: clock.now(),
        version,
        issuer: identity.issuer,
        subject: identity.subject,
      });
      await tx.addUser(user);
      logger.info({ user: user.username, role: user.role }, 'user of the identity provider added');
      return user;
    });
  }

  async function setRole(id: string, role: Role): Promise<UserRow | undefined> {
    return storage.transaction(async tx => {
      const version = await tx.incrementUserChanges();
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

  async function audited(action: 'users.create' | 'users.update', user: UserRow): Promise<UserRow> {
    const entry = { actor: 'identity provider', action, target: user.id, address: 'local' };
    await audit.record({ ...entry, reason: `role ${user.role}` });
    return user;
  }

  return {
    requiredClaims: ({ groupField }) => [groupField, 'preferred_username', 'email'],
    isAdmin: async ({ role }) => role === 'admin',

    async resolveUser(identity, settings) {
      const user = await storage.users.byIdentity(identity.issuer, identity.subject);
      if (user === undefined) return audited('users.create', await provision(identity, settings));
      if (user.disabled === 1) throw new SignInRefused('not-allowed');
      const role = roleFor(identity, roleOf(user), { settings, logger });
      if (role === user.role) return user;
      const after = await setRole(user.id, role);
      if (after === undefined) throw new SignInRefused('not-allowed');
      if (after.version === user.version) return after;
      await feed.waitForPropagation();
      return audited('users.update', after);
    },
  };
}

const MOST_NAMES = 10;
const MOST_CLAIMS = 30;
const LONGEST_NAME = 100;

/** Throws `SignInRefused` for a user without a role, and when the groups cannot be read: who is an admin is unknown. */
function roleFor(
  identity: ProviderIdentity,
  present: Role | undefined,
  { settings, logger }: { readonly settings: OpenidSettings; readonly logger: Logger },
): Role {
  const claim = readGroups(identity.claims, settings.groupField);
  const fields = { subject: identity.subject, claim: settings.groupField };
  if (claim.kind === 'unreadable') {
    logger.warn({ ...fields, found: claim.found }, 'sign-in refused, as the claim of groups cannot be read');
    throw new SignInRefused('groups-unreadable');
  }
  if (claim.kind === 'absent')
    logger.warn(
      fields,
      claim.isElsewhere
        ? 'the identity provider sent no groups of a user, only where they are (_claim_names)'
        : 'the identity provider sent no groups of a user',
    );
  const names = claim.kind === 'groups' ? claim.names : undefined;
  const fitsNothing = !names?.some(name => Object.hasOwn(settings.groups.mapping, name));
  if (names !== undefined && names.length > 0 && fitsNothing)
    logger.warn(
      {
        ...fields,
        count: names.length,
        groups: names.slice(0, MOST_NAMES).map(name => name.slice(0, LONGEST_NAME)),
      },
      'no group of a user is in auth.openid.groups.mapping',
    );
  const decision = decideRole(names, present, settings);
  if (decision.kind !== 'refused') return decision.role;
  logger.warn(fields, 'sign-in refused, as no group of the user has a role');
  throw new SignInRefused('not-allowed');
}

/** The first name of the provider's that no other user has, else one with a digest of the identity. */
async function availableUsername(
  tx: Transaction,
  { issuer, subject, claims }: ProviderIdentity,
): Promise<string> {
  const { preferred_username: preferred, email } = claims;
  const names = [preferred, email, subject].flatMap(usernameCandidates);
  for (const name of names) if ((await tx.userByName(name)) === undefined) return name;
  const mark = createHash('sha256').update(`${issuer}|${subject}`).digest('hex').slice(0, 8);
  return `${names[0] ?? 'user'}-${mark}`;
}

function usernameCandidates(name: unknown): string[] {
  if (typeof name !== 'string') return [];
  try {
    const username = parseUsername(name);
    return username === '' ? [] : [username];
  } catch {
    return [];
  }
}

interface LinkingDependencies {
  readonly storage: Pick<Storage, 'transaction' | 'users' | 'organizations'>;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly auditOf: OrganizationAudits['forOrganization'];
  readonly logger: Logger;
}

type UserReaders = Pick<Transaction, 'accountsOf' | 'accountsNamed'>;

/**
 * Links identities to the accounts of members, of which a person has one in each organization. They are found by the
 * identity linked before, and by a verified address, whose accounts are then linked to that identity for good: this
 * alone makes them those of one person. No account is added, and no claim gives a role.
 */
export function createMemberLinking({
  storage,
  feed,
  clock,
  auditOf,
  logger,
}: LinkingDependencies): AccountLinking {
  const { accountsOf, accountsNamed } = storage.users;

  async function requireAccounts(read: UserReaders, identity: ProviderIdentity): Promise<readonly UserRow[]> {
    const { refused, accounts } = await lookUpAccounts(read, identity);
    if (refused === undefined) return accounts;
    const { issuer, subject, address, requestId } = identity;
    logger.warn(
      { issuer, subject, reason: refused, ...(refused === 'unverified' && whatCame(identity.claims)) },
      'sign-in refused of somebody whom the identity provider has sent',
    );
    const entry = { actor: '', action: 'auth.sso', reason: refused, address, requestId };
    for (const { organization, id } of accounts) auditOf(organization).refused({ ...entry, target: id });
    throw new SignInRefused(refused);
  }

  /** Returns the accounts after it, and those that were linked; none when another sign-in was faster. */
  const linkIdentity = (identity: ProviderIdentity) =>
    storage.transaction(async tx => {
      const version = await tx.incrementUserChanges();
      const found = await requireAccounts(tx, identity);
      const linked: UserRow[] = [];
      for (const account of found.filter(one => !isLinked(one, identity))) {
        const after = linkedTo(account, identity, { version, now: clock.now() });
        await tx.updateUser(after);
        linked.push(after);
      }
      const accounts = found.map(one => linked.find(({ id }) => id === one.id) ?? one);
      return { accounts, linked, endsTokens: linked.some(one => one.version === version) };
    });

  async function auditLink(
    { id, username, organization }: UserRow,
    identity: ProviderIdentity,
  ): Promise<void> {
    const { issuer, subject, address, requestId } = identity;
    const entry = { actor: username, action: 'members.bind', target: id, address, requestId };
    await auditOf(organization).record({ ...entry, reason: `${issuer} ${subject}` });
    logger.info({ user: username, issuer, subject }, 'member bound to an identity of the provider');
  }

  return {
    requiredClaims: () => ['email', 'email_verified'],

    async isAdmin({ issuer, subject }) {
      if (issuer === null || subject === null) return false;
      const accounts = await accountsOf(issuer, subject);
      const memberships = await Promise.all(
        accounts.map(({ id }) => storage.organizations.membershipsOf(id)),
      );
      return memberships.flat().some(({ role }) => role !== 'user');
    },

    async resolveUser(identity) {
      const known = await requireAccounts({ accountsOf, accountsNamed }, identity);
      if (known.every(account => isLinked(account, identity))) return signedInAs(known);
      const { accounts, linked, endsTokens } = await linkIdentity(identity);
      if (endsTokens) await feed.waitForPropagation();
      for (const account of linked) await auditLink(account, identity);
      return signedInAs(accounts);
    },
  };
}

/** `accounts` are those of the person, or when the person is refused those concerned. */
interface AccountLookup {
  readonly refused?: RefusalReason;
  readonly accounts: readonly UserRow[];
}

/** The account of a session at the login service; at workspaces of other organizations it stands for those there. */
function signedInAs([first]: readonly UserRow[]): UserRow {
  if (first === undefined) throw new SignInRefused('no-member');
  return first;
}

/** Finds the accounts of the person, or the reason of the refusal. Disabled ones are neither linked nor signed in. */
async function lookUpAccounts(
  { accountsOf, accountsNamed }: UserReaders,
  { issuer, subject, claims }: ProviderIdentity,
): Promise<AccountLookup> {
  const bound = await accountsOf(issuer, subject);
  const email = verifiedEmail(claims);
  if (email === undefined && bound.length === 0) return { refused: 'unverified', accounts: [] };
  const name = email === undefined ? undefined : memberName(email);
  const named = name === undefined ? [] : await accountsNamed(name);
  const others = named.filter(one => one.issuer === issuer && one.subject !== subject);
  const free = named.filter(
    one => one.issuer !== issuer && !bound.some(({ organization }) => organization === one.organization),
  );
  const accounts = [...bound, ...free];
  const enabled = accounts.filter(({ disabled }) => disabled === 0);
  if (enabled.length > 0) return { accounts: enabled };
  if (accounts.length > 0) return { refused: 'not-allowed', accounts };
  return others.length > 0
    ? { refused: 'other-account', accounts: others }
    : { refused: 'no-member', accounts: [] };
}

/** True when a sign-in has nothing left to write. */
const isLinked = (user: UserRow, { issuer, subject }: ProviderIdentity): boolean =>
  user.issuer === issuer &&
  user.subject === subject &&
  user.password === '' &&
  user.force_password_change === 0;

/**
 * The user linked to the identity. Whoever chose a password for the account before its owner came by the provider, be
 * it the one who handed out the first password, would still come in: it ends, with all sessions and tokens.
 */
function linkedTo(
  user: UserRow,
  { issuer, subject }: ProviderIdentity,
  { version, now }: { readonly version: number; readonly now: number },
): UserRow {
  const bound = { ...user, issuer, subject, updated_at: now };
  if (user.password === '' && user.force_password_change === 0) return bound;
  return { ...bound, version, password: '', force_password_change: 0 };
}

/** Some providers send every claim as a text. */
const verifiedEmail = ({ email, email_verified: verified }: ProviderClaims): string | undefined =>
  typeof email === 'string' && (verified === true || verified === 'true') ? email : undefined;

/** For the log: the claims by their names, and of those that decide what they are, never what they hold. */
const whatCame = (claims: ProviderClaims) => ({
  claims: Object.keys(claims)
    .slice(0, MOST_CLAIMS)
    .map(name => name.slice(0, LONGEST_NAME)),
  email: claimShape(claims.email),
  emailVerified: claims.email_verified === false ? 'false' : claimShape(claims.email_verified),
});

/** The user name of that address; undefined for an invalid one. */
function memberName(email: string): string | undefined {
  // Normalizing would turn them into an address that was not verified.
  if ([...email].some(becomesAscii)) return undefined;
  try {
    return parseEmail(email);
  } catch {
    return undefined;
  }
}

/** Such as the Kelvin sign, which is a k in lower case. */
const becomesAscii = (letter: string): boolean =>
  letter > '\x7f' && letter.normalize('NFC').toLowerCase() <= '\x7f';

type RoleSettings = Pick<OpenidSettings, 'groups' | 'mode' | 'strict'>;

export type RoleDecision =
  | { readonly kind: 'role'; readonly role: Role }
  /** The provider sent no groups, so the role stays. */
  | { readonly kind: 'kept'; readonly role: Role }
  | { readonly kind: 'refused' };

/** Decides the role by the groups. `present` is the role so far, undefined at the first sign-in. */
export function decideRole(
  claim: readonly string[] | undefined,
  present: Role | undefined,
  { groups, mode, strict }: RoleSettings,
): RoleDecision {
  const mapped = highestRole(claim ?? [], groups.mapping);
  if (strict && mapped === undefined) return { kind: 'refused' };
  if (present !== undefined && mode === 'seed') return { kind: 'role', role: present };
  if (claim === undefined) return { kind: 'kept', role: present ?? groups.default };
  return { kind: 'role', role: mapped ?? groups.default };
}

/** Each role includes those after it. */
function highestRole(names: readonly string[], mapping: RoleSettings['groups']['mapping']): Role | undefined {
  const roles = names.flatMap(name => (Object.hasOwn(mapping, name) ? (mapping[name] ?? []) : []));
  return ROLES.find(role => roles.includes(role));
}
