import { decodeJwt } from 'jose';
import { addressPrefix } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Audit } from '../audit.ts';
import { createFailureWindow, type RateLimit } from '../limits/failure-limits.ts';
import type { BrowserSession, BrowserSessions } from '../sessions/sessions.ts';
import type { AuthSettings, OpenidSettings } from '../settings.ts';
import type { AccountLinking } from './account-linking.ts';
import {
  AUTHORIZATION_REQUEST_MS,
  type AuthorizationRequest,
  consumeAuthorizationRequest,
  newAuthorizationRequest,
  returnPath,
  sealAuthorizationRequest,
} from './authorization-request.ts';
import type { LocalLogin } from './local-login.ts';
import { createProvider, type Provider, ProviderFailure } from './provider.ts';
import { SignInRefused, withReturnTo } from './refusal.ts';

/** How long a sign-out waits to learn where the provider's own ends. */
const LOGOUT_MS = 3000;

const MOST_ADDRESSES = 10_000;
/** As the audit knows it. */
const ACTION = 'auth.sso';

/** What comes back from the provider with the browser. */
interface AuthorizationResponse {
  /** With its `?`. */
  readonly search: string;
  /** What the browser was given at the start. */
  readonly cookie: string | undefined;
  /** The browser's session until now. */
  readonly former: string | undefined;
  readonly address: string;
  readonly requestId: string;
}

/** Signing in with an OpenID Connect provider. */
export interface SingleSignOn {
  /** How the provider is called; undefined when there is none. */
  name(): string | undefined;
  /** Says in the log whether the provider can be used, before somebody needs it. */
  probe(): Promise<void>;
  /** Where the browser goes, and what it holds meanwhile. Throws `SignInRefused`. */
  begin(
    returnTo: string | undefined,
  ): Promise<{ readonly location: string; readonly cookie: string; readonly seconds: number }>;
  /** Begins a session. Throws `SignInRefused`; no answer can be used twice. */
  finish(answer: AuthorizationResponse): Promise<{
    readonly secret: string;
    readonly session: BrowserSession;
    readonly returnTo: string;
  }>;
  /** Where a browser goes to end its session at the provider too, undefined when there is no such place just now. */
  logoutUrl(idToken: string): Promise<string | undefined>;
}

export interface SsoSettings {
  readonly auth: AuthSettings;
  /** Where people reach this server. */
  readonly externalUrl: string | undefined;
  readonly loginRateLimit: RateLimit;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly sessions: Pick<BrowserSessions, 'begin'>;
  readonly accountLinking: AccountLinking;
  readonly localLogin: Pick<LocalLogin, 'recordAdminSignIn'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt'>;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  readonly logger: Logger;
  /** Asked each time. */
  readonly settings: () => SsoSettings;
}

export function createSingleSignOn(dependencies: Dependencies): SingleSignOn {
  const { sessions, accountLinking, localLogin, keyRing, clock, audit, logger, settings } = dependencies;
  const providerFor = createProviderCache(dependencies);
  const failures = createFailureWindow(MOST_ADDRESSES);
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'the identity provider cannot be used; local login goes on where it is allowed',
    over: 'the identity provider can be used again',
  });

  /** Throws `SignInRefused` for what the provider does not do; `tell` tells the log why. */
  async function callProvider<Result>(
    work: Promise<Result>,
    logFailure: (failure: ProviderFailure) => void,
  ): Promise<Result> {
    try {
      const result = await work;
      faults.recovered();
      return result;
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      logFailure(error);
      throw new SignInRefused(error.kind, error);
    }
  }

  const discover = <Result>(work: Promise<Result>): Promise<Result> => callProvider(work, faults.failed);

  /** What comes back with a browser may be made up: it is no fault of the provider, and told each time. */
  const redeemCode = <Result>(work: Promise<Result>, address: string): Promise<Result> =>
    callProvider(work, failure => {
      if (failure.kind === 'unreachable') return faults.failed(failure);
      logger.warn({ address, reason: failure.message }, 'the answer of the identity provider does not hold');
    });

  /** Only failures count, so that nobody has to wait for others behind the same address. */
  async function assertNotLimited(place: string): Promise<void> {
    const waitMs = await failures.reserve(place, settings().loginRateLimit);
    if (waitMs > 0) throw new SignInRefused('limited');
    failures.release(place);
  }

  async function finish(given: AuthorizationResponse): ReturnType<SingleSignOn['finish']> {
    const place = requireRelyingParty(settings());
    const { search, cookie } = given;
    const request = await consumeAuthorizationRequest(
      { search, cookie, issuer: place.openid.issuer },
      dependencies,
    );
    return withReturnTo(request.returnTo, () => completeSignIn(given, request, place));
  }

  async function completeSignIn(
    { search, former, address, requestId }: AuthorizationResponse,
    request: AuthorizationRequest,
    { openid, redirectUri }: RelyingParty,
  ): ReturnType<SingleSignOn['finish']> {
    const answer = new URL(search, redirectUri);
    const requiredClaims = accountLinking.requiredClaims(openid);
    const identity = await redeemCode(providerFor(openid).redeem(answer, request, requiredClaims), address);
    const user = await accountLinking.resolveUser({ ...identity, address, requestId }, openid);
    if (await accountLinking.isAdmin(user)) await localLogin.recordAdminSignIn(openid.issuer);
    const { secret, session } = await sessions.begin({
      user,
      method: 'sso',
      idToken: identity.idToken,
      former,
    });
    logger.info({ user: user.username, address, provider: openid.name }, 'login succeeded');
    await audit.record({ actor: user.username, action: ACTION, target: user.id, address, requestId });
    return { secret, session, returnTo: request.returnTo };
  }

  return {
    name: () => relyingPartyOf(settings())?.openid.name,

    async probe() {
      const found = relyingPartyOf(settings());
      if (found === undefined) return;
      await discover(providerFor(found.openid).discover()).catch((error: unknown) => {
        if (!(error instanceof SignInRefused)) throw error;
      });
    },

    async begin(returnTo) {
      const { openid, redirectUri } = requireRelyingParty(settings());
      const request = newAuthorizationRequest({
        issuer: openid.issuer,
        returnTo: returnPath(returnTo),
        now: clock.now(),
      });
      const location = await withReturnTo(request.returnTo, () =>
        discover(providerFor(openid).authorizationUrl(request, redirectUri)),
      );
      return {
        location,
        cookie: sealAuthorizationRequest(request, keyRing),
        seconds: AUTHORIZATION_REQUEST_MS / 1000,
      };
    },

    async finish(given) {
      const { address, requestId } = given;
      const place = addressPrefix(address);
      try {
        await assertNotLimited(place);
        return await finish(given);
      } catch (error) {
        if (!(error instanceof SignInRefused)) throw error;
        audit.refused({ actor: '', action: ACTION, reason: error.reason, address, requestId });
        // A provider that is down is nobody's fault here.
        if (error.reason !== 'unreachable' && error.reason !== 'limited')
          await failures.fail(place, settings().loginRateLimit);
        throw error;
      }
    },

    async logoutUrl(idToken) {
      const found = relyingPartyOf(settings());
      if (found === undefined || !isIssuedBy(found.openid.issuer, idToken)) return undefined;
      const url = providerFor(found.openid).endSessionUrl(idToken, `${found.base}/`);
      // The session here is over by now, whether the provider answers or not.
      const known = url.catch((error: unknown) => {
        if (!(error instanceof ProviderFailure)) throw error;
        return undefined;
      });
      return Promise.race([known, clock.sleep(LOGOUT_MS).then(() => undefined)]);
    },
  };
}

interface RelyingParty {
  readonly openid: OpenidSettings;
  /** Of this server, without a slash at its end. */
  readonly base: string;
  /** Registered at the provider exactly like this (RFC 9700 section 2.1). */
  readonly redirectUri: string;
}

function relyingPartyOf({
  auth,
  externalUrl,
}: Pick<SsoSettings, 'auth' | 'externalUrl'>): RelyingParty | undefined {
  if (auth.type !== 'openid' || auth.openid === undefined || externalUrl === undefined) return undefined;
  const base = externalUrl.replace(/\/+$/, '');
  return { openid: auth.openid, base, redirectUri: `${base}/session/callback` };
}

function requireRelyingParty(settings: SsoSettings): RelyingParty {
  const place = relyingPartyOf(settings);
  if (place === undefined) throw new SignInRefused('off');
  return place;
}

/** One for the settings in force: others are another provider. */
function createProviderCache(dependencies: Pick<Dependencies, 'http' | 'clock'>) {
  let known: { readonly settings: OpenidSettings; readonly provider: Provider } | undefined;
  return (settings: OpenidSettings): Provider => {
    if (known?.settings !== settings) known = { settings, provider: createProvider(settings, dependencies) };
    return known.provider;
  };
}

/** Whether an ID token, which was checked when it came, is of this provider: no other is shown it. */
function isIssuedBy(issuer: string, idToken: string): boolean {
  const { iss = '' } = decodeJwt(idToken);
  return URL.canParse(iss) && new URL(iss).href === new URL(issuer).href;
}
