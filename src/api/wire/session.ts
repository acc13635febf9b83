import type { Session } from '../../auth/sessions.ts';
import type { LocalLoginState } from '../../auth/sso/local-login.ts';
import { isoTime } from '../envelope.ts';

/** How people can sign in. */
export interface Offers {
  /** How the identity provider is called, if there is one. */
  readonly sso: string | undefined;
  readonly localLogin: LocalLoginState;
}

/** What the page is told of its session; undefined when nobody is signed in. */
export function wireSession(session: Session | undefined, { sso, localLogin }: Offers): object {
  const offers = { localLogin: localLogin !== 'off', sso: sso === undefined ? null : { name: sso } };
  if (session === undefined) return { signedIn: false, ...offers };
  const { user, method, csrfToken, endsAt } = session;
  return {
    signedIn: true,
    ...offers,
    user: { id: user.id, username: user.username, role: user.role },
    method,
    isLocalLoginKept: localLogin === 'kept',
    csrfToken,
    forcePasswordChange: user.force_password_change === 1,
    endsAt: isoTime(endsAt),
  };
}
