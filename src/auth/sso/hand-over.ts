import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage, UserRow } from '../../storage/storage.ts';
import type { Audit } from '../audit.ts';
import type { Sessions } from '../sessions.ts';
import { ATTEMPT_MS, newAttempt, sealAttempt } from './attempt.ts';
import { SignInRefused } from './refusal.ts';
import { returnPath } from './return-path.ts';
import { spendAttempt } from './spend.ts';
import type { SingleSignOn } from './sso.ts';

/** Who has signed in at the login service, for the page of one workspace, in the browser that has begun it there. */
const codeSchema = z.strictObject({
  userId: z.string(),
  userVersion: z.number(),
  workspace: z.string(),
  state: z.string(),
  /** Epoch ms. */
  endsAt: z.number(),
});

/** The browser is on its way already. */
const CODE_MS = 60_000;
const PLACE = 'code|sign-in';
const ACTION = 'auth.handOver';

/** What the browser takes to the page of a workspace; it counts once, as the state that it is bound to does. */
export const handOverCode = (
  { user, workspace, state }: { readonly user: UserRow; readonly workspace: string; readonly state: string },
  { keyRing, clock }: { readonly keyRing: Pick<KeyRing, 'encrypt'>; readonly clock: Pick<Clock, 'now'> },
): string => {
  const code: z.output<typeof codeSchema> = {
    userId: user.id,
    userVersion: user.version,
    workspace,
    state,
    endsAt: clock.now() + CODE_MS,
  };
  return keyRing.encrypt(JSON.stringify(code), PLACE);
};

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction' | 'users'>;
  readonly sessions: Pick<Sessions, 'begin'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  /** As the store knows it. */
  readonly workspace: string;
  /** Where the login service is, without a slash at its end. */
  readonly authUrl: () => string;
}

/** Signing in to the page of a workspace by way of the login service. */
export function createHandOver(dependencies: Dependencies): SingleSignOn {
  const { storage, sessions, keyRing, clock, audit, workspace, authUrl } = dependencies;

  function opened(sealed: string): z.output<typeof codeSchema> {
    try {
      return codeSchema.parse(JSON.parse(keyRing.decrypt(sealed, PLACE)));
    } catch (error) {
      throw new SignInRefused('invalid', error);
    }
  }

  async function userOf(sealed: string, state: string): Promise<UserRow> {
    const code = opened(sealed);
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
      const attempt = newAttempt({
        issuer: authUrl(),
        returnTo: returnPath(returnTo),
        now: clock.now(),
      });
      const query = new URLSearchParams({ workspace, state: attempt.state });
      return {
        location: `${authUrl()}/sign-in?${query}`,
        cookie: sealAttempt(attempt, keyRing),
        seconds: ATTEMPT_MS / 1000,
      };
    },

    async finish({ search, cookie, former, address, requestId }) {
      try {
        const attempt = await spendAttempt({ search, cookie, issuer: authUrl() }, dependencies);
        const user = await userOf(new URLSearchParams(search).get('code') ?? '', attempt.state);
        const begun = await sessions.begin({ user, method: 'sso', former });
        await audit.record({ actor: user.username, action: ACTION, target: user.id, address, requestId });
        return { ...begun, returnTo: attempt.returnTo };
      } catch (error) {
        if (error instanceof SignInRefused)
          audit.refused({ actor: '', action: ACTION, reason: error.reason, address, requestId });
        throw error;
      }
    },

    logoutUrl: async () => undefined,
  };
}
