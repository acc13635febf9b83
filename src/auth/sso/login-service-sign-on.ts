import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage } from '../../storage/storage.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { Audit } from '../audit.ts';
import type { BrowserSessions } from '../sessions/sessions.ts';
import {
  AUTHORIZATION_REQUEST_MS,
  consumeAuthorizationRequest,
  newAuthorizationRequest,
  returnPath,
  sealAuthorizationRequest,
} from './authorization-request.ts';
import { SignInRefused } from './refusal.ts';
import type { SingleSignOn } from './single-sign-on.ts';

/** A user signed in at the login service, bound to one workspace and to the browser's authorization request. */
const codeSchema = z.strictObject({
  userId: z.string(),
  userVersion: z.number(),
  workspace: z.string(),
  state: z.string(),
  /** Epoch ms. */
  endsAt: z.number(),
});

/** The browser is being redirected already. */
const LOGIN_CODE_MS = 60_000;
const PLACE = 'code|sign-in';
const ACTION = 'auth.handOver';

/** The one-time code that the browser exchanges for a session at the page of a workspace; its state is accepted once. */
export const issueLoginCode = (
  { user, workspace, state }: { readonly user: UserRow; readonly workspace: string; readonly state: string },
  { keyRing, clock }: { readonly keyRing: Pick<KeyRing, 'encrypt'>; readonly clock: Pick<Clock, 'now'> },
): string => {
  const code: z.output<typeof codeSchema> = {
    userId: user.id,
    userVersion: user.version,
    workspace,
    state,
    endsAt: clock.now() + LOGIN_CODE_MS,
  };
  return keyRing.encrypt(JSON.stringify(code), PLACE);
};

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction' | 'users'>;
  readonly sessions: Pick<BrowserSessions, 'begin'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  /** Its key in the store. */
  readonly workspace: string;
  /** Address of the login service, without a slash at its end. */
  readonly authUrl: () => string;
}

/** Signs in to the page of a workspace by way of the login service. */
export function createLoginServiceSignOn(dependencies: Dependencies): SingleSignOn {
  const { storage, sessions, keyRing, clock, audit, workspace, authUrl } = dependencies;

  function decodeLoginCode(sealed: string): z.output<typeof codeSchema> {
    try {
      return codeSchema.parse(JSON.parse(keyRing.decrypt(sealed, PLACE)));
    } catch (error) {
      throw new SignInRefused('invalid', error);
    }
  }

  async function userOf(sealed: string, state: string): Promise<UserRow> {
    const code = decodeLoginCode(sealed);
    if (code.endsAt <= clock.now()) throw new SignInRefused('expired');
    if (code.workspace !== workspace || !isSameDigest(digestOf(code.state), digestOf(state)))
      throw new SignInRefused('invalid');
    const user = await storage.users.byId(code.userId);
    if (user === undefined || user.disabled === 1 || user.version !== code.userVersion)
      throw new SignInRefused('not-allowed');
    return user;
  }

  return {
    name: () => 'your organization',
    async probe() {},

    async begin(returnTo) {
      const request = newAuthorizationRequest({
        issuer: authUrl(),
        returnTo: returnPath(returnTo),
        now: clock.now(),
      });
      const query = new URLSearchParams({ workspace, state: request.state });
      return {
        location: `${authUrl()}/sign-in?${query}`,
        cookie: sealAuthorizationRequest(request, keyRing),
        seconds: AUTHORIZATION_REQUEST_MS / 1000,
      };
    },

    async finish({ search, cookie, former, address, requestId }) {
      try {
        const request = await consumeAuthorizationRequest(
          { search, cookie, issuer: authUrl() },
          dependencies,
        );
        const user = await userOf(new URLSearchParams(search).get('code') ?? '', request.state);
        const begun = await sessions.begin({ user, method: 'sso', former });
        await audit.record({ actor: user.username, action: ACTION, target: user.id, address, requestId });
        return { ...begun, returnTo: request.returnTo };
      } catch (error) {
        if (error instanceof SignInRefused)
          audit.refused({ actor: '', action: ACTION, reason: error.reason, address, requestId });
        throw error;
      }
    },

    logoutUrl: async () => undefined,
  };
}
