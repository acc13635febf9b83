import { objectOf, refusalOf } from './answer.ts';
import { HeadgateConnectionError, HeadgateUsageError } from './errors.ts';
import { type Sending, send } from './send.ts';
import { lifetimeOf, type Token } from './tokens.ts';

/** A local user of a customer-managed server. */
export interface UserPassword {
  readonly username: string;
  readonly password: string;
}

/** A member of an organization of a hosted deployment. */
export interface MemberPassword {
  /** The e-mail address. */
  readonly username: string;
  readonly password: string;
  /** Of the login service: `/session` is below it. */
  readonly authUrl: string;
  /** Whose account it is. Without it the first accounts of the address are tried. */
  readonly organization?: string;
  /** Takes the place of the password first, so that `logIn` has it and no client, which would change it at each renewal. */
  readonly newPassword?: string;
}

/** An API credential of a hosted deployment (RFC 6749 section 4.4). */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Of the login service: `/oauth/token` is below it. */
  readonly authUrl: string;
  readonly audience: string;
}

/** A token from elsewhere, or how to get one; it is asked for again when the server does not take it any more. */
export interface GivenToken {
  readonly token: string | (() => string | Promise<string>);
}

export type Authentication = UserPassword | MemberPassword | ClientCredentials | GivenToken;

/** Gets a token, however it is to be got. Throws `HeadgateUsageError` when nobody said how. */
export async function obtainToken(
  authentication: Authentication | undefined,
  baseUrl: string,
  sending: Sending,
): Promise<Token> {
  if (authentication === undefined)
    throw new HeadgateUsageError('this call needs a token: give createClient an `auth`');
  if ('username' in authentication) return login(authentication, baseUrl, sending);
  return 'clientId' in authentication ? grant(authentication, sending) : given(authentication);
}

async function login(
  credentials: UserPassword | MemberPassword,
  baseUrl: string,
  sending: Sending,
): Promise<Token> {
  const { url, body } = signIn(credentials, baseUrl);
  const { token, forcePasswordChange } = await obtained(url, 'application/json', sending, {
    body: JSON.stringify(body),
  });
  const header = headerOf(textIn(token, 'token'));
  return { header, lifetimeMs: lifetimeOf(header), mustChangePassword: forcePasswordChange === true };
}

function signIn(credentials: UserPassword | MemberPassword, baseUrl: string) {
  if (!('authUrl' in credentials)) {
    const { username, password } = credentials;
    return { url: `${baseUrl}/auth/login`, body: { username, password } };
  }
  const { authUrl, ...body } = credentials;
  return { url: below(authUrl, '/session'), body };
}

async function grant(credentials: ClientCredentials, sending: Sending): Promise<Token> {
  const { clientId, clientSecret, authUrl, audience } = credentials;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    audience,
  });
  const url = below(authUrl, '/oauth/token');
  const answer = await obtained(url, 'application/x-www-form-urlencoded', sending, { body: form.toString() });
  const seconds = answer.expires_in;
  const header = headerOf(textIn(answer.access_token, 'access_token'));
  return { header, lifetimeMs: typeof seconds === 'number' ? seconds * 1000 : lifetimeOf(header) };
}

async function given({ token }: GivenToken): Promise<Token> {
  const header = headerOf(typeof token === 'string' ? token : await token());
  return { header, lifetimeMs: typeof token === 'string' ? undefined : lifetimeOf(header) };
}

/** A renewal serves many calls, so that none of them may end it. */
async function obtained(url: string, type: string, sending: Sending, { body }: { readonly body: string }) {
  const headers = { accept: 'application/json', 'content-type': type };
  const answer = await send({ url, method: 'POST', headers, body, signal: undefined }, sending);
  if (answer.status !== 200) throw refusalOf(answer, sending.environment.now());
  return objectOf(answer);
}

function textIn(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new HeadgateConnectionError(`the answer to the login has no ${name}`);
}

/** The login's token begins with the word Bearer already, others do not. */
const headerOf = (token: string): string => (/^bearer\s/i.test(token) ? token : `Bearer ${token}`);

const below = (url: string, path: string): string => url.replace(/\/+$/, '') + path;
