import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';
import type { RateLimit } from './failure-count.ts';
import { ensureFirstAdmin, type FirstAdminRequest, type GeneratedPassword } from './first-admin.ts';
import { openTokenKeys } from './keys.ts';
import { createLogin, type Login } from './login.ts';
import { createLoginLimits } from './login-limits.ts';
import { createLoginLog } from './login-log.ts';
import { createPasswords } from './passwords.ts';
import { createTokens } from './tokens.ts';

export interface IdentitySettings {
  /** Seconds; counts for new tokens. */
  readonly authTokenTTL: number;
  readonly loginRateLimit: RateLimit;
}

/** Who may come in: the face of this room. */
export interface Identity {
  readonly login: Login;
  readonly authenticate: Authenticate;
  ensureFirstAdmin(request: FirstAdminRequest): Promise<GeneratedPassword | undefined>;
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
  logger: Logger;
  settings: () => IdentitySettings;
}): Promise<Identity> {
  const { storage, keyRing, clock, ids, settings } = options;
  const { users } = storage;
  const logger = options.logger.child({ component: 'auth' });
  const keys = await openTokenKeys({ storage, keyRing, clock });
  const tokens = createTokens({ keys, clock, ids });
  const passwords = createPasswords();
  return {
    login: createLogin({
      users,
      passwords,
      tokens,
      limits: createLoginLimits({ clock, limit: () => settings().loginRateLimit }),
      log: createLoginLog({ clock, logger }),
      logger,
      tokenTtl: () => settings().authTokenTTL,
    }),
    authenticate: createAuthenticate({ tokens, users }),
    ensureFirstAdmin: request => ensureFirstAdmin({ storage, passwords, clock, ids, logger }, request),
  };
}
