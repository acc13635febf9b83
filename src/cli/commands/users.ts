import type { Schemas } from '@headgate/client';
import { Argument, Command } from 'commander';
import { passwordsFromPerson } from '../input.ts';
import { actsOnStore, configOption, dataOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import { profilesFile, readProfiles, writeProfiles } from '../profiles.ts';
import { resourceCommand } from '../resource-command.ts';
import { openSession, runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type User = Schemas['User'];

export function usersCommand(finish: Finish): Command {
  const command = resourceCommand<User, Schemas['NewUser'], Schemas['UserChange']>(
    {
      name: 'users',
      description: 'who may log in',
      columns: [
        { name: 'name', of: one => one.username },
        { name: 'roles', of: one => one.roles.join(' ') },
        { name: 'kind', of: one => one.kind },
        { name: 'disabled', of: one => (one.disabled ? 'disabled' : '') },
        { name: 'email', of: one => one.email },
      ],
      list: ({ users }) => users.list(),
      get: ({ users }, id) => users.get({ id }),
      create: ({ users }, body) => users.create({ body }),
      update: ({ users }, id, body) => users.update({ id, body }),
      remove: ({ users }, id) => users.remove({ id }),
    },
    finish,
  );
  return command.addCommand(resetCommand(finish)).addCommand(changeCommand(finish));
}

interface ResetFlags extends ServerFlags {
  readonly config: string;
  readonly data: string;
}

const AFTER_RESET = `
The password is never an argument, which every user of the machine could see: it is asked for, or read from standard
input. A person must choose another one at the next login.
With --config or --data it goes into the store itself, while no server uses it: the way back in when no admin can log in.
`;

function resetCommand(finish: Finish): Command {
  const command = withServerOptions(new Command('reset-password').description('give a user another password'))
    .addArgument(new Argument('<name>', 'name or id of the user'))
    .addOption(configOption())
    .addOption(dataOption())
    .addHelpText('after', AFTER_RESET);
  return command.action(async (name: string, flags: ResetFlags) => {
    const isStore = actsOnStore(command);
    try {
      const session = isStore ? undefined : await openSession(flags);
      const [password = ''] = await passwordsFromPerson([`New password of ${name}`]);
      if (session === undefined) {
        const { resetPasswordInStore } = await import('../store-identity.ts');
        await resetPasswordInStore(flags, name, password);
      } else await session.client.users.update({ id: name, body: { password } });
      print(`the password of ${name} is another one; all logins with the old one are over`);
      finish(EXIT.ok);
    } catch (error) {
      finish(reportFailure(error));
    }
  });
}

const changeCommand = (finish: Finish): Command =>
  withServerOptions(new Command('change-password').description('choose another password of your own')).action(
    (flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client, profile }) => {
        const { id } = await client.auth.me();
        const [currentPassword = '', password = ''] = await passwordsFromPerson([
          'Current password',
          'New password',
        ]);
        const { token } = await client.profile.update({ id, body: { currentPassword, password } });
        if (profile !== undefined && token !== undefined) await saveToken(profile, token);
        print('the password is another one; all other logins are over');
      }),
  );

/** Replaces the ended token by the one that came with the new password. */
async function saveToken(name: string, token: string): Promise<void> {
  const file = profilesFile(process.env);
  const { current, profiles } = await readProfiles(file);
  const { [name]: profile } = profiles;
  if (profile === undefined) return;
  const { expiresAt: _, ...rest } = profile;
  await writeProfiles(file, { current, profiles: { ...profiles, [name]: { ...rest, token } } });
}
