import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { Ids } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import type { Audit } from './audit.ts';
import { type ChangeFeed, openChangeFeed } from './change-feed.ts';
import type { BackOffPolicy } from './limits/failure-limits.ts';
import { createLoginLimits, type LoginLimits } from './limits/login-limits.ts';
import { type Authenticate, createAuthenticate, createUserDirectory } from './sessions/authenticate.ts';
import { type BrowserSession, type BrowserSessions, createBrowserSessions } from './sessions/sessions.ts';
import { type AccountLinking, createUserProvisioning } from './sso/account-linking.ts';
import { createLocalLogin, type LocalLogin } from './sso/local-login.ts';
import { createSingleSignOn, type SingleSignOn, type SsoSettings } from './sso/single-sign-on.ts';
import { type KeyRotation, openKeyRotation } from './tokens/key-rotation.ts';
import { createSessionTokens, type SessionTokens } from './tokens/session-tokens.ts';
import { ensureFirstAdmin, type FirstAdminRequest, type GeneratedPassword } from './users/first-admin.ts';
import {
  type AccountsFor,
  createLogin,
  createLoginLog,
  createPasswordCheck,
  type LoginRequest,
  localAccounts,
  type PasswordLogin,
} from './users/login.ts';
import { createPasswords, type Passwords } from './users/passwords.ts';
import { createUsers, type Users } from './users/users.ts';

export interface IdentitySettings extends SsoSettings {
  /** Seconds; counts for new tokens. */
  readonly authTokenTTL: number;
  /** Seconds without activity after which a browser's session ends. */
  readonly idleSessionTTL: number;
  readonly loginBackOff: BackOffPolicy;
}

const LOCAL_LOGIN_STAYS_ON =
  'auth.fallback is false, and local login stays on until an admin has signed in by the identity provider';

/** Authentication of users and programs: the face of this room. */
export interface Identity {
  readonly login: PasswordLogin;
  readonly authenticate: Authenticate;
  /** Begins a browser's session with a name and a password. Throws as `login` does. */
  signIn(
    request: LoginRequest & { readonly former: string | undefined },
  ): Promise<{ readonly secret: string; readonly session: BrowserSession }>;
  readonly sessions: BrowserSessions;
  readonly sso: SingleSignOn;
  readonly localLogin: LocalLogin;
  readonly users: Users;
  readonly passwords: Passwords;
  readonly keys: Pick<KeyRotation, 'tokenKeys' | 'rotatesAt' | 'published' | 'list' | 'rotate' | 'start'>;
  /** Reports changes of users, tokens and sessions. */
  readonly feed: ChangeFeed;
  /** Logs settings that cannot take effect as they are. Never rejects. */
  readonly checkSettings: () => Promise<void>;
  ensureFirstAdmin(request: FirstAdminRequest): Promise<GeneratedPassword | undefined>;
  /** Stops polling for changes and rotating keys. */
  readonly stop: () => Promise<void>;
}

interface IdentityOptions {
  readonly storage: Storage;
  readonly keyRing: KeyRing;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Audit;
  readonly logger: Logger;
  /** Other processes use the same store. */
  readonly isShared: boolean;
  /** Read at each call. */
  readonly settings: () => IdentitySettings;
  /** Finds the users of identities of the provider; adds users of this server when left out. */
  readonly accountLinking?: (feed: ChangeFeed, logger: Logger) => AccountLinking;
  /** Finds the accounts of a name; users of this server when left out. */
  readonly accountsFor?: (users: Storage['users']) => AccountsFor;
}

/**
 * Opens the signing keys, making them in a new store, and wires the rest. Throws `internal` when the key ring lacks a
 * key that the store needs, naming its id.
 */
export async function createIdentity(given: IdentityOptions): Promise<Identity> {
  const options = { ...given, logger: given.logger.child({ component: 'auth' }) };
  const { storage, clock, ids, audit, logger, settings } = options;
  const { keys, feed } = await openKeysAndFeed(options);
  const tokens = createSessionTokens({ keys: keys.tokenKeys, clock, ids });
  const directory = createUserDirectory(feed, storage);
  const passwords = createPasswords();
  const limits = createLoginLimits({
    clock,
    limit: () => settings().loginRateLimit,
    backOff: () => settings().loginBackOff,
  });
  const tokenTtl = (): number => settings().authTokenTTL;
  return {
    ...createSignIns({ ...options, feed, tokens, passwords, limits, tokenTtl }),
    authenticate: createAuthenticate({ tokens, directory }),
    users: createUsers({ storage, passwords, tokens, limits, feed, clock, ids, tokenTtl }),
    passwords,
    keys,
    feed,
    async stop() {
      feed.stop();
      await keys.stop();
    },
    ensureFirstAdmin: request => ensureFirstAdmin({ storage, passwords, clock, ids, audit, logger }, request),
  };
}

/** The feed reloads the keys, and the rotation of compromised keys waits for the feed. */
async function openKeysAndFeed(
  options: Pick<
    IdentityOptions,
    'storage' | 'keyRing' | 'clock' | 'logger' | 'audit' | 'isShared' | 'settings'
  >,
): Promise<{ readonly keys: KeyRotation; readonly feed: ChangeFeed }> {
  let waitForPropagation = async (): Promise<void> => {};
  const keys = await openKeyRotation({
    ...options,
    settings: () => {
      const { signingAlgorithm, keyLifetime } = options.settings().auth;
      return { signingAlgorithm, keyLifetimeMs: keyLifetime.ms };
    },
    waitForPropagation: () => waitForPropagation(),
  });
  const feed = await openChangeFeed({ ...options, changed: () => keys.reload() });
  waitForPropagation = feed.waitForPropagation;
  return { keys, feed };
}

/** The ways to log in: with a password for a token or a session, and by the identity provider. */
function createSignIns(
  options: IdentityOptions & {
    readonly feed: ChangeFeed;
    readonly tokens: SessionTokens;
    readonly passwords: Passwords;
    readonly limits: LoginLimits;
    readonly tokenTtl: () => number;
  },
): Pick<Identity, 'login' | 'signIn' | 'sessions' | 'sso' | 'localLogin' | 'checkSettings'> {
  const { storage, clock, logger, settings, feed, tokens, tokenTtl } = options;
  const check = createPasswordCheck({
    ...options,
    accountsFor: (options.accountsFor ?? localAccounts)(storage.users),
    transaction: storage.transaction,
    log: createLoginLog({ clock, logger }),
  });
  const sessions = createBrowserSessions({ ...options, idleSeconds: () => settings().idleSessionTTL });
  const localLogin = createLocalLogin({ storage, settings: () => settings().auth });
  const login = createLogin({ check, tokens, tokenTtl });
  const accountLinking = options.accountLinking?.(feed, logger) ?? createUserProvisioning(options);
  const sso = createSingleSignOn({ ...options, sessions, accountLinking, localLogin });
  return {
    async login(request) {
      await localLogin.assertAllowed();
      return login(request);
    },
    async signIn(request) {
      await localLogin.assertAllowed();
      const user = await check(request);
      return sessions.begin({ user, method: 'password', former: request.former });
    },
    sessions,
    sso,
    localLogin,
    async checkSettings() {
      try {
        if ((await localLogin.state()) === 'kept') logger.warn({}, LOCAL_LOGIN_STAYS_ON);
        await sso.probe();
      } catch (error) {
        logger.warn({ reason: reasonOf(error) }, 'the settings of sign-ins cannot be checked just now');
      }
    },
  };
}
