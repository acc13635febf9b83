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
import { createLoginLimits } from './limits/login-limits.ts';
import { type Authenticate, createAuthenticate, createUserDirectory } from './sessions/authenticate.ts';
import { type BrowserSession, type BrowserSessions, createBrowserSessions } from './sessions/sessions.ts';
import { type AccountLinking, createUserProvisioning } from './sso/account-linking.ts';
import { createLocalLogin, type LocalLogin } from './sso/local-login.ts';
import { createSingleSignOn, type SingleSignOn, type SsoSettings } from './sso/single-sign-on.ts';
import { type KeyRotation, openKeyRotation } from './tokens/key-rotation.ts';
import { createSessionTokens } from './tokens/session-tokens.ts';
import { ensureFirstAdmin, type FirstAdminRequest, type GeneratedPassword } from './users/first-admin.ts';
import {
  createLogin,
  createLoginLog,
  createPasswordCheck,
  type LoginRequest,
  type PasswordLogin,
} from './users/login.ts';
import { createPasswords, type Passwords } from './users/passwords.ts';
import { createUsers, type Users } from './users/users.ts';

export interface IdentitySettings extends SsoSettings {
  /** Seconds; counts for new tokens. */
  readonly authTokenTTL: number;
  /** Seconds without anybody doing anything, after which a browser's session is over. */
  readonly idleSessionTTL: number;
  readonly loginBackOff: BackOffPolicy;
}

const LOCAL_LOGIN_STAYS_ON =
  'auth.fallback is false, and local login stays on until an admin has signed in by the identity provider';

/** Who may come in: the face of this room. */
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
  /** Says what has changed of whoever may come in. */
  readonly feed: ChangeFeed;
  /** Says in the log what of the settings cannot count as they are. Never rejects. */
  checkSettings(): Promise<void>;
  ensureFirstAdmin(request: FirstAdminRequest): Promise<GeneratedPassword | undefined>;
  /** Asks the store for no more changes of users, and turns no more keys. */
  stop(): Promise<void>;
}

/**
 * Opens the signing keys, making them in a new store, and wires the rest. `settings` is asked at each call.
 * Throws `internal` when the key ring lacks a key the store needs, naming its id.
 */
export async function createIdentity(options: {
  storage: Storage;
  keyRing: KeyRing;
  http: HttpClient;
  clock: Clock;
  ids: Ids;
  audit: Audit;
  logger: Logger;
  /** Whether other processes have the same store. */
  isShared: boolean;
  settings: () => IdentitySettings;
  /** Who those are that the identity provider sends; users of this server when left out. */
  accountLinking?: (feed: ChangeFeed, logger: Logger) => AccountLinking;
}): Promise<Identity> {
  const { storage, keyRing, http, clock, ids, audit, isShared, settings } = options;
  const { users } = storage;
  const logger = options.logger.child({ component: 'auth' });
  let waitForPropagation = async (): Promise<void> => {};
  const keys = await openKeyRotation({
    storage,
    keyRing,
    clock,
    logger,
    audit,
    isShared,
    settings: () => {
      const { signingAlgorithm, keyLifetime } = settings().auth;
      return { signingAlgorithm, keyLifetimeMs: keyLifetime.ms };
    },
    waitForPropagation: () => waitForPropagation(),
  });
  const tokens = createSessionTokens({ keys: keys.tokenKeys, clock, ids });
  const passwords = createPasswords();
  const feed = await openChangeFeed({ storage, isShared, clock, logger, changed: keys.reload });
  waitForPropagation = feed.waitForPropagation;
  const directory = createUserDirectory(feed, storage);
  const limits = createLoginLimits({
    clock,
    limit: () => settings().loginRateLimit,
    backOff: () => settings().loginBackOff,
  });
  const tokenTtl = (): number => settings().authTokenTTL;
  const check = createPasswordCheck({
    users,
    transaction: storage.transaction,
    passwords,
    limits,
    log: createLoginLog({ clock, logger }),
    audit,
    logger,
  });
  const sessions = createBrowserSessions({
    storage,
    keyRing,
    tokens,
    clock,
    idleSeconds: () => settings().idleSessionTTL,
  });
  const localLogin = createLocalLogin({ storage, settings: () => settings().auth });
  const login = createLogin({ check, tokens, tokenTtl });
  const sso = createSingleSignOn({
    storage,
    sessions,
    accountLinking:
      options.accountLinking?.(feed, logger) ??
      createUserProvisioning({ storage, feed, clock, ids, audit, logger }),
    localLogin,
    keyRing,
    http,
    clock,
    audit,
    logger,
    settings,
  });
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
