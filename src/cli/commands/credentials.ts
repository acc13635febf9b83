import { Argument, Command, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { type CredentialFlags, NEVER } from '../credential-flags.ts';
import { actsOnStore, configOption, dataOption, timeAhead } from '../options.ts';
import {
  assertChanges,
  confirmOption,
  formatGrants,
  printChanged,
  roleOption,
  rolesIn,
  runOnOrganization,
  withOrganizationOptions,
  workspaceOption,
} from '../organization.ts';
import type { OrganizationClient, OrganizationFlags } from '../organization-client.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print, printError } from '../output/output.ts';
import { printItem, printList } from '../output/table.ts';
import type { Folders } from '../store.ts';

const withCredentialFlags = (command: Command, role: Option = roleOption()): Command =>
  command
    .addOption(role)
    .addOption(workspaceOption())
    .option('--description <text>', 'its purpose')
    .addOption(
      new Option(
        '--expires <time>',
        'when it expires: after a duration such as 90d, at a time such as 2026-12-31T00:00:00Z, or never',
      ).argParser(text => (text === NEVER ? text : timeAhead(text, systemClock.now()))),
    )
    .addOption(
      new Option(
        '--allow-from <range>',
        'an address or a range it may connect from; repeat it for more, or any',
      ).argParser((text: string, before: readonly string[] = []) =>
        text === 'any' ? [] : [...before, text],
      ),
    );

/** The fields as the API takes them. Throws as `rolesIn`. */
function wireFields(flags: CredentialFlags): object {
  const { name, description, expires, allowFrom } = flags;
  const roles = rolesIn(flags);
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(roles !== undefined && { roles }),
    ...(expires !== undefined && { expiresDate: expires === NEVER ? null : expires }),
    ...(allowFrom !== undefined && { ipAllowlist: allowFrom }),
  };
}

interface CreateFlags extends Folders, OrganizationFlags, CredentialFlags {}

/** The part of a new credential that must be kept. */
interface Created {
  readonly clientId: unknown;
  readonly clientSecret: unknown;
  readonly name: unknown;
}

const AFTER_CREATE = `
With --config or --data it goes into the store itself, for the first one, while no server uses a SQLite one; without
them the login service is asked.
`;

/** `headgate credentials create` */
function createCommand(finish: Finish): Command {
  const command = withCredentialFlags(
    withOrganizationOptions(
      new Command('create').description('add a credential, and show its secret this once'),
    )
      .addArgument(new Argument('<name>', 'its name, unique in the organization'))
      .addOption(configOption())
      .addOption(dataOption()),
    roleOption().makeOptionMandatory(),
  ).addHelpText('after', AFTER_CREATE);
  return command.action(async (name: string, flags: CreateFlags) => {
    const make = actsOnStore(command) ? createInStore : createAtService;
    try {
      const { clientId, clientSecret, name: known } = await make({ ...flags, name });
      const shown = { clientId, clientSecret, name: known };
      if (flags.json === true) print(JSON.stringify(shown));
      else {
        for (const [label, value] of Object.entries(shown)) print(`${label}: ${value}`);
        printError('Keep the secret now: nobody can read it again.');
      }
      finish(EXIT.ok);
    } catch (error) {
      finish(reportFailure(error));
    }
  });
}

type NamedFlags = CreateFlags & { readonly name: string };

async function createInStore(flags: NamedFlags): Promise<Created> {
  const { org } = flags;
  if (org === undefined || org === '')
    throw new AppError('invalid-request', 'name the organization with --org');
  const { createCredentialInStore, fieldsOf } = await import('../store-identity.ts');
  const { credential, secret } = await createCredentialInStore(flags, org, fieldsOf(flags));
  return { clientId: credential.clientId, clientSecret: secret.reveal(), name: credential.name };
}

async function createAtService(flags: NamedFlags): Promise<Created> {
  const { openOrganization } = await import('../organization-client.ts');
  const organization = await openOrganization(flags).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error;
    throw new AppError(error.code, `${error.message}, or act on the store itself with --config and --data`);
  });
  const { clientId, clientSecret, name } = await organization.call('credentials.create', {
    body: wireFields(flags),
  });
  return { clientId, clientSecret, name };
}

const AFTER = `
They call the login service with the login of an owner or an admin:
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
    .addCommand(switchCommand('enable', 'allow a credential to get tokens again', true, finish))
    .addCommand(
      switchCommand('disable', 'end the tokens of a credential, and refuse it new ones', false, finish),
    )
    .addCommand(rotateCommand(finish))
    .addCommand(revokeSecretCommand(finish))
    .addCommand(deleteCommand(finish));

const listCommand = (finish: Finish): Command =>
  withOrganizationOptions(new Command('list').description('list credentials')).action(
    (flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const { credentialRow } = await import('../organization-client.ts');
        printList(
          await organization.list('credentials.list', credentialRow),
          [
            { name: 'client id', of: one => one.clientId },
            { name: 'name', of: one => one.name },
            { name: 'role', of: one => one.roles.organizationRole },
            { name: 'workspaces', of: one => formatGrants(one.roles) },
            { name: 'disabled', of: one => (one.enabled ? '' : 'disabled') },
            { name: 'expires', of: one => one.expiresDate },
            { name: 'last used', of: one => one.lastUsedDate },
            { name: 'description', of: one => one.description },
          ],
          flags,
          'no credentials',
        );
      }),
  );

const aboutOne = (name: string, description: string): Command =>
  withOrganizationOptions(new Command(name).description(description)).addArgument(
    new Argument('<client-id>', 'its client id, as `list` shows it'),
  );

const get = (organization: OrganizationClient, id: string): Promise<object> =>
  organization.call('credentials.get', { id });

const getCommand = (finish: Finish): Command =>
  aboutOne('get', 'show one')
    .alias('show')
    .action((id: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => printItem(await get(organization, id), flags)),
    );

const updateCommand = (finish: Finish): Command =>
  withCredentialFlags(aboutOne('update', 'change the given fields of a credential'))
    .option('--name <name>', 'its name, unique in the organization')
    .action((id: string, flags: OrganizationFlags & CredentialFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const body = wireFields(flags);
        assertChanges(body);
        await organization.call('credentials.update', { id, body });
        await printChanged(() => get(organization, id), flags);
      }),
    );

const switchCommand = (name: string, description: string, enabled: boolean, finish: Finish): Command =>
  aboutOne(name, description).action((id: string, flags: OrganizationFlags) =>
    runOnOrganization(finish, flags, async organization => {
      await organization.call('credentials.update', { id, body: { enabled } });
      await printChanged(() => get(organization, id), flags);
    }),
  );

interface RotateFlags extends OrganizationFlags {
  readonly grace?: string;
}

const rotateCommand = (finish: Finish): Command =>
  aboutOne('rotate', 'issue another secret, and show it this once')
    .addOption(
      new Option('--grace <duration>', 'how long the former secret stays valid: 24h by default, at most 7d'),
    )
    .action((id: string, { grace, ...flags }: RotateFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const body = grace === undefined ? {} : { grace };
        printItem(await organization.call('credentials.rotate', { id, body }), flags);
        if (flags.json !== true) printError('Keep the secret now: nobody can read it again.');
      }),
    );

const revokeSecretCommand = (finish: Finish): Command =>
  aboutOne('revoke-secret', 'end one secret at once, and all tokens of the credential')
    .addArgument(new Argument('<secret>', 'its id, as `get` shows it'))
    .action((id: string, secret: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        await organization.call('credentials.revokeSecret', { id, secret });
        await printChanged(() => get(organization, id), flags);
      }),
    );

const deleteCommand = (finish: Finish): Command =>
  aboutOne('delete', 'delete a credential for good, and show it')
    .addOption(confirmOption())
    .action((id: string, flags: OrganizationFlags) =>
      runOnOrganization(finish, flags, async organization => {
        const was = await get(organization, id);
        await organization.call('credentials.remove', { id });
        printItem(was, flags);
      }),
    );
