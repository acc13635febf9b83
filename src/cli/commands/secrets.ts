import type { Client } from '@headgate/client';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { SECRET_NAME } from '../../config/secrets/store.ts';
import { AppError } from '../../lib/errors.ts';
import { promptSecret, readSecret } from '../input.ts';
import { actsOnStore, configOption, dataOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import { printItem, printList } from '../output/table.ts';
import { openSession, type ServerFlags, withServerOptions } from '../session.ts';
import type { SecretsBackend } from '../store-secrets.ts';

const serverSecrets = ({ secrets }: Client): SecretsBackend => ({
  set: (name, value) => secrets.put({ name, body: { value } }),
  list: () => secrets.list().all(),
  remove: name => secrets.remove({ name }),
});

interface SecretsFlags extends ServerFlags {
  readonly config: string;
  readonly data: string;
}

const AFTER_SET = `
The value is never an argument, which every user of the machine could see:
  headgate secrets set ops_hook             asks for it without showing it
  headgate secrets set ops_hook < FILE      takes all of the file but one line break at its end
With --config or --data it goes into the store itself, while no server uses it; without them to the server.
`;

export const secretsCommand = (finish: Finish): Command =>
  new Command('secrets')
    .description('keep the secrets that ${secret:NAME} stands for')
    .addCommand(
      subcommand('set', 'store a secret, read from standard input or asked for', finish, set)
        .addArgument(nameArgument())
        .addHelpText('after', AFTER_SET),
    )
    .addCommand(subcommand('list', 'list the names and times of the secrets', finish, list))
    .addCommand(
      subcommand(
        'remove',
        'remove a secret that the configuration does not refer to',
        finish,
        remove,
      ).addArgument(nameArgument()),
    );

type Work = (backend: SecretsBackend, flags: SecretsFlags, name: string) => Promise<void>;

function subcommand(title: string, description: string, finish: Finish, work: Work): Command {
  const command = withServerOptions(new Command(title).description(description))
    .addOption(configOption())
    .addOption(dataOption());
  return command.action(async (...given: unknown[]) => {
    const flags = command.opts<SecretsFlags>();
    const isStore = actsOnStore(command);
    try {
      const name = typeof given[0] === 'string' ? given[0] : '';
      await work(await backendFor(isStore, flags), flags, name);
      finish(EXIT.ok);
    } catch (error) {
      finish(reportFailure(error));
    }
  });
}

async function backendFor(isStore: boolean, flags: SecretsFlags): Promise<SecretsBackend> {
  if (!isStore) return serverSecrets((await openSession(flags)).client);
  const { storeSecrets: keptInStore } = await import('../store-secrets.ts');
  return keptInStore(flags);
}

const nameArgument = (): Argument =>
  new Argument('<name>', 'letters, digits, "_" and "-"').argParser((name: string) => {
    if (!SECRET_NAME.test(name))
      throw new InvalidArgumentError('It must be 1 to 128 letters, digits, "_" or "-".');
    return name;
  });

const set: Work = async (backend, flags, name) => {
  const facts = await backend.set(name, await secretFromPerson(name));
  if (flags.json) printItem(facts, flags);
  else print(`stored; the configuration refers to it as \${secret:${name}}`);
};

const list: Work = async (backend, flags) =>
  printList(
    await backend.list(),
    [
      { name: 'name', of: one => one.name },
      { name: 'updated', of: one => one.updatedAt },
      { name: 'by', of: one => one.updatedBy },
    ],
    flags,
    'no secrets',
  );

const remove: Work = async (backend, flags, name) => {
  const removed = await backend.remove(name);
  if (flags.json) printItem(removed, flags);
  else print(`removed ${name}`);
};

async function secretFromPerson(name: string): Promise<string> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY) return readSecret(input);
  const value = await promptSecret(`Value of ${name}: `, { input, output });
  if (value === undefined) throw new AppError('invalid-request', 'nothing was stored');
  return value;
}
