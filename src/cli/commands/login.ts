import { type Authentication, logIn, type Token } from '@headgate/client';
import { connectTo } from '@headgate/client/node';
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { promptSecret, readSecret } from '../input.ts';
import { orgOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print, printError } from '../output/output.ts';
import { PROFILE_NAME, profilesFile, readProfiles, writeProfiles } from '../profiles.ts';
import { clientOf, DEFAULT_URL } from '../session.ts';

interface LoginFlags extends SignInFlags {
  readonly profile: string;
}

const AFTER = `
The password or the secret of the credential is never an argument, which every user of the machine could see: it is
asked for, read from standard input, or taken from HEADGATE_CLIENT_SECRET. What is kept is the token, in a file that
only you can read.
  headgate login --url https://headgate.example
At the login service of a hosted deployment members and API credentials log in; --url names the workspace that other
commands ask, --org the organization that headgate org and headgate credentials manage. A password that must be changed
first is asked for, or is the second line of standard input.
  headgate login --auth-url https://login.example --username ann@acme.example --org acme
  headgate login --auth-url https://login.example --client-id ID --audience https://api.example --url https://main-acme.example
Programs that log in elsewhere set HEADGATE_URL or HEADGATE_AUTH_URL, and HEADGATE_TOKEN, instead.
`;

export const loginCommand = (finish: Finish): Command =>
  new Command('login')
    .description('log in at a server, for the commands that ask it')
    .addOption(new Option('--url <url>', 'the server').env('HEADGATE_URL').default(DEFAULT_URL))
    .option('--profile <name>', 'what this login is called, for having several', profileName, 'default')
    .option('--connect <host:port>', 'connect there, whatever the url names')
    .option('--username <name>', 'a local user, admin unless said, or the e-mail address of a member')
    .option('--client-id <id>', 'an API credential, of a hosted deployment')
    .addOption(
      new Option('--auth-url <url>', 'the login service, of a hosted deployment').env('HEADGATE_AUTH_URL'),
    )
    .option('--audience <url>', 'what the token of a credential is for')
    .addOption(orgOption())
    .addHelpText('after', AFTER)
    .action(async ({ url, ...flags }: LoginFlags & { readonly url: string }, command: Command) => {
      try {
        const isForService = flags.authUrl !== undefined && command.getOptionValueSource('url') === 'default';
        await login({ ...flags, ...(!isForService && { url }) });
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });

async function login(flags: LoginFlags): Promise<void> {
  const { url, profile, connect, authUrl, org } = flags;
  for (const address of [url, authUrl]) if (address !== undefined) warnOfPlainHttp(address);
  const { name, header, lifetimeMs, mustChangePassword } = await signIn(flags);
  const at = {
    ...(url !== undefined && { url }),
    ...(connect !== undefined && { connect }),
    ...(authUrl !== undefined && { authUrl }),
    ...(org !== undefined && { organization: org }),
    token: header,
    ...(lifetimeMs !== undefined && { expiresAt: systemClock.now() + lifetimeMs }),
  };
  const known = url === undefined ? name : (await clientOf({ ...at, url }).auth.me()).name;
  const file = profilesFile(process.env);
  const { profiles } = await readProfiles(file);
  await writeProfiles(file, { current: profile, profiles: { ...profiles, [profile]: at } });
  if (mustChangePassword)
    printError('This password must be changed before anything else: headgate users change-password');
  print(`logged in at ${url ?? authUrl} as ${known}`);
}

/** Plain HTTP is for this machine: elsewhere others on the network can read the password. */
function warnOfPlainHttp(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  const isHere = /^(localhost|127\.[\d.]+|\[::1\])$|\.localhost$/.test(hostname);
  if (protocol === 'http:' && !isHere)
    printError(`${url} is not encrypted: others on the network can read the password and the token`);
}

function profileName(name: string): string {
  if (PROFILE_NAME.test(name)) return name;
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits, "_" or "-".');
}

interface SignInFlags {
  readonly url?: string;
  readonly connect?: string;
  readonly username?: string;
  readonly clientId?: string;
  readonly authUrl?: string;
  readonly audience?: string;
  /** Of the member's account. */
  readonly org?: string;
}

interface SignedIn extends Token {
  /** Name from the flags. */
  readonly name: string;
}

/** Gets a token for a local user of `url`, or at the login service for a credential or a member. */
async function signIn(flags: SignInFlags): Promise<SignedIn> {
  const { url = '', connect, username, clientId, authUrl, audience } = flags;
  if (clientId !== undefined) {
    if (authUrl === undefined || audience === undefined)
      throw new AppError('invalid-request', '--client-id needs --auth-url and --audience as well');
    const clientSecret =
      process.env.HEADGATE_CLIENT_SECRET || (await secretFromPerson('Secret of the credential: '));
    return { name: clientId, ...(await tokenAt(authUrl, { clientId, clientSecret, authUrl, audience })) };
  }
  if (authUrl !== undefined) {
    if (username === undefined)
      throw new AppError(
        'invalid-request',
        '--auth-url needs the --username of a member, or --client-id and --audience of a credential',
      );
    return { name: username, ...(await memberToken({ username, authUrl, org: flags.org })) };
  }
  const name = username ?? 'admin';
  const auth = { username: name, password: await secretFromPerson(`Password of ${name}: `) };
  const fetched = connect === undefined ? {} : { fetch: connectTo(connect) };
  return { name, ...(await logIn({ baseUrl: url, auth, ...fetched })) };
}

/** Without a terminal the password and, where it must be changed, the new one are a line each. */
async function memberToken({
  username,
  authUrl,
  org,
}: {
  readonly username: string;
  readonly authUrl: string;
  readonly org: string | undefined;
}): Promise<Token> {
  const { stdin } = process;
  const lines = stdin.isTTY ? undefined : (await readSecret(stdin)).split(/\r?\n/);
  const password = lines?.[0] ?? (await secretFromPerson(`Password of ${username}: `));
  const auth = { username, password, authUrl, ...(org !== undefined && { organization: org }) };
  const token = await tokenAt(authUrl, auth);
  if (token.mustChangePassword !== true) return token;
  const newPassword =
    lines === undefined ? await secretFromPerson('It must be changed first. New password: ') : lines[1];
  if (newPassword === undefined || newPassword === '')
    throw new AppError(
      'password-change-required',
      'the password must be changed first: give the new one as second line of standard input',
    );
  return tokenAt(authUrl, { ...auth, newPassword });
}

const tokenAt = (authUrl: string, auth: Authentication): Promise<Token> => logIn({ baseUrl: authUrl, auth });

async function secretFromPerson(question: string): Promise<string> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY) return readSecret(input);
  const answer = await promptSecret(question, { input, output });
  if (answer === undefined) throw new AppError('invalid-request', 'nobody was logged in');
  return answer;
}
