import type { CustomFetch } from 'openid-client';
import * as openid from 'openid-client';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import type { OpenidSettings } from '../settings.ts';
import type { AuthorizationRequest } from './authorization-request.ts';

/** What the provider publishes of itself is asked for again after so long. */
const CACHE_MS = 3_600_000;
/** Whoever cannot be reached is not asked again for each that would sign in. */
const RETRY_AFTER_FAILURE_MS = 5000;

/** Why the provider could not be used: it cannot be reached, it said no, or what it said does not hold. */
export class ProviderFailure extends Error {
  readonly kind: 'unreachable' | 'denied' | 'invalid';

  constructor(kind: ProviderFailure['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ProviderFailure';
    this.kind = kind;
  }
}

export type ProviderClaims = Readonly<Record<string, unknown>>;

interface RedeemedIdentity {
  readonly idToken: string;
  readonly issuer: string;
  readonly subject: string;
  /**
   * Of the ID token, with those of the userinfo endpoint where the token lacks one that was wanted; `email` and
   * `email_verified` are of the same one.
   */
  readonly claims: ProviderClaims;
}

/** The OpenID Connect provider of the settings. All throw `ProviderFailure`. */
export interface Provider {
  /** Throws when it cannot be reached or calls itself by another name. */
  discover(): Promise<void>;
  /** Where the browser goes. */
  authorizationUrl(request: AuthorizationRequest, redirectUri: string): Promise<string>;
  /** Changes the code of the answer for what the provider says of the user. */
  redeem(
    answer: URL,
    request: AuthorizationRequest,
    requiredClaims: readonly string[],
  ): Promise<RedeemedIdentity>;
  /** Where the browser goes to end the session there too; undefined when the provider has no such place. */
  endSessionUrl(idToken: string, returnTo: string): Promise<string | undefined>;
}

interface CachedConfiguration {
  readonly configuration: openid.Configuration;
  readonly at: number;
}

export function createProvider(
  settings: OpenidSettings,
  { http, clock }: { readonly http: HttpClient; readonly clock: Pick<Clock, 'monotonic'> },
): Provider {
  let cached: CachedConfiguration | undefined;
  let failed: { readonly failure: ProviderFailure; readonly at: number } | undefined;
  let discovering: Promise<openid.Configuration> | undefined;

  async function discoverOnce(): Promise<openid.Configuration> {
    try {
      const configuration = await discoverConfiguration(settings, http);
      cached = { configuration, at: clock.monotonic() };
      failed = undefined;
      return configuration;
    } catch (error) {
      const failure = failureOf(error);
      failed = { failure, at: clock.monotonic() };
      // What was known an hour ago is better than nobody coming in.
      if (cached !== undefined && failure.kind === 'unreachable') return cached.configuration;
      throw failure;
    }
  }

  async function current(): Promise<openid.Configuration> {
    const now = clock.monotonic();
    if (cached !== undefined && now - cached.at < CACHE_MS) return cached.configuration;
    if (failed !== undefined && now - failed.at < RETRY_AFTER_FAILURE_MS) {
      if (cached !== undefined) return cached.configuration;
      throw failed.failure;
    }
    discovering ??= discoverOnce().finally(() => {
      discovering = undefined;
    });
    return discovering;
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

    async redeem(answer, { state, nonce, verifier }, requiredClaims) {
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
        const isLacking = requiredClaims.some(name => claims[name] === undefined);
        const isAsked = isLacking && configuration.serverMetadata().userinfo_endpoint !== undefined;
        const userInfo = isAsked
          ? await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)
          : {};
        return {
          idToken: tokens.id_token,
          issuer: claims.iss,
          subject: claims.sub,
          claims: { ...userInfo, ...claims, ...emailClaims(claims, userInfo) },
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
function emailClaims(token: ProviderClaims, userInfo: ProviderClaims): ProviderClaims {
  const isTold =
    token.email !== undefined && (token.email_verified !== undefined || token.email !== userInfo.email);
  const { email, email_verified } = isTold ? token : userInfo;
  return { email, email_verified };
}

async function discoverConfiguration(
  settings: OpenidSettings,
  http: HttpClient,
): Promise<openid.Configuration> {
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
  const refused = chain.map(oauthErrorCode).find(code => code !== undefined);
  if (refused !== undefined)
    return new ProviderFailure('invalid', `the provider answered '${refused}'`, error);
  const status = chain.find(one => one instanceof Response)?.status ?? 0;
  if (status >= 500) return new ProviderFailure('unreachable', `the provider answered ${status}`, error);
  const texts = chain.filter(one => one instanceof Error).map(reasonOf);
  return new ProviderFailure('invalid', [...new Set(texts)].join(': '), error);
}

/** The error code of RFC 6749 section 5.2, in the body or the header of an answer. */
function oauthErrorCode(error: unknown): string | undefined {
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

const TIMEOUT_MS = 10_000;
const LARGEST_ANSWER = 1024 * 1024;
const WITHOUT_BODY = [204, 205, 304];

/** The one way out over HTTP, in the form of `fetch`: what may be connected to is judged there. */
const fetchOver =
  (http: Pick<HttpClient, 'request'>): CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const sent = body instanceof URLSearchParams ? body.toString() : body;
    const answer = await http.request({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(typeof sent === 'string' && { body: sent }),
      ...(signal !== undefined && { signal }),
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: LARGEST_ANSWER,
    });
    if (answer.truncated) throw new Error(`an answer of the provider is over ${LARGEST_ANSWER} bytes`);
    return new Response(WITHOUT_BODY.includes(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: withoutEncoding(answer.headers),
    });
  };

/** The body is decoded by now. */
const withoutEncoding = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['content-encoding', 'content-length'].includes(name)),
  );
