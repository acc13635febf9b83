import { addressPrefix } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Audit } from '../audit.ts';
import { createFailureWindow, type FailureLimiter, type RateLimit } from '../limits/failure-limits.ts';
import type { BrowserSession, BrowserSessions } from '../sessions/sessions.ts';
import type { AuthSettings, OpenidSettings } from '../settings.ts';
import { issuerOf } from '../tokens/jwt.ts';
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
import { type RefusalReason, SignInRefused, withReturnTo } from './refusal.ts';

/** How long a sign-out waits for the provider's end-session address. */
const LOGOUT_MS = 3000;

const MOST_ADDRESSES = 10_000;
/** Refusals that cost the provider nothing: its own, and those that are made before it is asked. */
const COSTS_NOTHING: ReadonlySet<RefusalReason> = new Set(['unreachable', 'limited', 'expired', 'off']);
/** The audit's name of a sign-in by the provider. */
const ACTION = 'auth.sso';

/** The browser's request that returns from the provider. */
interface AuthorizationResponse {
  /** With its `?`. */
  readonly search: string;
  /** The sealed authorization request that `begin` gave the browser. */
  readonly cookie: string | undefined;
  /** Secret of the browser's session until now. */
  readonly former: string | undefined;
  readonly address: string;
  readonly requestId: string;
}

/** Signing in with an OpenID Connect provider. */
export interface SingleSignOn {
  /** The provider's display name; undefined when there is none. */
  name(): string | undefined;
  /** Logs a provider that cannot be used, before somebody needs it. */
  probe(): Promise<void>;
  /** The address to redirect the browser to, and its cookie meanwhile. Throws `SignInRefused`. */
  begin(
    returnTo: string | undefined,
  ): Promise<{ readonly location: string; readonly cookie: string; readonly seconds: number }>;
  /** Begins a session. Throws `SignInRefused`; no response can be used twice. */
  finish(response: AuthorizationResponse): Promise<{
    readonly secret: string;
    readonly session: BrowserSession;
    readonly returnTo: string;
  }>;
  /** The address at which a browser ends the provider's session too; undefined when there is none just now. */
  logoutUrl(idToken: string): Promise<string | undefined>;
}

export interface SsoSettings {
  readonly auth: AuthSettings;
  /** The address at which people reach this server. */
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
  /** Read each time. */
  readonly settings: () => SsoSettings;
}

export const createSingleSignOn = (dependencies: Dependencies): SingleSignOn =>
  new ProviderSignOn(dependencies);

class ProviderSignOn implements SingleSignOn {
  readonly #providerFor: (settings: OpenidSettings) => Provider;
  readonly #failures: FailureLimiter<RateLimit>;
  readonly #faults: CountedLog;
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#failures = createFailureWindow(dependencies.clock, MOST_ADDRESSES);
    this.#providerFor = createProviderCache(dependencies);
    this.#faults = createCountedLog(dependencies.logger, {
      fields: {},
      message: 'the identity provider cannot be used; local login goes on where it is allowed',
      over: 'the identity provider can be used again',
    });
  }

  name(): string | undefined {
    return relyingPartyOf(this.#dependencies.settings())?.openid.name;
  }

  async probe(): Promise<void> {
    const found = relyingPartyOf(this.#dependencies.settings());
    if (found === undefined) return;
    await this.#discover(this.#providerFor(found.openid).discover()).catch((error: unknown) => {
      if (!(error instanceof SignInRefused)) throw error;
    });
  }

  async begin(returnTo: string | undefined): ReturnType<SingleSignOn['begin']> {
    const { settings, keyRing, clock } = this.#dependencies;
    const { openid, redirectUri } = requireRelyingParty(settings());
    const request = newAuthorizationRequest({
      issuer: openid.issuer,
      returnTo: returnPath(returnTo),
      now: clock.now(),
    });
    const location = await withReturnTo(request.returnTo, () =>
      this.#discover(this.#providerFor(openid).authorizationUrl(request, redirectUri)),
    );
    return {
      location,
      cookie: sealAuthorizationRequest(request, keyRing),
      seconds: AUTHORIZATION_REQUEST_MS / 1000,
    };
  }

  async finish(response: AuthorizationResponse): ReturnType<SingleSignOn['finish']> {
    const { audit, settings } = this.#dependencies;
    const { address, requestId } = response;
    const prefix = addressPrefix(address);
    try {
      return await this.#consume(response, prefix);
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      audit.refused({ actor: '', action: ACTION, reason: error.reason, address, requestId });
      if (!COSTS_NOTHING.has(error.reason)) await this.#failures.fail(prefix, settings().loginRateLimit);
      throw error;
    }
  }

  async logoutUrl(idToken: string): Promise<string | undefined> {
    const { settings, clock } = this.#dependencies;
    const found = relyingPartyOf(settings());
    if (found === undefined || !isIssuedBy(found.openid.issuer, idToken)) return undefined;
    const url = this.#providerFor(found.openid).endSessionUrl(idToken, `${found.base}/`);
    // The session here has ended by now, whether the provider answers or not.
    const known = url.catch((error: unknown) => {
      if (!(error instanceof ProviderFailure)) throw error;
      return undefined;
    });
    return Promise.race([known, clock.sleep(LOGOUT_MS).then(() => undefined)]);
  }

  /** What no browser of ours brings back is refused first: it cannot hold up others at the address. */
  async #consume(response: AuthorizationResponse, prefix: string): ReturnType<SingleSignOn['finish']> {
    const party = requireRelyingParty(this.#dependencies.settings());
    const { search, cookie } = response;
    const given = { search, cookie, issuer: party.openid.issuer };
    const request = await consumeAuthorizationRequest(given, this.#dependencies);
    return withReturnTo(request.returnTo, async () => {
      await this.#assertNotLimited(prefix);
      return this.#signIn(response, request, party);
    });
  }

  async #signIn(
    { search, former, address, requestId }: AuthorizationResponse,
    request: AuthorizationRequest,
    { openid, redirectUri }: RelyingParty,
  ): ReturnType<SingleSignOn['finish']> {
    const { accountLinking, localLogin, sessions, audit, logger } = this.#dependencies;
    const callbackUrl = new URL(search, redirectUri);
    const requiredClaims = accountLinking.requiredClaims(openid);
    const redeeming = this.#providerFor(openid).redeem(callbackUrl, request, requiredClaims);
    const { idToken, ...identity } = await this.#redeem(redeeming, address);
    const user = await accountLinking.resolveUser({ ...identity, address, requestId }, openid);
    if (await accountLinking.isAdmin(user)) await localLogin.recordAdminSignIn(openid.issuer);
    const { secret, session } = await sessions.begin({ user, method: 'sso', idToken, former });
    logger.info({ user: user.username, address, provider: openid.name }, 'login succeeded');
    await audit.record({ actor: user.username, action: ACTION, target: user.id, address, requestId });
    return { secret, session, returnTo: request.returnTo };
  }

  #discover<Result>(work: Promise<Result>): Promise<Result> {
    return this.#callProvider(work, this.#faults.failed);
  }

  /** A browser may send a made-up answer: that is no fault of the provider, and logged each time. */
  #redeem<Result>(work: Promise<Result>, address: string): Promise<Result> {
    return this.#callProvider(work, failure => {
      if (failure.kind === 'unreachable') this.#faults.failed(failure);
      else
        this.#dependencies.logger.warn(
          { address, reason: failure.message },
          'the answer of the identity provider is not valid',
        );
    });
  }

  /** Throws `SignInRefused` for a failure of the provider, which `logFailure` logs. */
  async #callProvider<Result>(
    work: Promise<Result>,
    logFailure: (failure: ProviderFailure) => void,
  ): Promise<Result> {
    try {
      const result = await work;
      this.#faults.recovered();
      return result;
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      logFailure(error);
      throw new SignInRefused(error.kind, error);
    }
  }

  /** Only failures count, so that nobody has to wait for others behind the same address. */
  async #assertNotLimited(prefix: string): Promise<void> {
    const waitMs = await this.#failures.reserve(prefix, this.#dependencies.settings().loginRateLimit);
    if (waitMs > 0) throw new SignInRefused('limited');
    this.#failures.release(prefix);
  }
}

interface RelyingParty {
  readonly openid: OpenidSettings;
  /** Address of this server, without a slash at its end. */
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
  const party = relyingPartyOf(settings);
  if (party === undefined) throw new SignInRefused('off');
  return party;
}

/** Keeps the provider of the present settings: changed settings are another provider. */
function createProviderCache(dependencies: Pick<Dependencies, 'http' | 'clock'>) {
  let known: { readonly settings: OpenidSettings; readonly provider: Provider } | undefined;
  return (settings: OpenidSettings): Provider => {
    if (known?.settings !== settings) known = { settings, provider: createProvider(settings, dependencies) };
    return known.provider;
  };
}

/** An ID token is sent to the provider that issued it only. */
function isIssuedBy(issuer: string, idToken: string): boolean {
  const iss = issuerOf(idToken);
  return iss !== undefined && new URL(iss).href === new URL(issuer).href;
}
