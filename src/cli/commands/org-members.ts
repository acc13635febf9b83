import { Argument, Command } from 'commander';
import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import {
  confirmOption,
  formatGrants,
  type OrganizationClient,
  type OrganizationFlags,
  printChanged,
  type RoleFlags,
  roleOption,
  rolesIn,
  runOnOrganization,
  shownRolesSchema,
  withOrganizationOptions,
  workspaceOption,
} from '../organization.ts';
import { type Finish, printError } from '../output/output.ts';
import { printItem, printList } from '../output/table.ts';

export const membersCommand = (finish: Finish): Command =>
  new Command('members')
    .description('manage members of an organization at the login service')
    .addCommand(listCommand(finish))
    .addCommand(getCommand(finish))
    .addCommand(addCommand(finish))
    .addCommand(updateCommand(finish))
    .addCommand(removeCommand(finish));

const row = z.looseObject({
  userId: z.string(),
  email: z.string(),
  enabled: z.boolean(),
  roles: shownRolesSchema,
});

const listCommand = (finish: Finish): Command =>
  withOrganizationOptions(new Command('list').description('list members')).action(
    (flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization =>
        printList(
          await organization.list('members.list', row),
          [
            { name: 'user id', of: one => one.userId },
            { name: 'email', of: one => one.email },
            { name: 'role', of: one => one.roles.organizationRole },
            { name: 'workspaces', of: one => formatGrants(one.roles) },
            { name: 'disabled', of: one => (one.enabled ? '' : 'disabled') },
          ],
          flags,
          'no members',
        ),
      ),
  );

const aboutOne = (name: string, description: string): Command =>
  withOrganizationOptions(new Command(name).description(description)).addArgument(
    new Argument('<member>', 'e-mail address or user id, as `list` shows them'),
  );

/** Throws `not-found` for an unknown e-mail address. */
async function idOf(organization: OrganizationClient, member: string): Promise<string> {
  if (!member.includes('@')) return member;
  const email = member.trim().toLowerCase();
  const found = (await organization.list('members.list', row)).find(one => one.email === email);
  if (found === undefined) throw new AppError('not-found', `member '${member}' not found`);
  return found.userId;
}

const getCommand = (finish: Finish): Command =>
  aboutOne('get', 'show one')
    .alias('show')
    .action((member: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const id = await idOf(organization, member);
        printItem(await organization.call('members.get', { id }), flags);
      }),
    );

const withRoles = (command: Command): Command =>
  command.addOption(roleOption().makeOptionMandatory()).addOption(workspaceOption());

const addCommand = (finish: Finish): Command =>
  withRoles(
    withOrganizationOptions(
      new Command('add').description('add a person; the first password of a new user is shown this once'),
    ).addArgument(new Argument('<email>', 'address that the person signs in with')),
  ).action((email: string, flags: OrganizationFlags & RoleFlags) =>
    runOnOrganization(finish, flags, async organization => {
      const body = { email, roles: rolesIn(flags) };
      const added = await organization.call('members.create', { body });
      printItem(added, flags);
      if (added.initialPassword !== undefined && flags.json !== true)
        printError(
          'Keep the password now: nobody can read it again. It must be changed at the first sign-in.',
        );
    }),
  );

const updateCommand = (finish: Finish): Command =>
  withRoles(aboutOne('update', 'replace all roles of a member')).action(
    (member: string, flags: OrganizationFlags & RoleFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const id = await idOf(organization, member);
        await organization.call('members.update', { id, body: { roles: rolesIn(flags) } });
        await printChanged(() => organization.call('members.get', { id }), flags);
      }),
  );

const removeCommand = (finish: Finish): Command =>
  aboutOne('remove', 'remove a member from the organization, and show it')
    .addOption(confirmOption())
    .action((member: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const id = await idOf(organization, member);
        const was = await organization.call('members.get', { id });
        await organization.call('members.remove', { id });
        printItem(was, flags);
      }),
    );
