import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import { configOption, dataOption } from './folders.ts';
import type { Folders } from './offline.ts';
import { print } from './output.ts';

/** As it is typed: `main=editor`. */
interface Granted {
  readonly workspace: string;
  readonly role: string;
}

interface CreateFlags extends Folders {
  readonly org: string;
  readonly role: string;
  readonly workspace: readonly Granted[];
  readonly description?: string;
  readonly json?: boolean;
}

export const credentialsCommand = (finish: Finish): Command =>
  new Command('credentials')
    .description('API credentials of a hosted installation, in the store itself')
    .addCommand(createCommand(finish));

const createCommand = (finish: Finish): Command =>
  new Command('create')
    .description('add a credential, and show its secret once')
    .addArgument(new Argument('<name>', 'what it is called, unique in the organization'))
    .addOption(configOption())
    .addOption(dataOption())
    .requiredOption('--org <id>', 'the organization')
    .addOption(
      new Option('--role <role>', 'its role in the organization')
        .choices(['owner', 'admin', 'user'])
        .makeOptionMandatory(),
    )
    .option(
      '--workspace <id=role>',
      'what the role user may do in a workspace; may be given again',
      granted,
      [],
    )
    .option('--description <text>', 'what it is for')
    .option('--json', 'answer JSON')
    .action(async (name: string, flags: CreateFlags) => {
      try {
        const { fieldsOf } = await import('./credential-fields.ts');
        const { createCredentialInStore } = await import('./tenants-in-store.ts');
        const { credential, secret } = await createCredentialInStore(
          flags,
          flags.org,
          fieldsOf({ name, ...flags }),
        );
        const shown = {
          clientId: credential.clientId,
          clientSecret: secret.reveal(),
          name: credential.name,
        };
        if (flags.json === true) print(JSON.stringify(shown));
        else for (const [label, value] of Object.entries(shown)) print(`${label}: ${value}`);
        finish(EXIT.ok);
      } catch (error) {
        finish(explain(error));
      }
    });

function granted(text: string, before: readonly Granted[]): readonly Granted[] {
  const [workspace = '', role = '', ...rest] = text.split('=');
  if (workspace === '' || role === '' || rest.length > 0)
    throw new InvalidArgumentError('It must be a workspace and a role, as main=editor.');
  return [...before, { workspace, role }];
}
