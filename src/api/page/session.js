import { call } from './api.js';

/** Seconds before its end at which a token is renewed. */
const RENEW_BEFORE_S = 60;

/** Whether somebody has done something since the last token: a page that is only left open keeps nobody signed in. */
let isUsed = true;
for (const what of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
  window.addEventListener(what, () => (isUsed = true), { passive: true });

/** Who is signed in with this browser, in the words of `GET /session`. */
export const look = () => call('/session', {});

/** Signs in with a password, at the login service by the account in that organization. Throws `ApiError`. */
export const signIn = (username, password, organization) =>
  call('/session/login', { method: 'POST', body: { username, password, organization } });

/** Ends the session. Throws `ApiError` when the server did not hear of it. */
export const signOut = ({ csrfToken }) => call('/session', { method: 'DELETE', csrfToken });

/** Sets another password for the signed-in user. Throws `ApiError`. */
export async function changePassword(session, currentPassword, password) {
  const token = await createTokens(session).current();
  const path = `/api/v1/system/users/${encodeURIComponent(session.user.id)}/info`;
  return call(path, { token, method: 'PATCH', body: { currentPassword, password } });
}

/** The tokens of a session, one after the other. They are held here only and end with the page. */
export function createTokens({ csrfToken }) {
  let token;
  let endsAt = 0;
  let renewal;

  async function renew() {
    const active = isUsed;
    isUsed = false;
    try {
      const answer = await call('/session/token', { method: 'POST', csrfToken, body: { active } });
      token = answer.token;
      endsAt = performance.now() + answer.expiresIn * 1000;
    } catch (error) {
      isUsed ||= active;
      throw error;
    }
  }

  return {
    /** One that is good for a while. Throws `ApiError`, with status 401 once the session is over. */
    async current() {
      const isGood = performance.now() < endsAt - RENEW_BEFORE_S * 1000;
      if (isGood) return token;
      renewal ??= renew().finally(() => (renewal = undefined));
      await renewal;
      return token;
    },
  };
}
