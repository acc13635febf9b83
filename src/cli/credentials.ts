import { Argument, Command, Option } from 'commander';
import * as z from 'zod';
import { printItem, printList } from './ask.ts';
import { type CredentialFlags, wireFields, withCredentialFlags } from './credential-flags.ts';
import { createCommand } from './credentials-create.ts';
import type { Finish } from './exit.ts';
import {
  askOrganization,
  assertChanges,
  meantOption,
  printChanged,
  withOrganization,
} from './organization.ts';
import type { Organization, OrganizationFlags } from './organization-api.ts';
import { grantedText, rolesShown } from './organization-roles.ts';
import { complain } from './output.ts';

const AFTER = `
They ask the login service as whoever is logged in there, an owner or an admin:
  headgate login --auth-url https://login.example --username ann@acme.example --org acme
`;

export const credentialsCommand = (finish: Finish): Command =>
  new Command('credentials')
    .description('API credentials of an organization')
    .addHelpText('after', AFTER)
    .addCommand(listCommand(finish))
    .addCommand(getCommand(finish))
    .addCommand(createCommand(finish))
    .addCommand(updateCommand(finish))
    .addCommand(switchCommand('enable', 'let one get tokens again', true, finish))
    .addCommand(switchCommand('disable', 'end the tokens of one, and let it get none', false, finish))
    .addCommand(rotateCommand(finish))
    .addCommand(revokeSecretCommand(finish))
    .addCommand(deleteCommand(finish));

const row = z.looseObject({
  clientId: z.string(),
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  roles: rolesShown,
  expiresDate: z.string().nullable(),
  lastUsedDate: z.string().nullable(),
});

const listCommand = (finish: Finish): Command =>
  withOrganization(new Command('list').description('list them')).action((flags: OrganizationFlags) =>
    askOrganization(finish, flags, async organization =>
      printList(
        await organization.list('credentials.list', row),
        [
          { name: 'client id', of: one => one.clientId },
          { name: 'name', of: one => one.name },
          { name: 'role', of: one => one.roles.organizationRole },
          { name: 'workspaces', of: one => grantedText(one.roles) },
          { name: 'disabled', of: one => (one.enabled ? '' : 'disabled') },
          { name: 'expires', of: one => one.expiresDate },
          { name: 'last used', of: one => one.lastUsedDate },
          { name: 'description', of: one => one.description },
        ],
        flags,
        'no credentials',
      ),
    ),
  );

const aboutOne = (name: string, description: string): Command =>
  withOrganization(new Command(name).description(description)).addArgument(
    new Argument('<client-id>', 'its client id, as `list` shows it'),
  );

const get = (organization: Organization, id: string): Promise<object> =>
  organization.call('credentials.get', { id });

const getCommand = (finish: Finish): Command =>
  aboutOne('get', 'show one')
    .alias('show')
    .action((id: string, flags: OrganizationFlags) =>
      askOrganization(finish, flags, async organization => printItem(await get(organization, id), flags)),
    );

const updateCommand = (finish: Finish): Command =>
  withCredentialFlags(aboutOne('update', 'change one: what is left out stays'))
    .option('--name <name>', 'what it is called, unique in the organization')
    .action((id: string, flags: OrganizationFlags & CredentialFlags) =>
      askOrganization(finish, flags, async organization => {
        const body = wireFields(flags);
        assertChanges(body);
        await organization.call('credentials.update', { id, body });
        await printChanged(() => get(organization, id), flags);
      }),
    );

const switchCommand = (name: string, description: string, enabled: boolean, finish: Finish): Command =>
  aboutOne(name, description).action((id: string, flags: OrganizationFlags) =>
    askOrganization(finish, flags, async organization => {
      await organization.call('credentials.update', { id, body: { enabled } });
      await printChanged(() => get(organization, id), flags);
    }),
  );

interface RotateFlags extends OrganizationFlags {
  readonly grace?: string;
}

const rotateCommand = (finish: Finish): Command =>
  aboutOne('rotate', 'give one another secret, and show it this once')
    .addOption(
      new Option(
        '--grace <duration>',
        'how long the secret before counts as well: 24h unless said, at most 7d',
      ),
    )
    .action((id: string, { grace, ...flags }: RotateFlags) =>
      askOrganization(finish, flags, async organization => {
        const body = grace === undefined ? {} : { grace };
        printItem(await organization.call('credentials.rotate', { id, body }), flags);
        if (flags.json !== true) complain('Keep the secret now: nobody can read it again.');
      }),
    );

const revokeSecretCommand = (finish: Finish): Command =>
  aboutOne('revoke-secret', 'end one secret at once, and all tokens of the credential')
    .addArgument(new Argument('<secret>', 'its id, as `get` shows it'))
    .action((id: string, secret: string, flags: OrganizationFlags) =>
      askOrganization(finish, flags, async organization => {
        await organization.call('credentials.revokeSecret', { id, secret });
        await printChanged(() => get(organization, id), flags);
      }),
    );

const deleteCommand = (finish: Finish): Command =>
  aboutOne('delete', 'take one away for good, and show what it was')
    .addOption(meantOption())
    .action((id: string, flags: OrganizationFlags) =>
      askOrganization(finish, flags, async organization => {
        const was = await get(organization, id);
        await organization.call('credentials.remove', { id });
        printItem(was, flags);
      }),
    );
