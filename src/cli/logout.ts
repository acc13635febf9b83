import { Command } from 'commander';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import { print } from './output.ts';
import { profilesFile, readProfiles, writeProfiles } from './profiles.ts';

interface LogoutFlags {
  readonly profile?: string;
}

export const logoutCommand = (finish: Finish): Command =>
  new Command('logout')
    .description('forget the token of a login on this machine; elsewhere it is good until its time is over')
    .option('--profile <name>', 'the login to forget, the current one by default')
    .action(async ({ profile }: LogoutFlags) => {
      try {
        const file = profilesFile(process.env);
        const { current, profiles } = await readProfiles(file);
        const name = profile ?? (process.env.HEADGATE_PROFILE || current);
        const { [name]: gone, ...kept } = profiles;
        if (gone !== undefined) await writeProfiles(file, { current, profiles: kept });
        print(gone === undefined ? `nobody was logged in (profile '${name}')` : `logged out of ${gone.url}`);
        finish(EXIT.ok);
      } catch (error) {
        finish(explain(error));
      }
    });
