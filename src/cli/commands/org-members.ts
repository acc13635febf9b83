import { Argument, Command } from 'commander';
import { AppError } from '../../lib/errors.ts';
import {
  confirmOption,
  formatGrants,
  printChanged,
  type RoleFlags,
  roleOption,
  rolesIn,
  runOnOrganization,
  withOrganizationOptions,
  workspaceOption,
} from '../organization.ts';
import type { OrganizationClient, OrganizationFlags } from '../organization-client.ts';
import { type Finish, printError } from '../output/output.ts';
import { printItem, printList } from '../output/table.ts';

export const membersCommand = (finish: Finish): Command =>
  new Command('members')
    .description('manage members of an organization at the login service')
    .addCommand(listCommand(finish))
    .addCommand(getCommand(finish))
    .addCommand(addCommand(finish))
    .addCommand(updateCommand(finish))
    .addCommand(resetPasswordCommand(finish))
    .addCommand(removeCommand(finish));

const listCommand = (finish: Finish): Command =>
  withOrganizationOptions(new Command('list').description('list members')).action(
    (flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization =>
        printList(
          await membersOf(organization),
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

async function membersOf(organization: OrganizationClient) {
  const { memberRow } = await import('../organization-client.ts');
  return organization.list('members.list', memberRow);
}

const aboutOne = (name: string, description: string): Command =>
  withOrganizationOptions(new Command(name).description(description)).addArgument(
    new Argument('<member>', 'e-mail address or user id, as `list` shows them'),
  );

/** Throws `not-found` for an unknown e-mail address. */
async function idOf(organization: OrganizationClient, member: string): Promise<string> {
  if (!member.includes('@')) return member;
  const email = member.trim().toLowerCase();
  const found = (await membersOf(organization)).find(one => one.email === email);
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
      printWithPassword(await organization.call('members.create', { body }), flags);
    }),
  );

function printWithPassword(member: Readonly<Record<string, unknown>>, flags: OrganizationFlags): void {
  printItem(member, flags);
  if (member.initialPassword !== undefined && flags.json !== true)
    printError('Keep the password now: nobody can read it again. It must be changed at the next sign-in.');
}

const resetPasswordCommand = (finish: Finish): Command =>
  aboutOne(
    'reset-password',
    'give a member another password, shown this once; it ends the sessions and tokens of the member',
  ).action((member: string, flags: OrganizationFlags) =>
    runOnOrganization(finish, flags, async organization => {
      const id = await idOf(organization, member);
      printWithPassword(await organization.call('members.resetPassword', { id }), flags);
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
