import { Argument, Command } from 'commander';
import { AppError } from '../lib/errors.ts';
import { type CredentialFlags, wireFields, withCredentialFlags } from './credential-flags.ts';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import { actsOnStore, configOption, dataOption } from './folders.ts';
import type { Folders } from './offline.ts';
import { withOrganization } from './organization.ts';
import type { OrganizationFlags } from './organization-api.ts';
import { roleOption } from './organization-roles.ts';
import { complain, print } from './output.ts';

interface CreateFlags extends Folders, OrganizationFlags, CredentialFlags {}

/** What whoever made it must keep. */
interface Created {
  readonly clientId: unknown;
  readonly clientSecret: unknown;
  readonly name: unknown;
}

const AFTER = `
With --config or --data it goes into the store itself, for the first one, while no server uses a SQLite one; without
them the login service is asked.
`;

/** `headgate credentials create` */
export function createCommand(finish: Finish): Command {
  const command = withCredentialFlags(
    withOrganization(new Command('create').description('add a credential, and show its secret this once'))
      .addArgument(new Argument('<name>', 'what it is called, unique in the organization'))
      .addOption(configOption())
      .addOption(dataOption()),
    roleOption().makeOptionMandatory(),
  ).addHelpText('after', AFTER);
  return command.action(async (name: string, flags: CreateFlags) => {
    const make = actsOnStore(command) ? createInStore : createAtService;
    try {
      const { clientId, clientSecret, name: known } = await make({ ...flags, name });
      const shown = { clientId, clientSecret, name: known };
      if (flags.json === true) print(JSON.stringify(shown));
      else {
        for (const [label, value] of Object.entries(shown)) print(`${label}: ${value}`);
        complain('Keep the secret now: nobody can read it again.');
      }
      finish(EXIT.ok);
    } catch (error) {
      finish(explain(error));
    }
  });
}

type NamedFlags = CreateFlags & { readonly name: string };

async function createInStore(flags: NamedFlags): Promise<Created> {
  const { org } = flags;
  if (org === undefined || org === '')
    throw new AppError('invalid-request', 'name the organization with --org');
  const { fieldsOf } = await import('./credential-fields.ts');
  const { createCredentialInStore } = await import('./tenants-in-store.ts');
  const { credential, secret } = await createCredentialInStore(flags, org, fieldsOf(flags));
  return { clientId: credential.clientId, clientSecret: secret.reveal(), name: credential.name };
}

async function createAtService(flags: NamedFlags): Promise<Created> {
  const { openOrganization } = await import('./organization-api.ts');
  const organization = await openOrganization(flags).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error;
    throw new AppError(error.code, `${error.message}, or act on the store itself with --config and --data`);
  });
  const { clientId, clientSecret, name } = await organization.call('credentials.create', {
    body: wireFields(flags),
  });
  return { clientId, clientSecret, name };
}
