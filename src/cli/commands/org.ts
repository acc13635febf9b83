import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { configOption, dataOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import type { Folders } from '../store.ts';
import { membersCommand } from './org-members.ts';
import { workspacesCommand } from './org-workspaces.ts';

interface CreateFlags extends Folders {
  readonly owner: string;
  readonly workspace: string;
  readonly json?: boolean;
}

interface UpdateFlags extends Folders {
  readonly roleSelector: boolean;
  readonly json?: boolean;
}

export const orgCommand = (finish: Finish): Command =>
  new Command('org')
    .description('organizations of a hosted deployment, their members and workspaces')
    .addCommand(createCommand(finish))
    .addCommand(updateCommand(finish))
    .addCommand(membersCommand(finish))
    .addCommand(workspacesCommand(finish));

const onStore = (command: Command): Command =>
  command
    .addArgument(new Argument('<id>', 'id of the organization'))
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'answer JSON');

const createCommand = (finish: Finish): Command =>
  onStore(
    new Command('create').description(
      'add an organization to the store, with its first workspace and its owner',
    ),
  )
    .requiredOption('--owner <email>', 'who owns it')
    .requiredOption('--workspace <id>', 'its first workspace')
    .addHelpText('after', "\nThe owner's password is shown once, and must be changed at the first sign-in.\n")
    .action(async (id: string, { owner, workspace, json, ...folders }: CreateFlags) => {
      try {
        const { createOrganizationInStore } = await import('../store-identity.ts');
        const created = await createOrganizationInStore(folders, { id, owner, workspace });
        const { username } = created.owner;
        const password = created.password.reveal();
        if (json === true) print(JSON.stringify({ organization: id, workspace, owner: username, password }));
        else {
          print(`organization ${id} has the workspace ${workspace} and the owner ${username}`);
          print(`One-time password: ${password}`);
        }
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });

const updateCommand = (finish: Finish): Command =>
  onStore(new Command('update').description('change an organization in the store'))
    .addOption(
      new Option('--role-selector <on|off>', 'on: credentials have roles; off: every token is Admin')
        .argParser(switchOf)
        .makeOptionMandatory(),
    )
    .action(async (id: string, { roleSelector, json, ...folders }: UpdateFlags) => {
      try {
        const { setRoleSelectorInStore } = await import('../store-identity.ts');
        await setRoleSelectorInStore(folders, id, roleSelector);
        if (json === true) print(JSON.stringify({ organization: id, roleSelector }));
        else print(`the role selector of ${id} is ${roleSelector ? 'on' : 'off'}`);
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });

function switchOf(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('It must be on or off.');
}
