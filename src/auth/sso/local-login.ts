import { AppError } from '../../lib/errors.ts';
import type { Storage } from '../../storage/storage.ts';
import type { AuthSettings } from '../settings.ts';

/** The issuer by which an admin signed in last. */
const ADMIN_SIGN_IN_ISSUER = 'sso_proven_issuer';

/** `kept`: on although the settings say off, as no admin has signed in by the provider yet. */
export type LocalLoginState = 'on' | 'off' | 'kept';

/**
 * "Allow login as Local User": local passwords are accepted. They cannot be switched off before an admin has signed in
 * by the provider, so that nobody is locked out by one that does not work.
 */
export interface LocalLogin {
  state(): Promise<LocalLoginState>;
  /** Throws `local-login-disabled` while it is off. */
  assertAllowed(): Promise<void>;
  /** Throws `conflict` when the next settings would switch it off before an admin has signed in by the provider. */
  assertCanApply(next: AuthSettings, now: AuthSettings): Promise<void>;
  /** Records that an admin has signed in by the provider. */
  recordAdminSignIn(issuer: string): Promise<void>;
}

export function createLocalLogin(options: {
  readonly storage: Pick<Storage, 'instanceValue' | 'transaction'>;
  /** Read each time. */
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

/** Without a provider local login is the only way in. */
const isDisabledIn = ({ type, fallback }: AuthSettings): boolean => type === 'openid' && !fallback;
