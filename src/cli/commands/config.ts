import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text as textFrom } from 'node:stream/consumers';
import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { readFileText } from '../../config/file-text.ts';
import type { Conversion } from '../../config/import/moved.ts';
import { AppError, codeOf, reasonOf } from '../../lib/errors.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type ExitCode, type Finish, print, printError } from '../output/output.ts';
import { asJson, printItem } from '../output/table.ts';
import { openSession, runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Plan = Schemas['ConfigurationPlan'];
type Change = Plan['changes'][number];
type Wanted = Schemas['AppliedConfiguration'];

const folderArgument = (description: string): Argument => new Argument('<folder>', description);

export const exportCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('export').description('write the configuration as files, the secrets in them masked'),
  )
    .addArgument(folderArgument('where to; files that are there already are refused'))
    .action((folder: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const { files } = await client.configuration.export();
        await mkdir(folder, { recursive: true });
        for (const [name, text] of Object.entries(files)) await writeNew(join(folder, name), text);
        printItem({ folder, files: Object.keys(files) }, flags);
      }),
    );

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new AppError('conflict', `${path} is there already; name an empty folder`);
  }
}

interface PlanFlags extends ServerFlags {
  readonly file: readonly string[];
  readonly prune?: boolean;
}

interface ApplyFlags extends PlanFlags {
  readonly yes?: boolean;
  readonly check?: boolean;
  readonly message?: string;
}

const withFiles = (command: Command): Command =>
  command.addOption(
    new Option(
      '-f, --file <path...>',
      'YAML or JSON with any of targets, notifications, inhibitions, inputs, outputs and settings; a folder for all files in it, - for standard input',
    ).makeOptionMandatory(),
  );

const withPrune = (command: Command): Command =>
  command.option(
    '--prune',
    'remove what the sections named in the files hold on the server and not in the files',
  );

export const diffCommand = (finish: Finish): Command =>
  withPrune(
    withFiles(
      withServerOptions(
        new Command('diff').description(
          'show what `apply` would change; exit code 4 when that is anything, 0 when it is nothing',
        ),
      ),
    ),
  ).action((flags: PlanFlags) =>
    runPlan(finish, flags, async (plan, show) => {
      show(plan);
      return exitOf(plan);
    }),
  );

const withApplyOptions = (command: Command): Command =>
  withPrune(command)
    .option('--yes', 'do not ask')
    .option('--check', 'change nothing; exit code 4 when there is something to change')
    .option('--message <text>', 'what the version says of it');

export const applyCommand = (finish: Finish): Command =>
  withApplyOptions(
    withFiles(
      withServerOptions(
        new Command('apply').description(
          'show what the configuration on the server lacks of files, and change it: all of it or nothing',
        ),
      ),
    ),
  ).action((flags: ApplyFlags) => apply(finish, flags));

export const importCommand = (finish: Finish): Command =>
  withApplyOptions(
    withServerOptions(new Command('import').description('apply the files of a folder: `apply -f <folder>`')),
  )
    .addArgument(folderArgument('holds files of Headgate, such as `export` writes'))
    .action((folder: string, flags: Omit<ApplyFlags, 'file'>) => apply(finish, { ...flags, file: [folder] }))
    .addCommand(
      conversionCommand(finish, {
        name: 'cribl',
        description:
          'convert notifications.yml, inputs.yml and outputs.yml of Cribl, and print what Headgate has for them',
        argument: folderArgument('holds these files, or is the home of an instance or of a leader'),
        convert: async path => (await import('../../config/import/cribl.ts')).importCribl(path),
      }),
    )
    .addCommand(
      conversionCommand(finish, {
        name: 'alertmanager',
        description: 'convert alertmanager.yml, and print what Headgate has for it',
        argument: new Argument('<file>', 'the configuration of an Alertmanager'),
        convert: async path => (await import('../../config/import/alertmanager.ts')).importAlertmanager(path),
      }),
    );

interface ConversionOptions {
  readonly name: string;
  readonly description: string;
  readonly argument: Argument;
  readonly convert: (path: string) => Promise<Conversion>;
}

interface ConversionFlags {
  readonly out?: string;
}

/** Asks no server: what it prints is there to be read, and applied afterwards. */
const conversionCommand = (
  finish: Finish,
  { name, description, argument, convert }: ConversionOptions,
): Command =>
  new Command(name)
    .description(description)
    .addArgument(argument)
    .option('--out <folder>', 'write files there; those that are there already are refused')
    .action(async (path: string, { out }: ConversionFlags) => {
      try {
        const { files, lines } = await convert(path);
        if (out !== undefined) {
          await mkdir(out, { recursive: true });
          for (const [file, text] of Object.entries(files)) await writeNew(join(out, file), text);
        } else print(Object.values(files).join('').trimEnd());
        for (const line of lines) printError(line);
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });

const apply = (finish: Finish, flags: ApplyFlags): Promise<void> =>
  runPlan(finish, flags, async (plan, show, send) => {
    if (flags.check) {
      show(plan);
      return exitOf(plan);
    }
    const moved = plan.changes.flatMap(change => change.movedSecrets.map(secret => ({ change, secret })));
    if (plan.changes.length === 0) {
      show(plan);
      return EXIT.ok;
    }
    if (!flags.json || moved.length > 0) show(plan);
    if (moved.length > 0)
      throw new AppError(
        'unprocessable',
        `nothing was changed: ${moved.length} secret(s) must be sent anew; put each in a file in clear, or name another stored secret there`,
      );
    if (!flags.yes && !(await isConfirmed())) {
      printError('nothing was changed');
      return EXIT.failed;
    }
    const applied = await send(plan.etag);
    if (flags.json) print(asJson(applied));
    else print('applied');
    return EXIT.ok;
  });

type Show = (plan: Plan) => void;
type Send = (etag: string) => Promise<Plan>;

/** Asks the server for the plan of the files, and hands it on. */
async function runPlan(
  finish: Finish,
  { file, prune = false, message, ...flags }: ApplyFlags,
  work: (plan: Plan, show: Show, send: Send) => Promise<ExitCode>,
): Promise<void> {
  try {
    const documents = (await Promise.all(file.map(documentsAt))).flat();
    const { client } = await openSession(flags);
    const body: Wanted = { documents, prune };
    const plan = await client.configuration.plan({ body });
    const send: Send = etag =>
      client.configuration.apply({
        body: { ...body, ...(message !== undefined && { message }) },
        ifMatch: etag,
      });
    finish(await work(plan, shown => (flags.json ? print(asJson(shown)) : printPlan(shown)), send));
  } catch (error) {
    finish(reportFailure(error));
  }
}

const exitOf = ({ changes }: Plan): ExitCode => (changes.length === 0 ? EXIT.ok : EXIT.planned);

const MARKS = { create: '+', change: '~', remove: '-' } as const;

function printPlan({ changes }: Plan): void {
  if (changes.length === 0) {
    print('nothing to change');
    return;
  }
  for (const change of changes) {
    print(`${MARKS[change.action]} ${nameOf(change)}`);
    for (const { path, ...field } of change.fields) print(`    ${path}: ${fieldText(field)}`);
    for (const { path, setting } of change.movedSecrets)
      print(`  ! ${path} must be sent anew, as '${setting}' changes`);
  }
  const count = (action: Change['action']): number => changes.filter(one => one.action === action).length;
  print(`${count('create')} to create, ${count('change')} to change, ${count('remove')} to remove`);
}

const nameOf = ({ section, id }: Change): string => (section === 'settings' ? section : `${section} ${id}`);

function fieldText(field: { readonly old?: unknown; readonly new?: unknown }): string {
  if (!('old' in field)) return valueText(field.new);
  return `${valueText(field.old)} -> ${'new' in field ? valueText(field.new) : 'left out'}`;
}

const LONGEST_VALUE = 200;

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

/** Asks on a terminal. Throws `invalid-request` where nobody can answer. */
async function isConfirmed(): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY) throw new AppError('invalid-request', 'nobody can be asked here; say --yes to apply it');
  const lines = createInterface({ input, output });
  try {
    return /^y(?:es)?$/i.test((await lines.question('Apply this? [y/N] ')).trim());
  } finally {
    lines.close();
  }
}

type Documents = Wanted['documents'];

/** The texts at a path. Throws `not-found`, naming it. */
async function documentsAt(path: string): Promise<Documents> {
  if (path === '-') return [{ name: 'standard input', text: await textFrom(process.stdin) }];
  try {
    const names = (await stat(path)).isDirectory() ? await configurationFilesIn(path) : [path];
    return names.map(name => ({ name, text: textOf(name) }));
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('not-found', `cannot read '${path}': ${reasonOf(error)}`);
  }
}

/** Throws `invalid-request` for what is no text, or one of more than 16 MB. */
function textOf(path: string): string {
  const read = readFileText(path);
  if (read.kind === 'text') return read.text;
  throw new AppError('invalid-request', `${path}: ${read.kind === 'missing' ? 'is gone' : read.message}`);
}

async function configurationFilesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter(name => /^[^.].*\.(?:ya?ml|json)$/i.test(name)).sort();
  if (names.length > 0) return names.map(name => join(folder, name));
  throw new AppError('not-found', `there is no .yml, .yaml or .json in '${folder}'`);
}
