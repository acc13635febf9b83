import { type Client, createClient } from '@headgate/client';
import { connectTo } from '@headgate/client/node';
import { type Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { type Profile, profilesFile, readProfiles } from './profiles.ts';

/** Flags of every command that asks a server. */
export interface ServerFlags {
  readonly profile?: string;
  readonly json?: boolean;
}

/** A server and whoever is logged in there. */
export interface Session {
  readonly client: Client;
  /** Undefined when the environment names the server. */
  readonly profile: string | undefined;
  readonly url: string;
  /** Epoch ms. */
  readonly expiresAt: number | undefined;
}

export const DEFAULT_URL = 'http://127.0.0.1:9000';

export const withServer = (command: Command): Command =>
  command
    .addOption(new Option('--profile <name>', 'the login to use, as `login --profile` named it'))
    .option('--json', 'answer as JSON');

/**
 * HEADGATE_URL and HEADGATE_TOKEN win over every profile, for programs that log in elsewhere. Throws
 * `unauthenticated`, naming the remedy, when nobody is logged in.
 */
export async function openSession(
  flags: ServerFlags,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Session> {
  const { HEADGATE_URL: url, HEADGATE_TOKEN: token, HEADGATE_PROFILE } = environment;
  if (token !== undefined && token !== '' && flags.profile === undefined) {
    const at = { url: url || DEFAULT_URL, token };
    return { client: clientOf(at), profile: undefined, url: at.url, expiresAt: undefined };
  }
  const { current, profiles } = await readProfiles(profilesFile(environment));
  const name = flags.profile ?? (HEADGATE_PROFILE || current);
  const found = profiles[name];
  if (found?.token === undefined)
    throw new AppError('unauthenticated', `nobody is logged in (profile '${name}'); run ${loginText(name)}`);
  if (found.expiresAt !== undefined && found.expiresAt <= systemClock.now())
    throw new AppError('unauthenticated', `the login of profile '${name}' is over; run ${loginText(name)}`);
  return { client: clientOf(found), profile: name, url: found.url, expiresAt: found.expiresAt };
}

const loginText = (profile: string): string =>
  profile === 'default' ? 'headgate login' : `headgate login --profile ${profile}`;

export const clientOf = ({ url, token, connect }: Profile): Client =>
  createClient({
    baseUrl: url,
    ...(token !== undefined && { auth: { token } }),
    ...(connect !== undefined && { fetch: connectTo(connect) }),
  });
