import { userInfo } from 'node:os';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { wireSecret } from '../api/wire/secret.ts';
import { ConfigurationInvalid } from '../app/invalid.ts';
import { loadConfiguration } from '../config/load.ts';
import { assertUnused } from '../config/secret-references.ts';
import { factsOf, SECRET_NAME, type SecretFacts, secretWriter } from '../config/secret-writer.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import { configOption, dataOption } from './folders.ts';
import { type Folders, withStore } from './offline.ts';
import { print } from './output.ts';
import { promptSecret, readSecret } from './secret-input.ts';

interface SecretsFlags extends Folders {
  readonly json?: boolean;
}

const AFTER_SET = `
The value is never an argument, which every user of the machine could see:
  headgate secrets set ops_hook             asks for it without showing it
  headgate secrets set ops_hook < FILE      takes all of the file but one line break at its end
While a server runs, use PUT /api/v1/system/secrets/NAME instead.
`;

export const secretsCommand = (finish: Finish): Command =>
  new Command('secrets')
    .description('keep the secrets that ${secret:NAME} stands for, while no server uses the store')
    .addCommand(
      subcommand('set', 'store a secret, read from standard input or asked for')
        .addArgument(nameArgument())
        .addHelpText('after', AFTER_SET)
        .action((name: string, flags: SecretsFlags) => run(finish, () => set(name, flags))),
    )
    .addCommand(
      subcommand('list', 'list the names and times of the secrets').action((flags: SecretsFlags) =>
        run(finish, () => list(flags)),
      ),
    )
    .addCommand(
      subcommand('remove', 'remove a secret that the configuration does not refer to')
        .addArgument(nameArgument())
        .action((name: string, flags: SecretsFlags) => run(finish, () => remove(name, flags))),
    );

const subcommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'answer as JSON');

const nameArgument = (): Argument =>
  new Argument('<name>', 'letters, digits, "_" and "-"').argParser((name: string) => {
    if (!SECRET_NAME.test(name))
      throw new InvalidArgumentError('It must be 1 to 128 letters, digits, "_" or "-".');
    return name;
  });

async function run(finish: Finish, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    finish(EXIT.ok);
  } catch (error) {
    finish(explain(error));
  }
}

async function set(name: string, flags: SecretsFlags): Promise<void> {
  const facts = await withStore(
    { ...flags, mayCreate: true },
    async ({ storage, workspace, openKeyRing }) => {
      const keyRing = await openKeyRing();
      const writer = secretWriter({ storage, workspace, keyRing, clock: systemClock });
      return writer.put(name, await secretFromPerson(name), whoRuns());
    },
  );
  print(
    flags.json ? asJson(wireSecret(facts)) : `stored; the configuration refers to it as \${secret:${name}}`,
  );
}

async function secretFromPerson(name: string): Promise<string> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY) return readSecret(input);
  const value = await promptSecret(`Value of ${name}: `, { input, output });
  if (value === undefined) throw new AppError('invalid-request', 'nothing was stored');
  return value;
}

async function list(flags: SecretsFlags): Promise<void> {
  const rows = await withStore({ ...flags, mayCreate: false }, ({ storage, workspace }) =>
    storage.in(workspace).secrets.list(),
  );
  const items = rows.map(factsOf);
  if (flags.json) print(asJson({ items: items.map(wireSecret), count: items.length }));
  else for (const line of linesOf(items)) print(line);
}

async function remove(name: string, flags: SecretsFlags): Promise<void> {
  const sources = { folder: flags.config, environment: process.env, flags: {} };
  const loaded = loadConfiguration(sources, systemClock);
  if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
  assertUnused(loaded.configuration.raw, name);
  const removed = await withStore({ ...flags, mayCreate: false }, async ({ storage, workspace }) => {
    const rows = await storage.in(workspace).secrets.list();
    const row = rows.find(one => one.name === name);
    if (row === undefined) throw notFound('secret', name);
    await storage.transaction(tx => tx.in(workspace).removeSecret(name));
    return factsOf(row);
  });
  print(flags.json ? asJson(wireSecret(removed)) : `removed ${name}`);
}

function linesOf(items: readonly SecretFacts[]): string[] {
  if (items.length === 0) return ['no secrets'];
  const width = Math.max(...items.map(({ name }) => name.length));
  return items.map(
    ({ name, updatedAt, updatedBy }) =>
      `${name.padEnd(width)}  ${new Date(updatedAt).toISOString()}  ${updatedBy}`,
  );
}

const asJson = (value: object): string => JSON.stringify(value, null, 2);

/** The operating system's user, told apart from a user of Headgate's own; a container's may have no name. */
function whoRuns(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
