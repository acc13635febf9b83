import { decodeJwt } from 'jose';
import { addressPrefix } from '../../lib/address-prefix.ts';
import type { Clock } from '../../lib/clock.ts';
import { createFaultLog } from '../../lib/fault-log.ts';
import type { HttpClient } from '../../lib/http.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Audit } from '../audit.ts';
import { createFailureCount, type RateLimit } from '../failure-count.ts';
import type { Session, Sessions } from '../sessions.ts';
import type { Accounts } from './accounts.ts';
import { ATTEMPT_MS, type Attempt, newAttempt, sealAttempt } from './attempt.ts';
import type { LocalLogin } from './local-login.ts';
import { createProvider, type Provider, ProviderFailure } from './provider.ts';
import { onTheWayTo, SignInRefused } from './refusal.ts';
import { returnPath } from './return-path.ts';
import type { AuthSettings, OpenidSettings } from './settings.ts';
import { spendAttempt } from './spend.ts';

/** How long a sign-out waits to learn where the provider's own ends. */
const LOGOUT_MS = 3000;

const MOST_ADDRESSES = 10_000;
/** As the audit knows it. */
const ACTION = 'auth.sso';

/** What comes back from the provider with the browser. */
interface SsoAnswer {
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
  finish(answer: SsoAnswer): Promise<{
    readonly secret: string;
    readonly session: Session;
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
  readonly sessions: Pick<Sessions, 'begin'>;
  readonly accounts: Accounts;
  readonly localLogin: Pick<LocalLogin, 'prove'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt'>;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  readonly logger: Logger;
  /** Asked each time. */
  readonly settings: () => SsoSettings;
}

export function createSingleSignOn(dependencies: Dependencies): SingleSignOn {
  const { sessions, accounts, localLogin, keyRing, clock, audit, logger, settings } = dependencies;
  const providerFor = createProviders(dependencies);
  const failures = createFailureCount(MOST_ADDRESSES);
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'the identity provider cannot be used; local login goes on where it is allowed',
    over: 'the identity provider can be used again',
  });

  /** Throws `SignInRefused` for what the provider does not do; `tell` tells the log why. */
  async function asked<Result>(
    work: Promise<Result>,
    tell: (failure: ProviderFailure) => void,
  ): Promise<Result> {
    try {
      const result = await work;
      faults.passed();
      return result;
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      tell(error);
      throw new SignInRefused(error.kind, error);
    }
  }

  const discovered = <Result>(work: Promise<Result>): Promise<Result> => asked(work, faults.failed);

  /** What comes back with a browser may be made up: it is no fault of the provider, and told each time. */
  const redeemed = <Result>(work: Promise<Result>, address: string): Promise<Result> =>
    asked(work, failure => {
      if (failure.kind === 'unreachable') return faults.failed(failure);
      logger.warn({ address, reason: failure.message }, 'the answer of the identity provider does not hold');
    });

  /** Only failures count, so that nobody has to wait for others behind the same address. */
  async function assertNotLimited(place: string): Promise<void> {
    const waitMs = await failures.reserve(place, settings().loginRateLimit);
    if (waitMs > 0) throw new SignInRefused('limited');
    failures.release(place);
  }

  async function finish(given: SsoAnswer): ReturnType<SingleSignOn['finish']> {
    const place = placeOf(settings());
    const { search, cookie } = given;
    const attempt = await spendAttempt({ search, cookie, issuer: place.openid.issuer }, dependencies);
    return onTheWayTo(attempt.returnTo, () => enter(given, attempt, place));
  }

  async function enter(
    { search, former, address, requestId }: SsoAnswer,
    attempt: Attempt,
    { openid, redirectUri }: Place,
  ): ReturnType<SingleSignOn['finish']> {
    const answer = new URL(search, redirectUri);
    const wanted = accounts.wanted(openid);
    const told = await redeemed(providerFor(openid).redeem(answer, attempt, wanted), address);
    const user = await accounts.admit({ ...told, address, requestId }, openid);
    if (await accounts.isAdmin(user)) await localLogin.prove(openid.issuer);
    const { secret, session } = await sessions.begin({
      user,
      method: 'sso',
      idToken: told.idToken,
      former,
    });
    logger.info({ user: user.username, address, provider: openid.name }, 'login succeeded');
    await audit.record({ actor: user.username, action: ACTION, target: user.id, address, requestId });
    return { secret, session, returnTo: attempt.returnTo };
  }

  return {
    name: () => openidOf(settings())?.openid.name,

    async probe() {
      const found = openidOf(settings());
      if (found === undefined) return;
      await discovered(providerFor(found.openid).discover()).catch((error: unknown) => {
        if (!(error instanceof SignInRefused)) throw error;
      });
    },

    async begin(returnTo) {
      const { openid, redirectUri } = placeOf(settings());
      const attempt = newAttempt({
        issuer: openid.issuer,
        returnTo: returnPath(returnTo),
        now: clock.now(),
      });
      const location = await onTheWayTo(attempt.returnTo, () =>
        discovered(providerFor(openid).authorizationUrl(attempt, redirectUri)),
      );
      return { location, cookie: sealAttempt(attempt, keyRing), seconds: ATTEMPT_MS / 1000 };
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
      const found = openidOf(settings());
      if (found === undefined || !isIssuer(found.openid.issuer, idToken)) return undefined;
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

interface Place {
  readonly openid: OpenidSettings;
  /** Of this server, without a slash at its end. */
  readonly base: string;
  /** Registered at the provider exactly like this (RFC 9700 section 2.1). */
  readonly redirectUri: string;
}

function openidOf({ auth, externalUrl }: Pick<SsoSettings, 'auth' | 'externalUrl'>): Place | undefined {
  if (auth.type !== 'openid' || auth.openid === undefined || externalUrl === undefined) return undefined;
  const base = externalUrl.replace(/\/+$/, '');
  return { openid: auth.openid, base, redirectUri: `${base}/session/callback` };
}

function placeOf(settings: SsoSettings): Place {
  const place = openidOf(settings);
  if (place === undefined) throw new SignInRefused('off');
  return place;
}

/** One for the settings in force: others are another provider. */
function createProviders(dependencies: Pick<Dependencies, 'http' | 'clock'>) {
  let known: { readonly settings: OpenidSettings; readonly provider: Provider } | undefined;
  return (settings: OpenidSettings): Provider => {
    if (known?.settings !== settings) known = { settings, provider: createProvider(settings, dependencies) };
    return known.provider;
  };
}

/** Whether an ID token, which was checked when it came, is of this provider: no other is shown it. */
function isIssuer(issuer: string, idToken: string): boolean {
  const { iss = '' } = decodeJwt(idToken);
  return URL.canParse(iss) && new URL(iss).href === new URL(issuer).href;
}
