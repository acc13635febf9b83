import { Argument, Command, Option } from 'commander';
import {
  assertChanges,
  confirmOption,
  printChanged,
  runOnOrganization,
  withOrganizationOptions,
} from '../organization.ts';
import type { OrganizationFlags } from '../organization-client.ts';
import type { Finish } from '../output/output.ts';
import { printItem, printList } from '../output/table.ts';

export const workspacesCommand = (finish: Finish): Command =>
  new Command('workspaces')
    .description('manage workspaces of an organization at the login service')
    .addCommand(listCommand(finish))
    .addCommand(getCommand(finish))
    .addCommand(createCommand(finish))
    .addCommand(updateCommand(finish))
    .addCommand(deleteCommand(finish));

const listCommand = (finish: Finish): Command =>
  withOrganizationOptions(new Command('list').description('list workspaces')).action(
    (flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const { workspaceRow } = await import('../organization-client.ts');
        printList(
          await organization.list('workspaces.list', workspaceRow),
          [
            { name: 'id', of: one => one.workspaceId },
            { name: 'host', of: one => one.leaderFQDN },
            { name: 'state', of: one => one.state },
            { name: 'alias', of: one => one.alias },
            { name: 'region', of: one => one.region },
            { name: 'tags', of: one => one.tags.join(' ') },
            { name: 'description', of: one => one.description },
          ],
          flags,
          'no workspaces',
        );
      }),
  );

const aboutOne = (name: string, description: string): Command =>
  withOrganizationOptions(new Command(name).description(description)).addArgument(
    new Argument('<id>', 'its id, as `list` shows it'),
  );

const getCommand = (finish: Finish): Command =>
  aboutOne('get', 'show one')
    .alias('show')
    .action((id: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization =>
        printItem(await organization.call('workspaces.get', { id }), flags),
      ),
    );

interface WorkspaceFlags {
  readonly alias?: string;
  readonly description?: string;
  readonly region?: string;
  readonly tag?: readonly string[];
}

const withWorkspaceFlags = (command: Command): Command =>
  command
    .option('--alias <text>', 'what people call it')
    .option('--description <text>', 'what it is for')
    .option('--region <text>', 'where it is')
    .addOption(
      new Option('--tag <text>', 'a tag; repeat it up to three times').argParser(
        (text: string, before: readonly string[] = []) => [...before, text],
      ),
    );

const bodyOf = ({ alias, description, region, tag }: WorkspaceFlags): object => ({
  ...(alias !== undefined && { alias }),
  ...(description !== undefined && { description }),
  ...(region !== undefined && { region }),
  ...(tag !== undefined && { tags: tag }),
});

const createCommand = (finish: Finish): Command =>
  withWorkspaceFlags(
    withOrganizationOptions(
      new Command('create').description('add a workspace, which runs within seconds'),
    ).addArgument(new Argument('<id>', '4 to 41 lower-case letters and digits')),
  ).action((workspaceId: string, flags: OrganizationFlags & WorkspaceFlags) =>
    runOnOrganization(finish, flags, async organization => {
      const body = { workspaceId, ...bodyOf(flags) };
      printItem(await organization.call('workspaces.create', { body }), flags);
    }),
  );

const updateCommand = (finish: Finish): Command =>
  withWorkspaceFlags(aboutOne('update', 'change the given fields of a workspace')).action(
    (id: string, flags: OrganizationFlags & WorkspaceFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const body = bodyOf(flags);
        assertChanges(body);
        await organization.call('workspaces.update', { id, body });
        await printChanged(() => organization.call('workspaces.get', { id }), flags);
      }),
  );

const deleteCommand = (finish: Finish): Command =>
  aboutOne('delete', 'delete a workspace, and show it; its data stays in the store')
    .addOption(confirmOption())
    .action((id: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const was = await organization.call('workspaces.get', { id });
        await organization.call('workspaces.remove', { id });
        printItem(was, flags);
      }),
    );
