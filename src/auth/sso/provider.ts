import * as openid from 'openid-client';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { HttpAnswer, HttpClient } from '../../lib/http/client.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import { parseJsonBytes } from '../../lib/json.ts';
import type { OpenidSettings } from '../settings.ts';
import { isUnambiguousToken } from '../tokens/jwt.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { claimAt, withClaimsOf } from './groups.ts';

/** How long the provider's published configuration is used before it is discovered again. */
const CACHE_MS = 3_600_000;
/** An unreachable provider is not asked again for each sign-in. */
const RETRY_AFTER_FAILURE_MS = 5000;

/** The provider cannot be reached, denied the sign-in, or gave an invalid answer. */
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
   * From the ID token, and from the userinfo endpoint where the token lacks a required one; `email` and
   * `email_verified` come from the same of the two.
   */
  readonly claims: ProviderClaims;
}

/** The OpenID Connect provider of the settings. All throw `ProviderFailure`. */
export interface Provider {
  /** Throws when it cannot be reached or calls itself by another name. */
  discover(): Promise<void>;
  /** The address to redirect the browser to. */
  authorizationUrl(request: AuthorizationRequest, redirectUri: string): Promise<string>;
  /** Exchanges the code in the callback for the identity and the claims of the user. */
  redeem(
    callbackUrl: URL,
    request: AuthorizationRequest,
    requiredClaims: readonly string[],
  ): Promise<RedeemedIdentity>;
  /** The address at which the browser ends the provider's session; undefined when the provider has none. */
  endSessionUrl(idToken: string, returnTo: string): Promise<string | undefined>;
}

interface ProviderDependencies {
  readonly http: HttpClient;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export const createProvider = (settings: OpenidSettings, { http, clock }: ProviderDependencies): Provider =>
  new OpenidProvider({ settings, http, clock });

class OpenidProvider implements Provider {
  #cached: { readonly configuration: openid.Configuration; readonly at: number } | undefined;
  #failed: { readonly failure: ProviderFailure; readonly at: number } | undefined;
  #discovering: Promise<openid.Configuration> | undefined;
  readonly #settings: OpenidSettings;
  readonly #http: HttpClient;
  readonly #clock: ProviderDependencies['clock'];

  constructor({ settings, http, clock }: ProviderDependencies & { readonly settings: OpenidSettings }) {
    this.#settings = settings;
    this.#http = http;
    this.#clock = clock;
  }

  async discover(): Promise<void> {
    await this.#configuration();
  }

  async authorizationUrl(
    { state, nonce, verifier }: AuthorizationRequest,
    redirectUri: string,
  ): Promise<string> {
    const configuration = await this.#configuration();
    const { scope, audience } = this.#settings;
    return openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(audience !== undefined && { audience }),
    }).href;
  }

  async redeem(
    callbackUrl: URL,
    { state, nonce, verifier }: AuthorizationRequest,
    requiredClaims: readonly string[],
  ): Promise<RedeemedIdentity> {
    const configuration = await this.#configuration();
    try {
      const tokens = await openid.authorizationCodeGrant(configuration, callbackUrl, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined)
        throw new ProviderFailure('invalid', 'the provider sent no ID token');
      if (!isUnambiguousToken(tokens.id_token))
        throw new ProviderFailure('invalid', 'the ID token of the provider is not JSON of one meaning');
      const isLacking = requiredClaims.some(name => claimAt(claims, name) === undefined);
      const hasMore = isLacking && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const userInfo = hasMore
        ? await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        : {};
      return {
        idToken: tokens.id_token,
        issuer: claims.iss,
        subject: claims.sub,
        claims: { ...withClaimsOf(claims, userInfo), ...emailClaims(claims, userInfo) },
      };
    } catch (error) {
      throw failureOf(error);
    }
  }

  async endSessionUrl(idToken: string, returnTo: string): Promise<string | undefined> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return openid.buildEndSessionUrl(configuration, {
      id_token_hint: idToken,
      post_logout_redirect_uri: returnTo,
    }).href;
  }

  async #configuration(): Promise<openid.Configuration> {
    const now = this.#clock.monotonic();
    if (this.#cached !== undefined && now - this.#cached.at < CACHE_MS) return this.#cached.configuration;
    if (this.#failed !== undefined && now - this.#failed.at < RETRY_AFTER_FAILURE_MS) {
      if (this.#cached !== undefined) return this.#cached.configuration;
      throw this.#failed.failure;
    }
    this.#discovering ??= this.#discoverOnce().finally(() => {
      this.#discovering = undefined;
    });
    return this.#discovering;
  }

  async #discoverOnce(): Promise<openid.Configuration> {
    try {
      const configuration = await discoverConfiguration(this.#settings, this.#http);
      this.#cached = { configuration, at: this.#clock.monotonic() };
      this.#failed = undefined;
      return configuration;
    } catch (error) {
      const failure = failureOf(error);
      this.#failed = { failure, at: this.#clock.monotonic() };
      // A configuration of an hour ago is better than letting nobody in.
      if (this.#cached !== undefined && failure.kind === 'unreachable') return this.#cached.configuration;
      throw failure;
    }
  }
}

/** `email_verified` is about the `email` beside it: an answer without it does not borrow the other's. */
function emailClaims(token: ProviderClaims, userInfo: ProviderClaims): ProviderClaims {
  const isComplete =
    token.email !== undefined && (token.email_verified !== undefined || token.email !== userInfo.email);
  const { email, email_verified } = isComplete ? token : userInfo;
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
  // Without it the signature is not checked, as the token comes over a connection to the provider itself.
  openid.enableNonRepudiationChecks(configuration);
  return configuration;
}

/** OpenID Connect Discovery 1.0, section 3: a provider that names no method takes Basic. */
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

/** The library puts the reason into the cause, at times as the bare response. */
function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && chain.length < 5; at = at instanceof Error ? at.cause : undefined)
    chain.push(at);
  return chain;
}

const TIMEOUT_MS = 10_000;
const LARGEST_ANSWER = 1024 * 1024;
const WITHOUT_BODY = [204, 205, 304];

/** Our HTTP client, which guards the addresses that may be connected to, in the form of `fetch`. */
const fetchOver =
  (http: Pick<HttpClient, 'request'>): openid.CustomFetch =>
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
    assertUnambiguous(answer);
    if (answer.truncated) throw new Error(`an answer of the provider is over ${LARGEST_ANSWER} bytes`);
    return new Response(WITHOUT_BODY.includes(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: withoutEncoding(answer.headers),
    });
  };

/** Keys, metadata, tokens and userinfo alike: none may have a member twice. Throws `invalid-request`. */
function assertUnambiguous({ headers, body, truncated }: HttpAnswer): void {
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '');
  if (isJson && !truncated && body.length > 0) parseJsonBytes(body);
}

/** The body is already decoded. */
const withoutEncoding = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['content-encoding', 'content-length'].includes(name)),
  );
