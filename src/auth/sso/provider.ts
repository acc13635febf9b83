import * as openid from 'openid-client';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { type HttpClient, HttpFailure } from '../../lib/http.ts';
import type { Attempt } from './attempt.ts';
import { fetchOver } from './http-fetch.ts';
import type { OpenidSettings } from './settings.ts';

/** What the provider publishes of itself is asked for again after so long. */
const KNOWN_MS = 3_600_000;
/** Whoever cannot be reached is not asked again for each that would sign in. */
const FAILED_MS = 5000;

/** Why the provider could not be used: it cannot be reached, it said no, or what it said does not hold. */
export class ProviderFailure extends Error {
  readonly kind: 'unreachable' | 'denied' | 'invalid';

  constructor(kind: ProviderFailure['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ProviderFailure';
    this.kind = kind;
  }
}

export type Claims = Readonly<Record<string, unknown>>;

interface Redeemed {
  readonly idToken: string;
  readonly issuer: string;
  readonly subject: string;
  /**
   * Of the ID token, with those of the userinfo endpoint where the token lacks one that was wanted; `email` and
   * `email_verified` are of the same one.
   */
  readonly claims: Claims;
}

/** The OpenID Connect provider of the settings. All throw `ProviderFailure`. */
export interface Provider {
  /** Throws when it cannot be reached or calls itself by another name. */
  discover(): Promise<void>;
  /** Where the browser goes. */
  authorizationUrl(attempt: Attempt, redirectUri: string): Promise<string>;
  /** Changes the code of the answer for what the provider says of the user. */
  redeem(answer: URL, attempt: Attempt, wanted: readonly string[]): Promise<Redeemed>;
  /** Where the browser goes to end the session there too; undefined when the provider has no such place. */
  endSessionUrl(idToken: string, returnTo: string): Promise<string | undefined>;
}

interface Known {
  readonly configuration: openid.Configuration;
  readonly at: number;
}

export function createProvider(
  settings: OpenidSettings,
  { http, clock }: { readonly http: HttpClient; readonly clock: Pick<Clock, 'monotonic'> },
): Provider {
  let known: Known | undefined;
  let failed: { readonly failure: ProviderFailure; readonly at: number } | undefined;
  let asking: Promise<openid.Configuration> | undefined;

  async function ask(): Promise<openid.Configuration> {
    try {
      const configuration = await discovered(settings, http);
      known = { configuration, at: clock.monotonic() };
      failed = undefined;
      return configuration;
    } catch (error) {
      const failure = failureOf(error);
      failed = { failure, at: clock.monotonic() };
      // What was known an hour ago is better than nobody coming in.
      if (known !== undefined && failure.kind === 'unreachable') return known.configuration;
      throw failure;
    }
  }

  async function current(): Promise<openid.Configuration> {
    const now = clock.monotonic();
    if (known !== undefined && now - known.at < KNOWN_MS) return known.configuration;
    if (failed !== undefined && now - failed.at < FAILED_MS) {
      if (known !== undefined) return known.configuration;
      throw failed.failure;
    }
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  return {
    async discover() {
      await current();
    },

    async authorizationUrl({ state, nonce, verifier }, redirectUri) {
      const configuration = await current();
      const { scope, audience } = settings;
      return openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(audience !== undefined && { audience }),
      }).href;
    },

    async redeem(answer, { state, nonce, verifier }, wanted) {
      const configuration = await current();
      try {
        const tokens = await openid.authorizationCodeGrant(configuration, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined || tokens.id_token === undefined)
          throw new ProviderFailure('invalid', 'the provider sent no ID token');
        const isLacking = wanted.some(name => claims[name] === undefined);
        const isAsked = isLacking && configuration.serverMetadata().userinfo_endpoint !== undefined;
        const more = isAsked
          ? await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)
          : {};
        return {
          idToken: tokens.id_token,
          issuer: claims.iss,
          subject: claims.sub,
          claims: { ...more, ...claims, ...addressIn(claims, more) },
        };
      } catch (error) {
        throw failureOf(error);
      }
    },

    async endSessionUrl(idToken, returnTo) {
      const configuration = await current();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      return openid.buildEndSessionUrl(configuration, {
        id_token_hint: idToken,
        post_logout_redirect_uri: returnTo,
      }).href;
    },
  };
}

/** What is said of an address is said of the one beside it: an answer without a word does not borrow the other's. */
function addressIn(token: Claims, more: Claims): Claims {
  const isTold =
    token.email !== undefined && (token.email_verified !== undefined || token.email !== more.email);
  const { email, email_verified } = isTold ? token : more;
  return { email, email_verified };
}

async function discovered(settings: OpenidSettings, http: HttpClient): Promise<openid.Configuration> {
  const { client_id, client_secret } = settings;
  const issuer = new URL(settings.issuer);
  const fetch = fetchOver(http);
  // The settings let only a provider on this machine go without encryption.
  const execute = issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : [];
  const options = { [openid.customFetch]: fetch, execute };
  const found = (
    await openid.discovery(issuer, client_id, undefined, openid.None(), options)
  ).serverMetadata();
  const configuration = new openid.Configuration(
    found,
    client_id,
    undefined,
    clientAuthentication(client_secret?.reveal(), found.token_endpoint_auth_methods_supported),
  );
  configuration[openid.customFetch] = fetch;
  for (const apply of execute) apply(configuration);
  // Without it a signature is believed unseen, as the token comes over a connection of ours.
  openid.enableNonRepudiationChecks(configuration);
  return configuration;
}

/** OpenID Connect Discovery 1.0, section 3: who says nothing takes Basic. */
function clientAuthentication(
  secret: string | undefined,
  methods: readonly string[] = ['client_secret_basic'],
): openid.ClientAuth {
  if (secret === undefined) return openid.None();
  return methods.includes('client_secret_basic')
    ? openid.ClientSecretBasic(secret)
    : openid.ClientSecretPost(secret);
}

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  const chain = causesOf(error);
  const unreachable = chain.find(one => one instanceof HttpFailure);
  if (unreachable !== undefined) return new ProviderFailure('unreachable', unreachable.message, error);
  const denied = chain.find(one => one instanceof openid.AuthorizationResponseError);
  if (denied !== undefined)
    return new ProviderFailure('denied', `the provider answered '${denied.error}'`, error);
  const refused = chain.map(refusalIn).find(code => code !== undefined);
  if (refused !== undefined)
    return new ProviderFailure('invalid', `the provider answered '${refused}'`, error);
  const status = chain.find(one => one instanceof Response)?.status ?? 0;
  if (status >= 500) return new ProviderFailure('unreachable', `the provider answered ${status}`, error);
  const texts = chain.filter(one => one instanceof Error).map(reasonOf);
  return new ProviderFailure('invalid', [...new Set(texts)].join(': '), error);
}

/** The error code of RFC 6749 section 5.2, in the body or the header of an answer. */
function refusalIn(error: unknown): string | undefined {
  if (error instanceof openid.ResponseBodyError) return error.error;
  if (error instanceof openid.WWWAuthenticateChallengeError) return error.cause[0]?.parameters.error;
  return undefined;
}

/** The library says in the cause, at times as the bare answer, what it met. */
function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && chain.length < 5; at = at instanceof Error ? at.cause : undefined)
    chain.push(at);
  return chain;
}
