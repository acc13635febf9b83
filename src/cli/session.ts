import { type Client, createClient } from '@headgate/client';
import { connectTo } from '@headgate/client/node';
import { type Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { reportFailure } from './output/explain.ts';
import { EXIT, type Finish } from './output/output.ts';
import type { LoginProfile } from './profile-schema.ts';
import { profilesFile, readProfiles } from './profiles.ts';

/** Flags of every command that calls a server. */
export interface ServerFlags {
  readonly profile?: string;
  readonly json?: boolean;
}

/** A login at a server. */
export interface ServerSession {
  readonly client: Client;
  /** Undefined when the environment names the server. */
  readonly profile: string | undefined;
  readonly url: string;
  /** Epoch ms. */
  readonly expiresAt: number | undefined;
}

export const DEFAULT_URL = 'http://127.0.0.1:9000';

export const withServerOptions = (command: Command): Command =>
  command
    .addOption(new Option('--profile <name>', 'the login to use, as `login --profile` named it'))
    .option('--json', 'answer as JSON');

/**
 * Opens the current login. Throws as `findLogin`, and `invalid-request` when only a login service was named.
 */
export async function openSession(flags: ServerFlags, timeoutMs?: number): Promise<ServerSession> {
  const { profile, at } = await findLogin(flags);
  const { url, ...rest } = at;
  if (url === undefined)
    throw new AppError(
      'invalid-request',
      `profile '${profile}' is a login at ${at.authUrl} for no workspace; log in with its --url as well`,
    );
  return { client: clientOf({ ...rest, url }, timeoutMs), profile, url, expiresAt: at.expiresAt };
}

/** `profile` is undefined when the login comes from the environment. */
export interface StoredLogin {
  readonly profile: string | undefined;
  readonly at: LoginProfile;
}

/**
 * HEADGATE_TOKEN, with HEADGATE_URL and HEADGATE_AUTH_URL, wins over every profile, for programs that log in elsewhere.
 * Throws `unauthenticated`, naming the remedy, when nobody is logged in.
 */
export async function findLogin(
  flags: ServerFlags,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<StoredLogin> {
  const { HEADGATE_URL: url, HEADGATE_AUTH_URL: authUrl, HEADGATE_TOKEN: token } = environment;
  if (token !== undefined && token !== '' && flags.profile === undefined) {
    const at = { url: url || DEFAULT_URL, ...(authUrl && { authUrl }), token };
    return { profile: undefined, at };
  }
  const { current, profiles } = await readProfiles(profilesFile(environment));
  const profile = flags.profile ?? (environment.HEADGATE_PROFILE || current);
  const at = profiles[profile];
  if (at?.token === undefined)
    throw new AppError(
      'unauthenticated',
      `nobody is logged in (profile '${profile}'); run ${loginText(profile)}`,
    );
  if (at.expiresAt !== undefined && at.expiresAt <= systemClock.now())
    throw new AppError(
      'unauthenticated',
      `the login of profile '${profile}' is over; run ${loginText(profile)}`,
    );
  return { profile, at };
}

const loginText = (profile: string): string =>
  profile === 'default' ? 'headgate login' : `headgate login --profile ${profile}`;

export const clientOf = (
  { url, token, connect }: LoginProfile & { readonly url: string },
  timeoutMs?: number,
): Client =>
  createClient({
    baseUrl: url,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(token !== undefined && { auth: { token } }),
    ...(connect !== undefined && { fetch: connectTo(connect) }),
  });

/** Runs `work` with the current login, and reports a failure. A request has `timeoutMs`, by default that of the client. */
export async function runOnServer(
  finish: Finish,
  flags: ServerFlags,
  work: (session: ServerSession) => Promise<void>,
  timeoutMs?: number,
): Promise<void> {
  try {
    await work(await openSession(flags, timeoutMs));
    finish(EXIT.ok);
  } catch (error) {
    finish(reportFailure(error));
  }
}
