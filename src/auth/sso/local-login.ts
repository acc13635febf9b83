import { AppError } from '../../lib/errors.ts';
import type { Storage } from '../../storage/storage.ts';
import type { AuthSettings } from './settings.ts';

/** The issuer by which an admin has signed in, as the last one did. */
const PROVEN = 'sso_proven_issuer';

/** `kept`: on although the settings say off, as no admin has come in by the provider yet. */
export type LocalLoginState = 'on' | 'off' | 'kept';

/**
 * Allow login as Local User: whether passwords of this server count. Nobody is to lock themselves out by a provider
 * that does not let them in, so an admin must have come in by it before they end.
 */
export interface LocalLogin {
  state(): Promise<LocalLoginState>;
  /** Throws `local-login-disabled` while it is off. */
  assertAllowed(): Promise<void>;
  /** Throws `conflict` when the next settings would switch it off and nobody has shown that there is another way. */
  assertMayBecome(next: AuthSettings, now: AuthSettings): Promise<void>;
  /** Books that an admin has signed in by the provider. */
  prove(issuer: string): Promise<void>;
}

export function createLocalLogin(options: {
  readonly storage: Pick<Storage, 'instanceValue' | 'transaction'>;
  /** Asked each time. */
  readonly settings: () => AuthSettings;
}): LocalLogin {
  const { storage, settings } = options;

  const isProven = async (issuer: string | undefined): Promise<boolean> =>
    issuer !== undefined && (await storage.instanceValue(PROVEN)) === issuer;

  async function state(): Promise<LocalLoginState> {
    const auth = settings();
    if (!saysOff(auth)) return 'on';
    return (await isProven(auth.openid?.issuer)) ? 'off' : 'kept';
  }

  return {
    state,

    async assertAllowed() {
      if ((await state()) === 'off')
        throw new AppError('local-login-disabled', 'Local users cannot log in here; use single sign-on');
    },

    async assertMayBecome(next, now) {
      if (!saysOff(next)) return;
      const issuer = next.openid?.issuer;
      const isSaidAlready = saysOff(now) && now.openid?.issuer === issuer;
      if (isSaidAlready || (await isProven(issuer))) return;
      throw new AppError(
        'conflict',
        'auth.fallback can be switched off once an admin has signed in by this provider; nobody could come in otherwise',
      );
    },

    async prove(issuer) {
      if (!(await isProven(issuer))) await storage.transaction(tx => tx.setInstanceValue(PROVEN, issuer));
    },
  };
}

/** Without a provider there is nothing else to come in by. */
const saysOff = ({ type, fallback }: AuthSettings): boolean => type === 'openid' && !fallback;
