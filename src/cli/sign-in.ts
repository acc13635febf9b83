import { type Authentication, logIn, type Token } from '@headgate/client';
import { connectTo } from '@headgate/client/node';
import { AppError } from '../lib/errors.ts';
import { promptSecret, readSecret } from './secret-input.ts';

export interface SignInFlags {
  readonly url?: string;
  readonly connect?: string;
  readonly username?: string;
  readonly clientId?: string;
  readonly authUrl?: string;
  readonly audience?: string;
}

interface SignedIn extends Token {
  /** Who, as far as the flags say. */
  readonly name: string;
}

/** Gets a token for a local user of `url`, or at the login service for a credential or a member. */
export async function signIn(flags: SignInFlags): Promise<SignedIn> {
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
    return { name: username, ...(await memberToken(username, authUrl)) };
  }
  const name = username ?? 'admin';
  const auth = { username: name, password: await secretFromPerson(`Password of ${name}: `) };
  const fetched = connect === undefined ? {} : { fetch: connectTo(connect) };
  return { name, ...(await logIn({ baseUrl: url, auth, ...fetched })) };
}

/** Without a terminal the password, and the one that takes its place where it must be changed, are a line each. */
async function memberToken(username: string, authUrl: string): Promise<Token> {
  const { stdin } = process;
  const lines = stdin.isTTY ? undefined : (await readSecret(stdin)).split(/\r?\n/);
  const password = lines?.[0] ?? (await secretFromPerson(`Password of ${username}: `));
  const auth = { username, password, authUrl };
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
