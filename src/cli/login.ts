import { type Authentication, logIn } from '@headgate/client';
import { connectTo } from '@headgate/client/node';
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import { complain, print } from './output.ts';
import { PROFILE_NAME, profilesFile, readProfiles, writeProfiles } from './profiles.ts';
import { promptSecret, readSecret } from './secret-input.ts';
import { clientOf, DEFAULT_URL } from './session.ts';

interface LoginFlags {
  readonly url: string;
  readonly profile: string;
  readonly connect?: string;
  readonly username: string;
  readonly clientId?: string;
  readonly authUrl?: string;
  readonly audience?: string;
}

const AFTER = `
The password or the secret of the credential is never an argument, which every user of the machine could see: it is
asked for, read from standard input, or taken from HEADGATE_CLIENT_SECRET. What is kept is the token, in a file that
only you can read.
  headgate login --url https://headgate.example
  headgate login --profile ci --client-id ID --auth-url https://login.example --audience https://api.example
Programs that log in elsewhere set HEADGATE_URL and HEADGATE_TOKEN instead.
`;

export const loginCommand = (finish: Finish): Command =>
  new Command('login')
    .description('log in at a server, for the commands that ask it')
    .addOption(new Option('--url <url>', 'the server').env('HEADGATE_URL').default(DEFAULT_URL))
    .option('--profile <name>', 'what this login is called, for having several', profileName, 'default')
    .option('--connect <host:port>', 'connect there, whatever the url names')
    .option('--username <name>', 'a local user', 'admin')
    .option('--client-id <id>', 'an API credential, of a hosted deployment')
    .option('--auth-url <url>', 'its login service')
    .option('--audience <url>', 'what the token is for')
    .addHelpText('after', AFTER)
    .action(async (flags: LoginFlags) => {
      try {
        await login(flags);
        finish(EXIT.ok);
      } catch (error) {
        finish(explain(error));
      }
    });

async function login(flags: LoginFlags): Promise<void> {
  const { url, profile, connect } = flags;
  warnOfPlainHttp(url);
  const { header, lifetimeMs, mustChangePassword } = await logIn({
    baseUrl: url,
    auth: await authenticationOf(flags),
    ...(connect !== undefined && { fetch: connectTo(connect) }),
  });
  const at = {
    url,
    ...(connect !== undefined && { connect }),
    token: header,
    ...(lifetimeMs !== undefined && { expiresAt: systemClock.now() + lifetimeMs }),
  };
  const me = await clientOf(at).auth.me();
  const file = profilesFile(process.env);
  const { profiles } = await readProfiles(file);
  await writeProfiles(file, { current: profile, profiles: { ...profiles, [profile]: at } });
  if (mustChangePassword)
    complain('This password must be changed before anything else: headgate users change-password');
  print(`logged in at ${url} as ${me.name}`);
}

async function authenticationOf({
  username,
  clientId,
  authUrl,
  audience,
}: LoginFlags): Promise<Authentication> {
  if (clientId === undefined)
    return { username, password: await secretFromPerson(`Password of ${username}: `) };
  if (authUrl === undefined || audience === undefined)
    throw new AppError('invalid-request', '--client-id needs --auth-url and --audience as well');
  const clientSecret =
    process.env.HEADGATE_CLIENT_SECRET || (await secretFromPerson('Secret of the credential: '));
  return { clientId, clientSecret, authUrl, audience };
}

async function secretFromPerson(question: string): Promise<string> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY) return readSecret(input);
  const answer = await promptSecret(question, { input, output });
  if (answer === undefined) throw new AppError('invalid-request', 'nobody was logged in');
  return answer;
}

/** Plain HTTP is for this machine: elsewhere everybody on the way reads the password. */
function warnOfPlainHttp(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  const isHere = /^(localhost|127\.[\d.]+|\[::1\])$|\.localhost$/.test(hostname);
  if (protocol === 'http:' && !isHere)
    complain(`${url} is not encrypted: whoever is on the way can read the password and the token`);
}

function profileName(name: string): string {
  if (PROFILE_NAME.test(name)) return name;
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits, "_" or "-".');
}
