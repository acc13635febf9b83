import { HeadgateError } from '@headgate/client';
import { Command } from 'commander';
import { reasonOf } from '../../lib/errors.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print, printError } from '../output/output.ts';
import type { LoginProfile } from '../profile-schema.ts';
import { profilesFile, readProfiles, writeProfiles } from '../profiles.ts';
import { clientOf } from '../session.ts';

interface LogoutFlags {
  readonly profile?: string;
}

export const logoutCommand = (finish: Finish): Command =>
  new Command('logout')
    .description('end a login: at the server, and on this machine')
    .option('--profile <name>', 'the login to end, the current one by default')
    .action(async ({ profile }: LogoutFlags) => {
      try {
        const file = profilesFile(process.env);
        const { current, profiles } = await readProfiles(file);
        const name = profile ?? (process.env.HEADGATE_PROFILE || current);
        const { [name]: gone, ...kept } = profiles;
        if (gone !== undefined) {
          await endAt(gone);
          await writeProfiles(file, { current, profiles: kept });
        }
        print(
          gone === undefined
            ? `nobody was logged in (profile '${name}')`
            : `logged out of ${gone.url ?? gone.authUrl}`,
        );
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });

/** The token is removed here in any case: a server that does not answer must not keep a user logged in. */
async function endAt({ url, ...rest }: LoginProfile): Promise<void> {
  if (rest.token === undefined) return;
  if (url === undefined) return printError(`this login was for no workspace; ${IS_GOOD_ELSEWHERE}`);
  try {
    await clientOf({ ...rest, url }).auth.logout();
  } catch (error) {
    if (error instanceof HeadgateError && error.status === 401) return;
    printError(`${reasonOf(error)}; ${IS_GOOD_ELSEWHERE}`);
  }
}

const IS_GOOD_ELSEWHERE = 'the token is forgotten here, and good there until its time is over';
