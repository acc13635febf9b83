import { AppError } from '../../lib/errors.ts';
import type { Storage } from '../../storage/storage.ts';
import type { AuthSettings } from '../settings.ts';

/** The issuer by which an admin has signed in, as the last one did. */
const ADMIN_SIGN_IN_ISSUER = 'sso_proven_issuer';

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
  assertCanApply(next: AuthSettings, now: AuthSettings): Promise<void>;
  /** Books that an admin has signed in by the provider. */
  recordAdminSignIn(issuer: string): Promise<void>;
}

export function createLocalLogin(options: {
  readonly storage: Pick<Storage, 'instanceValue' | 'transaction'>;
  /** Asked each time. */
  readonly settings: () => AuthSettings;
}): LocalLogin {
  const { storage, settings } = options;

  const hasAdminSignedIn = async (issuer: string | undefined): Promise<boolean> =>
    issuer !== undefined && (await storage.instanceValue(ADMIN_SIGN_IN_ISSUER)) === issuer;

  async function state(): Promise<LocalLoginState> {
    const auth = settings();
    if (!isDisabledIn(auth)) return 'on';
    return (await hasAdminSignedIn(auth.openid?.issuer)) ? 'off' : 'kept';
  }

  return {
    state,

    async assertAllowed() {
      if ((await state()) === 'off')
        throw new AppError('local-login-disabled', 'Local users cannot log in here; use single sign-on');
    },

    async assertCanApply(next, now) {
      if (!isDisabledIn(next)) return;
      const issuer = next.openid?.issuer;
      const isAlreadyDisabled = isDisabledIn(now) && now.openid?.issuer === issuer;
      if (isAlreadyDisabled || (await hasAdminSignedIn(issuer))) return;
      throw new AppError(
        'conflict',
        'auth.fallback can be switched off once an admin has signed in by this provider; nobody could come in otherwise',
      );
    },

    async recordAdminSignIn(issuer) {
      if (!(await hasAdminSignedIn(issuer)))
        await storage.transaction(tx => tx.setInstanceValue(ADMIN_SIGN_IN_ISSUER, issuer));
    },
  };
}

/** Without a provider there is nothing else to come in by. */
const isDisabledIn = ({ type, fallback }: AuthSettings): boolean => type === 'openid' && !fallback;
