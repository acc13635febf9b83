import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import type { Audit } from './audit.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';
import type { RateLimit } from './failure-count.ts';
import { ensureFirstAdmin, type FirstAdminRequest, type GeneratedPassword } from './first-admin.ts';
import { openTokenKeys } from './keys.ts';
import { createLogin, type Login } from './login.ts';
import { createLoginLimits } from './login-limits.ts';
import { createLoginLog } from './login-log.ts';
import { createPasswords } from './passwords.ts';
import { createTokens } from './tokens.ts';
import { createUsers, type Users } from './user-administration.ts';
import { openUserDirectory } from './user-directory.ts';

export interface IdentitySettings {
  /** Seconds; counts for new tokens. */
  readonly authTokenTTL: number;
  readonly loginRateLimit: RateLimit;
}

/** Who may come in: the face of this room. */
export interface Identity {
  readonly login: Login;
  readonly authenticate: Authenticate;
  readonly users: Users;
  ensureFirstAdmin(request: FirstAdminRequest): Promise<GeneratedPassword | undefined>;
  /** Asks the store for no more changes of users. */
  stop(): void;
}

/**
 * Opens the signing keys, making them in a new store, and wires the rest. `settings` is asked at each call.
 * Throws `internal` when the key ring lacks a key the store needs, naming its id.
 */
export async function createIdentity(options: {
  storage: Storage;
  keyRing: KeyRing;
  clock: Clock;
  ids: Ids;
  audit: Audit;
  logger: Logger;
  /** Whether other processes have the same store. */
  isShared: boolean;
  settings: () => IdentitySettings;
}): Promise<Identity> {
  const { storage, keyRing, clock, ids, audit, isShared, settings } = options;
  const { users } = storage;
  const logger = options.logger.child({ component: 'auth' });
  const keys = await openTokenKeys({ storage, keyRing, clock });
  const tokens = createTokens({ keys, clock, ids });
  const passwords = createPasswords();
  const directory = await openUserDirectory({ storage, isShared, clock, logger });
  const limits = createLoginLimits({ clock, limit: () => settings().loginRateLimit });
  const tokenTtl = (): number => settings().authTokenTTL;
  return {
    login: createLogin({
      users,
      transaction: storage.transaction,
      passwords,
      tokens,
      limits,
      log: createLoginLog({ clock, logger }),
      audit,
      logger,
      tokenTtl,
    }),
    authenticate: createAuthenticate({ tokens, directory }),
    users: createUsers({ storage, passwords, tokens, limits, directory, clock, ids, tokenTtl }),
    stop: directory.stop,
    ensureFirstAdmin: request => ensureFirstAdmin({ storage, passwords, clock, ids, audit, logger }, request),
  };
}
